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

  void start(int64_t k) {
    Walk& walk = walks(k);
    walk = {};
    additive_[k] = false;
    set_state(k, args_.shape.units);
    check_range(k, args_.shape.units);
  }

  Walk& walks(int64_t k) { return reinterpret_cast<Walk*>(walks_)[k]; }

  // The hidden layer as it is before unit `seen`, from scratch.
  WAKESLEEP_COLD void set_state(int64_t k, int64_t seen) {
    Walk& walk = walks(k);
    for (int v = 0; v < M; ++v) {
      walk.state[v] = load_columns(args_.a[first_ + k], column_ + v * kLanes, hidden_);
    }
    add_rows(walk.state, first_ + k, seen);
    for (int v = 0; v < M; ++v) {
      const Vec inverse_odds = clamped_exponential(-walk.state[v]);
      walk.s[v] = sigmoid_of(inverse_odds);
      if (!additive_[k]) walk.state[v] = inverse_odds;
    }
  }

  void add_rows(Vec (&a)[M], int64_t n, int64_t seen) {
    const uint64_t* ones = args_.ones + n * words(args_.shape.units);
    for (int64_t from = 0; from < seen; from += 64) {
      uint64_t word = ones[from / 64];
      if (seen - from < 64) word &= (uint64_t{1} << (seen - from)) - 1;
      for (; word; word &= word - 1) add_row(a, from + __builtin_ctzll(word));
    }
  }

  void add_row(Vec (&a)[M], int64_t unit) {
    const float* row = args_.W + unit * hidden_;
    for (int v = 0; v < M; ++v) a[v] += load_columns(row, column_ + v * kLanes, hidden_);
  }

  void check_range(int64_t k, int64_t seen) {
    const Walk& walk = walks(k);
    Vec low = walk.state[0], high = low;
    for (int v = 1; v < M; ++v) {
      low = smaller(low, walk.state[v]);
      high = larger(high, walk.state[v]);
    }
    if (all_safe(low, high)) return;
    additive_[k] = true;
    set_state(k, seen);
  }

  void leave_products() {
    for (int64_t k = 0; k < count_; ++k) {
      if (additive_[k]) continue;
      additive_[k] = true;
      set_state(k, from_ + rows_);
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
    const float* W = args_.W + (from_ + row) * hidden_;
    for (int v = 0; v < M; ++v) {
      const int64_t at = v * kLanes;
      walk.da[v] += walk.ds[v] * (walk.s[v] - walk.s[v] * walk.s[v]);
      walk.ds[v] = Vec{};
      store(dW + at, load(dW + at) + walk.da[v]);
      if constexpr (Additive) {
        walk.state[v] -= load_columns(W, column_ + at, hidden_);
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
