// Products with bits: four of them choose one of sixteen sums of numbers, which are added up.
//
// The sums are made once for all rows of bits. A row then takes a quarter of the additions of a
// matrix product, and no multiplication.
#pragma once

#include "kernels.h"
#include "vector.h"

namespace wakesleep {
namespace {

// Numbers side by side. Not the widest vectors: the sums of kBitChunk groups fit the first cache.
typedef float Eight __attribute__((vector_size(32), may_alias));
typedef float LooseEight __attribute__((vector_size(32), may_alias, aligned(4)));
typedef int32_t EightPlaces __attribute__((vector_size(32)));
constexpr int64_t kEight = 8;
static_assert(kBitRows == kEight && kBitUnits == kEight);

constexpr int64_t kSums = 1 << kBitGroup;
constexpr int64_t kGroupFloats = kSums * kEight;
constexpr int64_t kBitChunk = 48;  // groups whose sums are kept at a time

inline Eight load_eight(const float* from, int64_t count) {
  if (count >= kEight) return *reinterpret_cast<const LooseEight*>(from);
  Eight values{};
  if (count > 0) std::memcpy(&values, from, count * sizeof(float));
  return values;
}

inline void store_eight(float* to, Eight values, int64_t count) {
  if (count >= kEight) {
    *reinterpret_cast<LooseEight*>(to) = values;
  } else if (count > 0) {
    std::memcpy(to, &values, count * sizeof(float));
  }
}

#if defined(__clang__)
#define WAKESLEEP_PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define WAKESLEEP_PICK(a, b, ...) __builtin_shuffle(a, b, (EightPlaces){__VA_ARGS__})
#endif

inline void transpose(Eight (&v)[kEight]) {
  Eight pairs[kEight], fours[kEight];
  for (int64_t i = 0; i < kEight; i += 2) {
    pairs[i] = WAKESLEEP_PICK(v[i], v[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = WAKESLEEP_PICK(v[i], v[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int64_t i = 0; i < kEight; i += 4) {
    for (int64_t j = 0; j < 2; ++j) {
      const Eight low = pairs[i + j], high = pairs[i + j + 2];
      fours[i + 2 * j] = WAKESLEEP_PICK(low, high, 0, 1, 8, 9, 4, 5, 12, 13);
      fours[i + 2 * j + 1] = WAKESLEEP_PICK(low, high, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int64_t i = 0; i < 4; ++i) {
    v[i] = WAKESLEEP_PICK(fours[i], fours[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    v[i + 4] = WAKESLEEP_PICK(fours[i], fours[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

#undef WAKESLEEP_PICK

// All sums of some of four; `sums` is aligned.
inline void write_sums(const Eight* four, float* sums) {
  Eight* to = reinterpret_cast<Eight*>(sums);
  to[0] = Eight{};
  for (int64_t bit = 0; bit < kBitGroup; ++bit) {
    for (int64_t at = 0; at < (1 << bit); ++at) to[(1 << bit) + at] = to[at] + four[bit];
  }
}

// Adds the chosen sum of each group; a code is where one begins, in floats.
inline void add_chosen(const float* sums, const uint8_t* codes, int64_t groups,
                       Eight (&totals)[kEight]) {
  for (int64_t group = 0; group < groups; ++group) {
    for (int64_t r = 0; r < kEight; ++r) {
      totals[r] += *reinterpret_cast<const Eight*>(sums + codes[r]);
    }
    sums += kGroupFloats;
    codes += kEight;
  }
}

// The number that a bit of a group chooses, if it is alone.
inline Eight single(const float* sums, int64_t group, int64_t bit) {
  return load_eight(sums + group * kGroupFloats + (kEight << bit), kEight);
}

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

}  // namespace
}  // namespace wakesleep
