// NADE backwards, given the gradient g of the logits: the gradients of a, W and V.
//
// With s = sigmoid(a) the hidden layer before unit i, walking from the last unit to the first:
//
//     dV_i += g_i s            ds += g_i V_i          at every unit
//     da += ds s (1 - s);  ds = 0;  dW_i += da        at a one, then a returns to before it
//
// No hidden column needs any other, so a task is a range of columns with all its samples, and
// nothing is summed across threads. Within it a tile of units stays in cache while every sample
// walks through it. Samples of one example (x the same, a different) cross their ones together:
// they walk in groups that share each row of V and dV. As forwards, the hidden layer is exp(-a)
// until a sample turns additive, here with its whole group.
#pragma once

#include "hidden.h"
#include "kernels.h"
#include "vector.h"

namespace wakesleep {
namespace {

// How columns are divided is part of the result's bits (a group turns additive in all columns
// of a task), so it depends on nothing but the instruction set and the shapes.
constexpr int kMaxGradientGroup = 5;
constexpr int kMaxGradientVectors = kRegisters == 32 ? 4 : 2;
constexpr int kMaxGroupedVectors = kMaxGradientVectors / 2;
constexpr int64_t kGradientBlock = 256;  // samples whose walking state is kept at once

// The smallest groups that are no more than they have to be.
constexpr int64_t groups_of(int64_t repeat) {
  return (repeat + kMaxGradientGroup - 1) / kMaxGradientGroup;
}

constexpr int64_t group_size(int64_t repeat) {
  return (repeat + groups_of(repeat) - 1) / groups_of(repeat);
}

template <int M, int G>
class NadeReverse {
 public:
  static constexpr int64_t kColumns = M * kLanes;
  static constexpr int64_t kRows = M > 2 ? 16 : 32;  // of a tile, so that it fits the first cache
  static constexpr int64_t kMaxGroups = kGradientBlock / G;

  static constexpr int64_t scratch() { return (kMaxGroups * G * 4 + kRows * 4) * kColumns; }

  NadeReverse(const NadeGradient& args, int64_t first_vector, float* scratch)
      : args_(args),
        hidden_(args.shape.hidden),
        column_(first_vector * kLanes),
        V_(scratch),
        dV_(V_ + kRows * kColumns),
        factors_(dV_ + kRows * kColumns),
        dW_(factors_ + kRows * kColumns),
        walks_(dW_ + kRows * kColumns) {}

  void run() {
    const int64_t units = args_.shape.units;
    const int64_t groups = args_.shape.samples / args_.x.repeat * groups_of(args_.x.repeat);
    for (first_ = 0; first_ < groups; first_ += kMaxGroups) {
      count_ = groups - first_ < kMaxGroups ? groups - first_ : kMaxGroups;
      for (int64_t k = 0; k < count_; ++k) start(k);
      for (from_ = (units - 1) / kRows * kRows; from_ >= 0; from_ -= kRows) {
        rows_ = units - from_ < kRows ? units - from_ : kRows;
        if (!pack()) leave_products();
        for (int64_t k = 0; k < count_; ++k) additive_[k] ? walk<true>(k) : walk<false>(k);
        unpack();
      }
      for (int64_t k = 0; k < count_; ++k) finish(k);
    }
  }

 private:
  // A group's place on its way back.
  struct Walk {
    Vec state[G][M];  // exp(-a), or a once additive
    Vec da[G][M];
    Vec s[G][M];
    Vec ds[G][M];
  };

  Walk& walks(int64_t k) { return reinterpret_cast<Walk*>(walks_)[k]; }

  // The j-th sample of a group, or -1 for a place that is left over.
  int64_t sample(int64_t k, int j) const {
    const int64_t repeat = args_.x.repeat, groups = groups_of(repeat);
    const int64_t example = (first_ + k) / groups, at = (first_ + k) % groups * G + j;
    return at < repeat ? example * repeat + at : -1;
  }

  void start(int64_t k) {
    Walk& walk = walks(k);
    walk = {};
    additive_[k] = false;
    for (int j = 0; j < G; ++j) {
      const int64_t n = sample(k, j);
      for (int v = 0; v < M; ++v) {
        walk.state[j][v] = n < 0 ? broadcast(1) : clamped_exponential(-last(n, v));
        walk.s[j][v] = sigmoid_of(walk.state[j][v]);
      }
    }
    check_range(k, args_.shape.units);
  }

  Vec last(int64_t n, int v) const {
    return load_columns(args_.last + n * hidden_, column_ + v * kLanes, hidden_);
  }

  void check_range(int64_t k, int64_t seen) {
    const Walk& walk = walks(k);
    Vec low = walk.state[0][0], high = low;
    for (int at = 1; at < G * M; ++at) {
      low = smaller(low, walk.state[at / M][at % M]);
      high = larger(high, walk.state[at / M][at % M]);
    }
    if (!all_safe(low, high)) go_additive(k, seen);
  }

  // The pre-activations before unit `seen`, found anew.
  WAKESLEEP_COLD void go_additive(int64_t k, int64_t seen) {
    additive_[k] = true;
    Walk& walk = walks(k);
    for (int j = 0; j < G; ++j) {
      const int64_t n = sample(k, j);
      for (int v = 0; v < M; ++v) walk.state[j][v] = n < 0 ? Vec{} : last(n, v);
    }
    const float* x = args_.x[sample(k, 0)];
    for (int64_t unit = args_.shape.units - 1; unit >= seen; --unit) {
      if (x[unit] != 0) subtract(unit, walk);
    }
    for (int at = 0; at < G * M; ++at) {
      walk.s[at / M][at % M] = logistic(walk.state[at / M][at % M]);
    }
  }

  void subtract(int64_t unit, Walk& walk) {
    const float* W = args_.W + unit * hidden_;
    for (int v = 0; v < M; ++v) {
      const Vec row = load_columns(W, column_ + v * kLanes, hidden_);
      for (int j = 0; j < G; ++j) walk.state[j][v] -= row;
    }
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
    static constexpr float kNoGradient[kRows] = {};
    const int64_t units = args_.shape.units, any_sample = sample(k, 0);
    const float* g[G];
    for (int j = 0; j < G; ++j) {
      const int64_t n = sample(k, j);
      g[j] = n < 0 ? kNoGradient : args_.g + n * units + from_;
    }
    Walk walk = walks(k);
    const uint64_t word = args_.ones[any_sample * words(units) + from_ / 64];
    uint32_t ones = static_cast<uint32_t>(word >> (from_ % 64) & ((uint64_t{1} << kRows) - 1));
    const bool changes = ones != 0;
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

  void segment(const float* const (&g)[G], int64_t from, int64_t to, Walk& walk) {
    const float* V = V_;  // members would be read again after every store
    float* dV = dV_;
    for (int64_t row = to - 1; row >= from; --row) {
      Vec total[M];
#pragma GCC unroll 4
      for (int v = 0; v < M; ++v) total[v] = load(dV + row * kColumns + v * kLanes);
#pragma GCC unroll 8
      for (int j = 0; j < G; ++j) {
        const Vec weight = broadcast(g[j][row]);
#pragma GCC unroll 4
        for (int v = 0; v < M; ++v) {
          walk.ds[j][v] += weight * load(V + row * kColumns + v * kLanes);
          total[v] += weight * walk.s[j][v];
        }
      }
#pragma GCC unroll 4
      for (int v = 0; v < M; ++v) store(dV + row * kColumns + v * kLanes, total[v]);
    }
  }

  // Back over a one: its row of W stops being part of the hidden layer.
  template <bool Additive>
  void cross(int64_t row, Walk& walk) {
    float* dW = dW_ + row * kColumns;
    const float* factor = factors_ + row * kColumns;
    if constexpr (Additive) subtract(from_ + row, walk);
#pragma GCC unroll 4
    for (int v = 0; v < M; ++v) {
      Vec total = load(dW + v * kLanes);
#pragma GCC unroll 8
      for (int j = 0; j < G; ++j) {
        Vec& s = walk.s[j][v];
        walk.da[j][v] += walk.ds[j][v] * (s - s * s);
        walk.ds[j][v] = Vec{};
        total += walk.da[j][v];
        if constexpr (Additive) {
          s = logistic(walk.state[j][v]);
        } else {
          walk.state[j][v] *= load(factor + v * kLanes);
          s = sigmoid_of(walk.state[j][v]);
        }
      }
      store(dW + v * kLanes, total);
    }
  }

  void finish(int64_t k) {
    Walk& walk = walks(k);
    for (int at = 0; at < G * M; ++at) {
      const int64_t n = sample(k, at / M), v = at % M;
      if (n < 0) continue;
      const Vec s = walk.s[at / M][v], ds = walk.ds[at / M][v];
      const Vec total = walk.da[at / M][v] + ds * (s - s * s);
      store_columns(args_.da + n * hidden_, column_ + v * kLanes, hidden_, total);
    }
  }

  const NadeGradient& args_;
  const int64_t hidden_, column_;
  int64_t first_, count_, from_, rows_;
  float *V_, *dV_, *factors_, *dW_;  // a tile of units
  float* walks_;
  bool additive_[kMaxGroups];
};

}  // namespace
}  // namespace wakesleep
