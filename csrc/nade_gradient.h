// NADE backwards, given the gradient g of the logits: the gradients of a, W and V.
//
// With s = sigmoid(a) the hidden layer before unit i, walking from the last unit to the first:
//
//     dV_i += g_i s            ds += g_i V_i          at every unit
//     da += ds s (1 - s);  ds = 0;  dW_i += da        at a one, then a returns to before it
//
// No hidden column needs any other, so a task is a range of columns with all its samples, and
// nothing is summed across threads. Within it a tile of units stays in cache while every sample
// walks through it. As forwards, the hidden layer is exp(-a) until a sample turns additive.
#pragma once

#include "hidden.h"
#include "kernels.h"
#include "vector.h"

namespace wakesleep {
namespace {

// How columns are divided is part of the result's bits (a sample turns additive in all columns
// of a task), so it depends on nothing but the instruction set and the hidden width.
constexpr int kMaxGradientVectors = kRegisters == 32 ? 4 : 2;
constexpr int64_t kGradientBlock = 256;  // samples whose walking state is kept at once

template <int M>
class NadeReverse {
 public:
  static constexpr int64_t kColumns = M * kLanes;

  static int64_t scratch(const NadeShape& shape) {
    const int64_t samples = shape.samples < kGradientBlock ? shape.samples : kGradientBlock;
    return (samples * 4 + kTile * 4) * kColumns;
  }

  NadeReverse(const NadeGradient& args, int64_t first_vector, float* scratch)
      : args_(args),
        hidden_(args.shape.hidden),
        column_(first_vector * kLanes),
        V_(scratch),
        dV_(V_ + kTile * kColumns),
        factors_(dV_ + kTile * kColumns),
        dW_(factors_ + kTile * kColumns),
        walks_(dW_ + kTile * kColumns) {}

  void run() {
    const int64_t units = args_.shape.units, samples = args_.shape.samples;
    for (first_ = 0; first_ < samples; first_ += kGradientBlock) {
      count_ = samples - first_ < kGradientBlock ? samples - first_ : kGradientBlock;
      for (int64_t k = 0; k < count_; ++k) start(k);
      for (from_ = (tiles(units) - 1) * kTile; from_ >= 0; from_ -= kTile) {
        rows_ = units - from_ < kTile ? units - from_ : kTile;
        if (!pack()) leave_products();
        for (int64_t k = 0; k < count_; ++k) additive_[k] ? walk<true>(k) : walk<false>(k);
        unpack();
      }
      for (int64_t k = 0; k < count_; ++k) finish(k);
    }
  }

 private:
  // A sample's place on its way back.
  struct Walk {
    Vec state[M];  // exp(-a), or a once additive
    Vec s[M];
    Vec ds[M];
    Vec da[M];
  };

  Walk& walks(int64_t k) { return reinterpret_cast<Walk*>(walks_)[k]; }

  void start(int64_t k) {
    Walk& walk = walks(k);
    walk = {};
    additive_[k] = false;
    const float* last = args_.last + (first_ + k) * hidden_;
    for (int v = 0; v < M; ++v) {
      walk.state[v] = clamped_exponential(-load_columns(last, column_ + v * kLanes, hidden_));
      walk.s[v] = sigmoid_of(walk.state[v]);
    }
    check_range(k, args_.shape.units);
  }

  void check_range(int64_t k, int64_t seen) {
    const Walk& walk = walks(k);
    Vec low = walk.state[0], high = low;
    for (int v = 1; v < M; ++v) {
      low = smaller(low, walk.state[v]);
      high = larger(high, walk.state[v]);
    }
    if (!all_safe(low, high)) go_additive(k, seen);
  }

  // The pre-activation before unit `seen`, found anew.
  WAKESLEEP_COLD void go_additive(int64_t k, int64_t seen) {
    additive_[k] = true;
    Walk& walk = walks(k);
    const float* last = args_.last + (first_ + k) * hidden_;
    for (int v = 0; v < M; ++v) {
      walk.state[v] = load_columns(last, column_ + v * kLanes, hidden_);
    }
    for (int64_t unit = args_.shape.units - 1; unit >= seen; --unit) {
      if (args_.x[first_ + k][unit] != 0) subtract(unit, walk);
    }
    for (int v = 0; v < M; ++v) walk.s[v] = logistic(walk.state[v]);
  }

  void subtract(int64_t unit, Walk& walk) {
    const float* W = args_.W + unit * hidden_;
    for (int v = 0; v < M; ++v) walk.state[v] -= load_columns(W, column_ + v * kLanes, hidden_);
  }

  void leave_products() {
    for (int64_t k = 0; k < count_; ++k) {
      if (!additive_[k]) go_additive(k, from_ + rows_);
    }
  }

  // Copies a tile of V and exp(W); whether those factors may be used.
  bool pack() {
    Vec change[M] = {};
    for (int64_t row = 0; row < rows_; ++row) {
      const int64_t unit = (from_ + row) * hidden_;
      for (int v = 0; v < M; ++v) {
        const int64_t at = row * kColumns + v * kLanes, h = column_ + v * kLanes;
        const Vec W = load_columns(args_.W + unit, h, hidden_);
        change[v] += magnitude(W);
        store(factors_ + at, clamped_exponential(W));
        store(V_ + at, load_columns(args_.V + unit, h, hidden_));
        store(dV_ + at, Vec{});
        store(dW_ + at, Vec{});
      }
    }
    Mask unbounded{};
    for (int v = 0; v < M; ++v) unbounded |= ~(change[v] < broadcast(kBound));
    return !any(unbounded);
  }

  void unpack() {
    for (int64_t row = 0; row < rows_; ++row) {
      const int64_t unit = (from_ + row) * hidden_;
      for (int v = 0; v < M; ++v) {
        const int64_t at = row * kColumns + v * kLanes, h = column_ + v * kLanes;
        add_to(args_.dV + unit, h, load(dV_ + at));
        add_to(args_.dW + unit, h, load(dW_ + at));
      }
    }
  }

  void add_to(float* row, int64_t h, Vec value) {
    if (first_ > 0) value += load_columns(row, h, hidden_);
    store_columns(row, h, hidden_, value);
  }

  template <bool Additive>
  WAKESLEEP_COLD void walk(int64_t k) {
    const int64_t n = first_ + k, units = args_.shape.units;
    const float* g = args_.g + n * units + from_;
    uint32_t ones = args_.ones[n * words(units) + from_ / 64] >> (from_ % 64) & ((1u << kTile) - 1);
    const bool changes = ones != 0;
    Walk walk = walks(k);
    int64_t upper = rows_;
    while (ones) {
      const int64_t row = 31 - __builtin_clz(ones);
      ones ^= 1u << row;
      segment(g, row + 1, upper, walk);
      cross<Additive>(row, walk);
      upper = row + 1;
    }
    segment(g, 0, upper, walk);
    walks(k) = walk;
    if (!Additive && changes) check_range(k, from_);
  }

  void segment(const float* g, int64_t from, int64_t to, Walk& walk) {
    const float* V = V_;  // members would be read again after every store
    float* dV = dV_;
    for (int64_t row = to - 1; row >= from; --row) {
      const Vec weight = broadcast(g[row]);
      for (int v = 0; v < M; ++v) {
        const int64_t at = row * kColumns + v * kLanes;
        walk.ds[v] += weight * load(V + at);
        store(dV + at, load(dV + at) + weight * walk.s[v]);
      }
    }
  }

  // Back over a one: its row of W stops being part of the hidden layer.
  template <bool Additive>
  void cross(int64_t row, Walk& walk) {
    float* dW = dW_ + row * kColumns;
    const float* factor = factors_ + row * kColumns;
    if constexpr (Additive) subtract(from_ + row, walk);
    for (int v = 0; v < M; ++v) {
      const int64_t at = v * kLanes;
      walk.da[v] += walk.ds[v] * (walk.s[v] - walk.s[v] * walk.s[v]);
      walk.ds[v] = Vec{};
      store(dW + at, load(dW + at) + walk.da[v]);
      if constexpr (Additive) {
        walk.s[v] = logistic(walk.state[v]);
      } else {
        walk.state[v] *= load(factor + at);
        walk.s[v] = sigmoid_of(walk.state[v]);
      }
    }
  }

  void finish(int64_t k) {
    Walk& walk = walks(k);
    for (int v = 0; v < M; ++v) {
      const Vec total = walk.da[v] + walk.ds[v] * (walk.s[v] - walk.s[v] * walk.s[v]);
      store_columns(args_.da + (first_ + k) * hidden_, column_ + v * kLanes, hidden_, total);
    }
  }

  const NadeGradient& args_;
  const int64_t hidden_, column_;
  int64_t first_, count_, from_, rows_;
  float *V_, *dV_, *factors_, *dW_;  // a tile of units
  float* walks_;
  bool additive_[kGradientBlock];
};

}  // namespace
}  // namespace wakesleep
