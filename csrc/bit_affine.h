// W y + b for many y that are bits: four of them choose one of sixteen sums, which are added up.
//
// The sums of four weights are made once for all rows, so a row takes a quarter of the additions of
// a matrix product, and no multiplication. Rows with other values than 0 and 1 are multiplied.
#pragma once

#include "kernels.h"
#include "vector.h"

namespace wakesleep {
namespace {

// Units side by side. Not the widest vectors: the sums of kBitChunk groups fit the first cache.
typedef float Eight __attribute__((vector_size(32), may_alias));
typedef float LooseEight __attribute__((vector_size(32), may_alias, aligned(4)));
static_assert(sizeof(Eight) == kBitUnits * sizeof(float));

constexpr int64_t kSums = 1 << kBitGroup;
constexpr int64_t kBitChunk = 50;  // groups of parents between two looks at the outputs

inline Eight load_eight(const float* from) { return *reinterpret_cast<const LooseEight*>(from); }

// Rows [8 block, 8 block + 8): for each group of parents the place of each row's sum.
inline void write_codes(const BitAffine& args, int64_t block) {
  const int64_t first = block * kBitRows, there = args.rows - first;
  const int64_t count = there < kBitRows ? there : kBitRows;
  uint8_t* codes = args.codes + first * bit_groups(args.parents);
  const int64_t groups = bit_groups(args.parents);
  std::memset(codes, 0, kBitRows * groups);
  Mask other{};
  for (int64_t row = 0; row < count; ++row) {
    const float* y = args.y + (first + row) * args.parents;
    for (int64_t j = 0; j < args.parents; j += kLanes) {
      const Vec values = load_part(y + j, args.parents - j);
      const Mask ones = values == broadcast(1);
      other |= ~ones & (values != Vec{});
      uint32_t bits = lane_bits(ones);
      const int64_t last = (j + kLanes) / kBitGroup < groups ? (j + kLanes) / kBitGroup : groups;
      for (int64_t group = j / kBitGroup; group < last; ++group, bits >>= kBitGroup) {
        codes[group * kBitRows + row] = bits % kSums * kBitUnits;
      }
    }
  }
  args.other[block] = any(other);
}

// Some units of all rows.
class BitAffineUnits {
 public:
  static constexpr int64_t scratch() { return kBitChunk * kSums * kBitUnits; }

  BitAffineUnits(const BitAffine& args, int64_t block, float* scratch)
      : args_(args),
        first_(block * kBitUnits),
        units_(args.units - first_ < kBitUnits ? args.units - first_ : kBitUnits),
        groups_(bit_groups(args.parents)),
        sums_(scratch) {}

  void run() {
    from_ = 0;
    do {
      to_ = groups_ - from_ < kBitChunk ? groups_ : from_ + kBitChunk;
      write_sums();
      for (int64_t row = 0; row < args_.rows; row += kBitRows) add_rows(row);
      from_ = to_;
    } while (from_ < groups_);
  }

 private:
  void write_sums() {
    for (int64_t group = from_; group < to_; ++group) {
      Eight* sums = reinterpret_cast<Eight*>(sums_ + (group - from_) * kSums * kBitUnits);
      sums[0] = Eight{};
      for (int64_t bit = 0; bit < kBitGroup; ++bit) {
        const Eight weights = column(group * kBitGroup + bit);
        for (int64_t at = 0; at < (1 << bit); ++at) sums[(1 << bit) + at] = sums[at] + weights;
      }
    }
  }

  Eight column(int64_t parent) const {
    Eight weights{};
    if (parent >= args_.parents) return weights;
    const float* from = args_.W + first_ * args_.parents + parent;
    for (int64_t unit = 0; unit < units_; ++unit) weights[unit] = from[unit * args_.parents];
    return weights;
  }

  void add_rows(int64_t row) {
    Eight totals[kBitRows];
    for (int64_t r = 0; r < kBitRows; ++r) totals[r] = before(row + r);
    if (__builtin_expect(args_.other[row / kBitRows], 0)) {
      multiply(row, totals);
    } else {
      const uint8_t* codes = args_.codes + row * groups_;
      for (int64_t group = from_; group < to_; ++group) {
        const float* sums = sums_ + (group - from_) * kSums * kBitUnits;
        const uint8_t* places = codes + group * kBitRows;
        for (int64_t r = 0; r < kBitRows; ++r) totals[r] += *(const Eight*)(sums + places[r]);
      }
    }
    for (int64_t r = 0; r < kBitRows; ++r) write(row + r, totals[r]);
  }

  WAKESLEEP_COLD void multiply(int64_t row, Eight* totals) const {
    for (int64_t r = 0; r < kBitRows && row + r < args_.rows; ++r) {
      const float* y = args_.y + (row + r) * args_.parents;
      const int64_t last = to_ * kBitGroup < args_.parents ? to_ * kBitGroup : args_.parents;
      for (int64_t j = from_ * kBitGroup; j < last; ++j) {
        const int64_t group = j / kBitGroup - from_, place = 1 << j % kBitGroup;
        totals[r] += y[j] * load_eight(sums_ + (group * kSums + place) * kBitUnits);
      }
    }
  }

  // Of a row's units: the bias, or what came of the groups before.
  Eight before(int64_t row) const {
    if (row >= args_.rows) return Eight{};
    return part(from_ ? args_.outputs + row * args_.units + first_ : args_.b + first_);
  }

  Eight part(const float* from) const {
    if (units_ == kBitUnits) return load_eight(from);
    Eight values{};
    std::memcpy(&values, from, units_ * sizeof(float));
    return values;
  }

  void write(int64_t row, Eight values) const {
    if (row >= args_.rows) return;
    float* to = args_.outputs + row * args_.units + first_;
    if (units_ == kBitUnits) {
      *reinterpret_cast<LooseEight*>(to) = values;
    } else {
      std::memcpy(to, &values, units_ * sizeof(float));
    }
  }

  const BitAffine& args_;
  const int64_t first_, units_;
  const int64_t groups_;
  float* sums_;
  int64_t from_ = 0, to_ = 0;  // the groups that sums_ are of
};

}  // namespace
}  // namespace wakesleep
