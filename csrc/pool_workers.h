// Workers from a pool of threads that others use at the same time.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "workers.h"

namespace wakesleep {

// Tasks are taken one by one by the calling thread and by whichever pool threads are free. The
// caller waits for tasks under way, never for a helper to start: it cannot deadlock even when
// every pool thread waits in a kernel of its own.
template <typename Pool>
class PoolWorkers final : public Workers {
 public:
  explicit PoolWorkers(Pool& pool) : pool_(pool) {}

  void run(int64_t tasks, const std::function<void(int64_t)>& task) override {
    auto work = std::make_shared<Work>(tasks, task);
    const int64_t helpers = std::min<int64_t>(tasks, pool_.num_threads()) - 1;
    for (int64_t helper = 0; helper < helpers; ++helper) {
      pool_.Schedule([work] { work->take(); });
    }
    work->take();
    work->wait();
  }

 private:
  struct Work {
    Work(int64_t tasks, const std::function<void(int64_t)>& task) : tasks(tasks), task(&task) {}

    void take() {
      for (int64_t mine; (mine = next.fetch_add(1)) < tasks;) {
        (*task)(mine);
        if (done.fetch_add(1) + 1 == tasks) {
          const std::lock_guard<std::mutex> lock(mutex);
          finished.notify_one();
        }
      }
    }

    void wait() {
      for (int spin = 0; spin < 2000; ++spin) {
        if (done.load() == tasks) return;
        std::this_thread::yield();
      }
      std::unique_lock<std::mutex> lock(mutex);
      finished.wait(lock, [this] { return done.load() == tasks; });
    }

    const int64_t tasks;
    const std::function<void(int64_t)>* task;  // outlives every task; late helpers never call it
    std::atomic<int64_t> next{0};
    std::atomic<int64_t> done{0};
    std::mutex mutex;
    std::condition_variable finished;
  };

  Pool& pool_;
};

}  // namespace wakesleep
