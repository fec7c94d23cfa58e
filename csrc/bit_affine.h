// W y + b for many rows y of bits. Rows with other values than 0 and 1 are multiplied.
#pragma once

#include "bit_sums.h"

namespace wakesleep {
namespace {

// Which sums a block of rows chooses among its parents' weights.
inline void write_row_codes(const BitAffine& args, int64_t block) {
  const int64_t first = block * kBitRows, groups = bit_groups(args.parents);
  uint8_t* codes = args.codes + first * groups;
  std::memset(codes, 0, kBitRows * groups);
  Mask other{};
  for (int64_t row = 0; row < smaller(args.rows - first, kBitRows); ++row) {
    const float* y = args.y + (first + row) * args.parents;
    for (int64_t j = 0; j < args.parents; j += kLanes) {
      const Vec values = load_part(y + j, args.parents - j);
      const Mask ones = values == broadcast(1);
      other |= ~ones & (values != Vec{});
      uint32_t bits = lane_bits(ones);
      const int64_t last = smaller((j + kLanes) / kBitGroup, groups);
      for (int64_t group = j / kBitGroup; group < last; ++group, bits >>= kBitGroup) {
        codes[group * kBitRows + row] = bits % kSums * kBitUnits;
      }
    }
  }
  args.other[block] = any(other);
}

// A block of units of all rows.
class BitAffineUnits {
 public:
  static constexpr int64_t scratch() { return kBitChunk * kGroupFloats; }

  BitAffineUnits(const BitAffine& args, int64_t block, float* scratch)
      : args_(args),
        first_(block * kBitUnits),
        units_(args.units - first_),
        groups_(bit_groups(args.parents)),
        sums_(scratch) {}

  void run() {
    for (from_ = 0; from_ < groups_; from_ += kBitChunk) {
      to_ = smaller(groups_, from_ + kBitChunk);
      sum_weights();
      for (int64_t row = 0; row < args_.rows; row += kBitRows) add_rows(row);
    }
  }

 private:
  void sum_weights() {
    for (int64_t group = from_; group < to_; group += 2) {
      const int64_t parent = group * kBitGroup;
      Eight weights[kBitUnits];
      for (int64_t unit = 0; unit < kBitUnits; ++unit) {
        const int64_t there = unit < units_ ? args_.parents - parent : 0;
        weights[unit] = load_eight(args_.W + (first_ + unit) * args_.parents + parent, there);
      }
      transpose(weights);
      float* sums = sums_ + (group - from_) * kGroupFloats;
      write_sums(weights, sums);
      if (group + 1 < to_) write_sums(weights + kBitGroup, sums + kGroupFloats);
    }
  }

  void add_rows(int64_t row) {
    Eight totals[kBitRows];
    const int64_t count = smaller(args_.rows - row, kBitRows);
    for (int64_t r = 0; r < kBitRows; ++r) totals[r] = r < count ? before(row + r) : Eight{};
    if (__builtin_expect(args_.other[row / kBitRows], 0)) {
      multiply(row, count, totals);
    } else {
      add_chosen(sums_, args_.codes + row * groups_ + from_ * kBitRows, to_ - from_, totals);
    }
    for (int64_t r = 0; r < count; ++r) store_eight(output(row + r), totals[r], units_);
  }

  WAKESLEEP_COLD void multiply(int64_t row, int64_t count, Eight* totals) const {
    for (int64_t r = 0; r < count; ++r) {
      const float* y = args_.y + (row + r) * args_.parents;
      for (int64_t j = from_ * kBitGroup; j < smaller(to_ * kBitGroup, args_.parents); ++j) {
        totals[r] += y[j] * single(sums_, j / kBitGroup - from_, j % kBitGroup);
      }
    }
  }

  // The bias, or what came of the groups before.
  Eight before(int64_t row) const {
    return load_eight(from_ ? output(row) : args_.b + first_, units_);
  }

  float* output(int64_t row) const { return args_.outputs + row * args_.units + first_; }

  const BitAffine& args_;
  const int64_t first_, units_;  // units from the first on, maybe more than a block
  const int64_t groups_;
  float* sums_;
  int64_t from_ = 0, to_ = 0;  // the groups that sums_ are of
};

}  // namespace
}  // namespace wakesleep
