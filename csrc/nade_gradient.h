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
// they walk in groups that share each row of V and dV. Other samples do so in pairs, where their
// ones are few. As forwards, the hidden layer is exp(-a) until a sample turns additive, here with
// its whole group.
#pragma once

#include "hidden.h"
#include "kernels.h"
#include "nade_tile.h"
#include "nade_walk.h"
#include "vector.h"

namespace wakesleep {
namespace {

// How columns are divided is part of the result's bits (a group turns additive in all columns
// of a task), so it depends on nothing but the instruction set and the shapes.
constexpr int kMaxGradientGroup = 5;
constexpr int kMaxGradientVectors = kRegisters == 32 ? 4 : 2;
constexpr int kMaxGroupedVectors = kMaxGradientVectors / 2;
constexpr int64_t kGradientBlock = 256;  // samples whose walking state is kept at once
// A pair walks together through a tile whose units are ones this seldom: each of its ones ends the
// loop over units for both, and waits for memory where a sample alone has registers.
constexpr int kUnitsPerOne = 6;

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
  static constexpr int64_t kColumns = NadeTile<M>::kColumns;
  static constexpr int64_t kRows = NadeTile<M>::kRows;
  static constexpr int64_t kMaxGroups = kGradientBlock / G;

  static constexpr int64_t scratch() {
    return kMaxGroups * G * 4 * kColumns + NadeTile<M>::scratch();
  }

  NadeReverse(const NadeGradient& args, int64_t first_vector, float* scratch)
      : args_(args),
        hidden_(args.shape.hidden),
        column_(first_vector * kLanes),
        tile_(args, column_, scratch),
        walks_(scratch + NadeTile<M>::scratch()) {}

  void run() {
    const int64_t units = args_.shape.units;
    const int64_t groups = args_.shape.samples / args_.x.repeat * groups_of(args_.x.repeat);
    for (first_ = 0; first_ < groups; first_ += kMaxGroups) {
      count_ = groups - first_ < kMaxGroups ? groups - first_ : kMaxGroups;
      for (int64_t k = 0; k < count_; ++k) start(k);
      for (from_ = (units - 1) / kRows * kRows; from_ >= 0; from_ -= kRows) {
        rows_ = units - from_ < kRows ? units - from_ : kRows;
        if (!tile_.pack(from_, rows_)) leave_products();
        walk_all();
        tile_.unpack(from_, rows_, first_ > 0);
      }
      for (int64_t k = 0; k < count_; ++k) finish(k);
    }
  }

 private:
  using GroupWalk = Walk<M, G>;

  GroupWalk& walks(int64_t k) { return reinterpret_cast<GroupWalk*>(walks_)[k]; }

  // The j-th sample of a group, or -1 for a place that is left over.
  int64_t sample(int64_t k, int j) const {
    const int64_t repeat = args_.x.repeat, groups = groups_of(repeat);
    const int64_t example = (first_ + k) / groups, at = (first_ + k) % groups * G + j;
    return at < repeat ? example * repeat + at : -1;
  }

  void start(int64_t k) {
    GroupWalk& walk = walks(k);
    walk = {};
    additive_[k] = false;
    for (int j = 0; j < G; ++j) {
      const int64_t n = sample(k, j);
      for (int v = 0; v < M; ++v) {
        const Vec inverse_odds = n < 0 ? broadcast(1) : clamped_exponential(-last(n, v));
        walk.state[j * M + v] = inverse_odds;
        walk.s[j * M + v] = sigmoid_of(inverse_odds);
      }
    }
    check_range(k, args_.shape.units);
  }

  Vec last(int64_t n, int v) const {
    return load_columns(args_.last + n * hidden_, column_ + v * kLanes, hidden_);
  }

  void check_range(int64_t k, int64_t seen) {
    if (!walks(k).is_safe()) go_additive(k, seen);
  }

  // The pre-activations before unit `seen`, found anew.
  WAKESLEEP_COLD void go_additive(int64_t k, int64_t seen) {
    additive_[k] = true;
    GroupWalk& walk = walks(k);
    for (int j = 0; j < G; ++j) {
      const int64_t n = sample(k, j);
      for (int v = 0; v < M; ++v) walk.state[j * M + v] = n < 0 ? Vec{} : last(n, v);
    }
    const float* x = args_.x[sample(k, 0)];
    for (int64_t unit = args_.shape.units - 1; unit >= seen; --unit) {
      if (x[unit] != 0) subtract(unit, walk.state);
    }
    for (int at = 0; at < G * M; ++at) walk.s[at] = logistic(walk.state[at]);
  }

  void subtract(int64_t unit, Vec* a) {
    const float* W = args_.W + unit * hidden_;
    for (int v = 0; v < M; ++v) {
      const Vec row = load_columns(W, column_ + v * kLanes, hidden_);
      for (int j = 0; j < G; ++j) a[j * M + v] -= row;
    }
  }

  void leave_products() {
    for (int64_t k = 0; k < count_; ++k) {
      if (!additive_[k]) go_additive(k, from_ + rows_);
    }
  }

  void walk_all() {
    for (int64_t k = 0; k < count_; ++k) {
      if constexpr (G == 1) {
        if (k + 1 < count_ && are_sparse(k)) {
          walk_pair(k++);
          continue;
        }
      }
      walk_on(k, ones(k), rows_);
    }
  }

  bool are_sparse(int64_t k) const {
    if (additive_[k] || additive_[k + 1]) return false;
    const int found = __builtin_popcountll(ones(k)) + __builtin_popcountll(ones(k + 1));
    return kUnitsPerOne * found <= 2 * rows_;
  }

  // The tile's units that are ones, of a whole group.
  uint64_t ones(int64_t k) const {
    const uint64_t word = args_.ones[sample(k, 0) * words(args_.shape.units) + from_ / 64];
    return kRows == 64 ? word : word >> (from_ % 64) & ((uint64_t{1} << kRows % 64) - 1);
  }

  const float* gradient(int64_t k, int j) const {
    static constexpr float kNone[kRows] = {};
    const int64_t n = sample(k, j);
    return n < 0 ? kNone : args_.g + n * args_.shape.units + from_;
  }

  // Through the tile's rows below `upper`, crossing the ones that are left there.
  void walk_on(int64_t k, uint64_t left, int64_t upper) {
    additive_[k] ? walk<true>(k, left, upper) : walk<false>(k, left, upper);
  }

  template <bool Additive>
  WAKESLEEP_COLD void walk(int64_t k, uint64_t left, int64_t upper) {
    const float* g[G];
    for (int j = 0; j < G; ++j) g[j] = gradient(k, j);
    GroupWalk walk = walks(k);
    const bool changes = left != 0;
    for (RangeLooks looks(left); left;) {
      const int64_t row = highest(left);
      if (!Additive && looks.due(row) && !walk.is_safe()) {
        walks(k) = walk;
        go_additive(k, from_ + upper - 1);
        return walk_on(k, left, upper);
      }
      walk_segment(tile_, g, row + 1, upper, walk.s, walk.ds);
      if constexpr (Additive) subtract(from_ + row, walk.state);
      walk_over<Additive>(tile_, row, walk, walk.s, walk.ds);
      left ^= uint64_t{1} << row;
      upper = row + 1;
    }
    walk_segment(tile_, g, 0, upper, walk.s, walk.ds);
    walks(k) = walk;
    if (!Additive && changes) check_range(k, from_);
  }

  // Two samples whose ones are their own. What only crossing needs stays in memory.
  WAKESLEEP_COLD void walk_pair(int64_t k) {
    GroupWalk &first = walks(k), &second = walks(k + 1);
    const float* const g[] = {gradient(k, 0), gradient(k + 1, 0)};
    const uint64_t in_first = ones(k), in_second = ones(k + 1);
    uint64_t left = in_first | in_second;
    Vec s[2 * M], ds[2 * M];
    for (int v = 0; v < M; ++v) {
      s[v] = first.s[v], s[M + v] = second.s[v];
      ds[v] = first.ds[v], ds[M + v] = second.ds[v];
    }
    int64_t upper = rows_;
    for (RangeLooks looks(left); left; left ^= uint64_t{1} << (upper - 1)) {
      const int64_t row = highest(left);
      if (looks.due(row) && !(first.is_safe() && second.is_safe())) break;
      walk_segment(tile_, g, row + 1, upper, s, ds);
      if (in_first >> row & 1) walk_over<false>(tile_, row, first, s, ds);
      if (in_second >> row & 1) walk_over<false>(tile_, row, second, s + M, ds + M);
      upper = row + 1;
    }
    if (!left) walk_segment(tile_, g, 0, upper, s, ds);
    for (int v = 0; v < M; ++v) {
      first.s[v] = s[v], second.s[v] = s[M + v];
      first.ds[v] = ds[v], second.ds[v] = ds[M + v];
    }
    const int64_t seen = from_ + (left ? upper - 1 : 0);
    if (in_first) check_range(k, seen);
    if (in_second) check_range(k + 1, seen);
    if (left) {
      walk_on(k, in_first & left, upper);
      walk_on(k + 1, in_second & left, upper);
    }
  }

  void finish(int64_t k) {
    GroupWalk& walk = walks(k);
    for (int at = 0; at < G * M; ++at) {
      const int64_t n = sample(k, at / M), v = at % M;
      if (n < 0) continue;
      const Vec s = walk.s[at], total = walk.da[at] + walk.ds[at] * (s - s * s);
      store_columns(args_.da + n * hidden_, column_ + v * kLanes, hidden_, total);
    }
  }

  const NadeGradient& args_;
  const int64_t hidden_, column_;
  int64_t first_, count_, from_, rows_;
  const NadeTile<M> tile_;
  float* walks_;
  bool additive_[kMaxGroups];
};

}  // namespace
}  // namespace wakesleep
