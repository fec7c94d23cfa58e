// Threefry-2x32 (20 rounds) of Salmon et al. (2011), in the order of `random_bits.py`.
#pragma once

#include "kernels.h"
#include "vector.h"

namespace wakesleep {
namespace {

typedef uint32_t Words __attribute__((vector_size(WAKESLEEP_VECTOR_BYTES), may_alias));
typedef uint32_t LooseWords
    __attribute__((vector_size(WAKESLEEP_VECTOR_BYTES), may_alias, aligned(4)));

template <int Rotation, typename T>
inline void threefry_round(T& high, T& low) {
  high += low;
  low = ((low << Rotation) | (low >> (32 - Rotation))) ^ high;
}

// T is one word or a vector of them; the two output words replace the counter's.
template <typename T>
inline void threefry(Key key, T& high, T& low) {
  const uint32_t schedule[3] = {key.high, key.low, key.high ^ key.low ^ 0x1BD11BDAu};
  high += schedule[0];
  low += schedule[1];
  for (uint32_t block = 0; block < 5; ++block) {
    if (block % 2 == 0) {
      threefry_round<13>(high, low);
      threefry_round<15>(high, low);
      threefry_round<26>(high, low);
      threefry_round<6>(high, low);
    } else {
      threefry_round<17>(high, low);
      threefry_round<29>(high, low);
      threefry_round<16>(high, low);
      threefry_round<24>(high, low);
    }
    high += schedule[(block + 1) % 3];
    low += schedule[(block + 2) % 3] + block + 1;
  }
}

inline Words lane_numbers() {
  Words numbers{};
  for (int64_t lane = 0; lane < kLanes; ++lane) numbers[lane] = static_cast<uint32_t>(lane);
  return numbers;
}

// Element `at` of a share of an array of random words of one stream, `count` in each share.
inline uint32_t random_word(const WordSource& source, uint32_t stream, int64_t count, int64_t at) {
  const int64_t half = words_half(count * source.shares), place = count * source.share + at;
  uint32_t high = stream, low = static_cast<uint32_t>(place < half ? place : place - half);
  threefry(source.key, high, low);
  return place < half ? high : low;
}

// Calls take(words, at, lanes) with each vector of words of stream 0 that counters [first, last)
// give, how many of them count, and where they begin in the array.
template <typename Take>
inline void for_pairs(Key key, int64_t count, int64_t first, int64_t last, const Take& take) {
  const Words lanes = lane_numbers();
  const int64_t half = words_half(count);
  for (int64_t counter = first; counter < last; counter += kLanes) {
    Words high{}, low = lanes + static_cast<uint32_t>(counter);
    threefry(key, high, low);
    const int64_t there = last - counter, beyond = count - half - counter;
    take(high, counter, there < kLanes ? there : kLanes);
    const int64_t lower = there < beyond ? there : beyond;
    if (lower > 0) take(low, half + counter, lower < kLanes ? lower : kLanes);
  }
}

// The same for words [first, last) of a share, which may have one of a counter's two words alone.
template <typename Take>
inline void for_share(const WordSource& source, int64_t count, int64_t first, int64_t last,
                      const Take& take) {
  const Words lanes = lane_numbers();
  const int64_t half = words_half(count * source.shares), before = count * source.share;
  for (int64_t at = first; at < last;) {
    const int64_t place = before + at;
    const bool upper = place < half;
    const int64_t end = upper && half - before < last ? half - before : last;
    Words high{}, low = lanes + static_cast<uint32_t>(upper ? place : place - half);
    threefry(source.key, high, low);
    const int64_t there = end - at < kLanes ? end - at : kLanes;
    take(upper ? high : low, at, there);
    at += there;
  }
}

// All words are made by parts [0, word_parts(source, count)).
template <typename Take>
inline void for_words(const WordSource& source, int64_t count, int64_t first, int64_t last,
                      const Take& take) {
  if (source.shares == 1) return for_pairs(source.key, count, first, last, take);
  for_share(source, count, first, last, take);
}

}  // namespace
}  // namespace wakesleep
