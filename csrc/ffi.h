// What the XLA FFI handlers share: arrays as XLA gives them, and the kernels in use.
#pragma once

#include "xla/ffi/api/ffi.h"

#include <algorithm>

#include "drivers.h"
#include "pool_workers.h"

namespace ffi = xla::ffi;

namespace wakesleep {

using Array = ffi::Buffer<ffi::F32>;
using Result = ffi::ResultBuffer<ffi::F32>;
using KeyData = ffi::Buffer<ffi::U32>;
using Units = ffi::Buffer<ffi::S32>;

// Those that were selected.
const Kernels& kernels_in_use();

// Arrays come with any number of leading dimensions, which are all samples.
inline int64_t width(const Array& array) { return array.dimensions().back(); }

inline int64_t height(const Array& array) {
  int64_t product = 1;
  for (size_t axis = 0; axis + 1 < array.dimensions().size(); ++axis) {
    product *= array.dimensions()[axis];
  }
  return product;
}

// An operand of R rows serves N samples, N / R consecutive ones per row.
inline Rows rows(const Array& array, int64_t samples) {
  const int64_t repeat = height(array) ? samples / height(array) : 1;
  return {array.typed_data(), width(array), std::max<int64_t>(repeat, 1)};
}

}  // namespace wakesleep
