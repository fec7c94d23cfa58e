// How drivers spread work, whatever the threads come from.
#pragma once

#include <cstdint>
#include <functional>

namespace wakesleep {

class Workers {
 public:
  virtual ~Workers() = default;

  // Calls task(0) ... task(tasks - 1), in any order and on any thread; returns when all are done.
  virtual void run(int64_t tasks, const std::function<void(int64_t)>& task) = 0;
};

}  // namespace wakesleep
