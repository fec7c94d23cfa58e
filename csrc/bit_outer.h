// The gradient of W y + b for many rows y of bits: Σ g yᵀ and Σ g.
#pragma once

#include "bit_sums.h"

namespace wakesleep {
namespace {

// Which sums the parents choose among the gradients of a group of rows.
inline void write_parent_codes(const BitOuter& args, int64_t group) {
  const int64_t first = group * kBitGroup, groups = bit_groups(args.rows);
  Mask other{};
  for (int64_t j = 0; j < args.parents; j += kLanes) {
    Mask places{};
    for (int64_t row = 0; row < smaller(args.rows - first, kBitGroup); ++row) {
      const Vec values = load_part(args.y + (first + row) * args.parents + j, args.parents - j);
      const Mask ones = values == broadcast(1);
      other |= ~ones & (values != Vec{});
      places |= ones & static_cast<int32_t>(kEight << row);
    }
    for (int64_t lane = 0; lane < smaller(args.parents - j, kLanes); ++lane) {
      const int64_t parent = j + lane;
      args.codes[(parent / kEight * groups + group) * kEight + parent % kEight] =
          static_cast<uint8_t>(places[lane]);
    }
  }
  args.other[group] = any(other);
}

// The gradients of a block of units.
class BitOuterUnits {
 public:
  static constexpr int64_t scratch(int64_t parents) {
    return kBitChunk * kGroupFloats + (parents + kEight - 1) / kEight * kEight * kEight;
  }

  BitOuterUnits(const BitOuter& args, int64_t block, float* scratch)
      : args_(args),
        first_(block * kBitUnits),
        units_(args.units - first_),
        groups_(bit_groups(args.rows)),
        sums_(scratch),
        totals_(reinterpret_cast<Eight*>(scratch + kBitChunk * kGroupFloats)) {}

  void run() {
    for (from_ = 0; from_ < groups_; from_ += kBitChunk) {
      to_ = smaller(groups_, from_ + kBitChunk);
      sum_rows();
      for (int64_t parent = 0; parent < args_.parents; parent += kEight) add_rows(parent);
    }
    store_eight(args_.db + first_, all_, units_);
  }

 private:
  void sum_rows() {
    others_ = false;
    for (int64_t group = from_; group < to_; ++group) {
      Eight rows[kBitGroup];
      for (int64_t r = 0; r < kBitGroup; ++r) {
        const int64_t row = group * kBitGroup + r;
        rows[r] = load_eight(args_.g + row * args_.units + first_, row < args_.rows ? units_ : 0);
      }
      float* sums = sums_ + (group - from_) * kGroupFloats;
      write_sums(rows, sums);
      all_ += load_eight(sums + (kSums - 1) * kEight, kEight);
      others_ |= args_.other[group];
    }
  }

  void add_rows(int64_t parent) {
    Eight totals[kEight];
    for (int64_t p = 0; p < kEight; ++p) totals[p] = from_ ? totals_[parent + p] : Eight{};
    const uint8_t* codes = args_.codes + parent * groups_ + from_ * kEight;
    if (__builtin_expect(others_, 0)) {
      multiply(parent, codes, totals);
    } else {
      add_chosen(sums_, codes, to_ - from_, totals);
    }
    if (to_ < groups_) {
      for (int64_t p = 0; p < kEight; ++p) totals_[parent + p] = totals[p];
    } else {
      write(parent, totals);
    }
  }

  // Groups in which a row has other values than bits are multiplied.
  WAKESLEEP_COLD void multiply(int64_t parent, const uint8_t* codes,
                               Eight (&totals)[kEight]) const {
    for (int64_t group = from_; group < to_; ++group) {
      const float* sums = sums_ + (group - from_) * kGroupFloats;
      if (!args_.other[group]) {
        add_chosen(sums, codes + (group - from_) * kEight, 1, totals);
        continue;
      }
      const int64_t row = group * kBitGroup;
      for (int64_t r = 0; r < smaller(args_.rows - row, kBitGroup); ++r) {
        const float* y = args_.y + (row + r) * args_.parents + parent;
        for (int64_t p = 0; p < smaller(args_.parents - parent, kEight); ++p) {
          totals[p] += y[p] * single(sums, 0, r);
        }
      }
    }
  }

  void write(int64_t parent, Eight (&totals)[kEight]) const {
    transpose(totals);
    for (int64_t unit = 0; unit < smaller(units_, kEight); ++unit) {
      float* to = args_.dW + (first_ + unit) * args_.parents + parent;
      store_eight(to, totals[unit], args_.parents - parent);
    }
  }

  const BitOuter& args_;
  const int64_t first_, units_;  // units from the first on, maybe more than a block
  const int64_t groups_;         // of rows
  float* sums_;
  Eight* totals_;
  Eight all_{};
  int64_t from_ = 0, to_ = 0;  // the groups that sums_ are of
  bool others_ = false;
};

}  // namespace
}  // namespace wakesleep
