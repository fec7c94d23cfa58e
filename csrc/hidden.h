// What walking forwards and walking backwards share about NADE's hidden layer.
#pragma once

#include "vector.h"

namespace wakesleep {
namespace {

inline int64_t padded(int64_t hidden) { return (hidden + kLanes - 1) / kLanes * kLanes; }

// Where a product of exponentials may soon lose its value. NaN counts as outside.
inline Mask unsafe(Vec inverse_odds) {
  return ~((inverse_odds > broadcast(0x1p-80f)) & (inverse_odds < broadcast(0x1p80f)));
}

// e^w, by which exp(-a) changes with w; infinite, and so unsafe, where it would lose its value.
inline Vec factor(Vec w) {
  const Vec value = clamped_exponential(w);
  return select((w > broadcast(-80.0f)) & (w < broadcast(80.0f)), value,
                broadcast(__builtin_inff()));
}

inline Vec logistic(Vec a) { return reciprocal(1.0f + clamped_exponential(-a)); }

// Columns h, h+1, ... of a row that ends at `hidden`, zero beyond.
inline Vec load_columns(const float* row, int64_t h, int64_t hidden) {
  return h + kLanes <= hidden ? load(row + h) : load_first(row + h, hidden - h);
}

inline void store_columns(float* row, int64_t h, int64_t hidden, Vec value) {
  if (h + kLanes <= hidden) {
    store(row + h, value);
  } else {
    store_first(row + h, value, hidden - h);
  }
}

// a + the rows of W whose unit is 1, among the first `seen` units.
inline Vec pre_activation(const float* a, const float* W, const float* x, int64_t seen, int64_t h,
                          int64_t hidden) {
  Vec total = load_columns(a, h, hidden);
  for (int64_t unit = 0; unit < seen; ++unit) {
    if (x[unit] != 0) total += load_columns(W + unit * hidden, h, hidden);
  }
  return total;
}

}  // namespace
}  // namespace wakesleep
