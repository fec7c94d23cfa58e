// Which kernels the XLA FFI handlers run.
#include "ffi.h"

#include <atomic>

namespace wakesleep {
namespace {

std::atomic<const Kernels*> selected{nullptr};

}  // namespace

const Kernels& kernels_in_use() { return *selected.load(); }

}  // namespace wakesleep

#pragma GCC visibility push(default)

// Choose by name, or the best for an empty one; the name of what was chosen, null if there is none.
extern "C" const char* wakesleep_select(const char* name) {
  const wakesleep::Kernels* found = wakesleep::find_kernels(*name ? name : nullptr);
  if (found) wakesleep::selected = found;
  return found ? found->name : nullptr;
}

#pragma GCC visibility pop
