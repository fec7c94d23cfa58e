// What walking forwards and walking backwards share about NADE's hidden layer.
#pragma once

#include "vector.h"

namespace wakesleep {
namespace {

inline int64_t padded(int64_t hidden) { return (hidden + kLanes - 1) / kLanes * kLanes; }

// The hidden layer is kept as E = exp(-a): adding w to a is multiplying E by exp(-w), and the
// sigmoid is 1 / (1 + E). E is looked at once per tile of units. If it is safe there, and the
// tile's weights are bounded, then no product within the tile can overflow or vanish.
constexpr float kSafe = 0x1p60f;
constexpr float kBound = 44.0f;  // below log(2^126 / kSafe)

inline bool all_safe(Vec low, Vec high) {
  return !any((low < broadcast(1 / kSafe)) | (high > broadcast(kSafe)));
}

inline Vec sigmoid_of(Vec inverse_odds) { return reciprocal(1.0f + inverse_odds); }

inline Vec logistic(Vec a) { return sigmoid_of(clamped_exponential(-a)); }

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
