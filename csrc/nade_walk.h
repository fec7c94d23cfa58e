// A group of samples on its way back through a tile of a NADE's units: the hidden layer and its
// gradient, the stretch between two ones, and the step over a one.
#pragma once

#include "hidden.h"
#include "nade_tile.h"
#include "vector.h"

namespace wakesleep {
namespace {

// Of G samples, M vectors of columns each.
template <int M, int G>
struct Walk {
  Vec state[G * M];  // exp(-a), or a once additive
  Vec da[G * M];
  Vec s[G * M];
  Vec ds[G * M];

  bool is_safe() const {
    Vec low = state[0], high = low;
    for (int at = 1; at < G * M; ++at) {
      low = smaller(low, state[at]);
      high = larger(high, state[at]);
    }
    return all_safe(low, high);
  }
};

inline int64_t highest(uint64_t bits) { return 63 - __builtin_clzll(bits); }

// When to look at the range of a hidden layer: before the first one of each kTile units but the
// topmost, into which it comes safe.
class RangeLooks {
 public:
  explicit RangeLooks(uint64_t ones) : part_(ones ? highest(ones) / kTile : 0) {}

  bool due(int64_t row) {
    const bool is = row / kTile != part_;
    part_ = row / kTile;
    return is;
  }

 private:
  int64_t part_;
};

// Down a tile's rows [from, to), between two ones of N samples.
template <int M, int N>
inline void walk_segment(const NadeTile<M>& tile, const float* const (&g)[N], int64_t from,
                         int64_t to, const Vec* s, Vec* ds) {
  constexpr int64_t kColumns = NadeTile<M>::kColumns;
  const float* V = tile.V;  // members would be read again after every store
  float* dV = tile.dV;
  for (int64_t row = to - 1; row >= from; --row) {
    Vec weight[N];
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) weight[j] = broadcast(g[j][row]);
#pragma GCC unroll 4
    for (int v = 0; v < M; ++v) {
      const Vec down = load(V + row * kColumns + v * kLanes);
      Vec total = load(dV + row * kColumns + v * kLanes);
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) {
        ds[j * M + v] += weight[j] * down;
        total += weight[j] * s[j * M + v];
      }
      store(dV + row * kColumns + v * kLanes, total);
    }
  }
}

// Back over a one: its row of W stops being part of the hidden layer. Of an additive walk the
// state is past it already.
template <bool Additive, int M, int G>
inline void walk_over(const NadeTile<M>& tile, int64_t row, Walk<M, G>& walk, Vec* s, Vec* ds) {
  constexpr int64_t kColumns = NadeTile<M>::kColumns;
  float* dW = tile.dW + row * kColumns;
  const float* factor = tile.factors + row * kColumns;
#pragma GCC unroll 4
  for (int v = 0; v < M; ++v) {
    Vec total = load(dW + v * kLanes);
#pragma GCC unroll 8
    for (int at = v; at < G * M; at += M) {
      walk.da[at] += ds[at] * (s[at] - s[at] * s[at]);
      ds[at] = Vec{};
      total += walk.da[at];
      if constexpr (Additive) {
        s[at] = logistic(walk.state[at]);
      } else {
        walk.state[at] *= load(factor + v * kLanes);
        s[at] = sigmoid_of(walk.state[at]);
      }
    }
    store(dW + v * kLanes, total);
  }
}

}  // namespace
}  // namespace wakesleep
