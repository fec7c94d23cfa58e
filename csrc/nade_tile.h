// Some units of a NADE by some columns of its hidden layer, side by side in the first cache.
#pragma once

#include "hidden.h"
#include "kernels.h"
#include "vector.h"

namespace wakesleep {
namespace {

template <int M>
struct NadeTile {
  static constexpr int64_t kColumns = M * kLanes;
  // The more rows, the less often a sample's state is fetched; V and dV take half of the cache.
  static constexpr int64_t kRows = M > 2 ? 32 : 64;

  static constexpr int64_t scratch() { return 4 * kRows * kColumns; }

  NadeTile(const NadeGradient& args, int64_t column, float* scratch)
      : V(scratch),
        dV(V + kRows * kColumns),
        factors(dV + kRows * kColumns),
        dW(factors + kRows * kColumns),
        args_(args),
        hidden_(args.shape.hidden),
        column_(column) {}

  // Copies rows of V and exp(W); whether those factors may be used, kTile rows at a time.
  bool pack(int64_t from, int64_t rows) const {
    Vec change[M] = {};
    Mask unbounded{};
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t unit = (from + row) * hidden_;
      for (int v = 0; v < M; ++v) {
        const int64_t at = row * kColumns + v * kLanes, h = column_ + v * kLanes;
        const Vec W = load_columns(args_.W + unit, h, hidden_);
        change[v] = row % kTile ? change[v] + magnitude(W) : magnitude(W);
        unbounded |= ~(change[v] < broadcast(kBound));
        store(factors + at, clamped_exponential(W));
        store(V + at, load_columns(args_.V + unit, h, hidden_));
        store(dV + at, Vec{});
        store(dW + at, Vec{});
      }
    }
    return !any(unbounded);
  }

  // Writes the gradients, or adds them to those of earlier samples.
  void unpack(int64_t from, int64_t rows, bool add) const {
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t unit = (from + row) * hidden_;
      for (int v = 0; v < M; ++v) {
        const int64_t at = row * kColumns + v * kLanes, h = column_ + v * kLanes;
        put(args_.dV + unit, h, load(dV + at), add);
        put(args_.dW + unit, h, load(dW + at), add);
      }
    }
  }

  float *V, *dV, *factors, *dW;

 private:
  void put(float* row, int64_t h, Vec value, bool add) const {
    if (add) value += load_columns(row, h, hidden_);
    store_columns(row, h, hidden_, value);
  }

  const NadeGradient& args_;
  const int64_t hidden_, column_;
};

}  // namespace
}  // namespace wakesleep
