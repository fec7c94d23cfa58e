// SIMD vectors in the compiler's own vector extensions: one source for AVX-512, AVX2, SSE2, NEON.
//
// Everything is in an unnamed namespace and nothing from the standard library is instantiated:
// the sources that include this are compiled once per instruction set, and a shared inline
// function would let the linker pick the AVX-512 copy for every machine.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define WAKESLEEP_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define WAKESLEEP_VECTOR_BYTES 32
#else
#define WAKESLEEP_VECTOR_BYTES 16
#endif

// For functions whose constants would crowd a hot loop's registers.
#define WAKESLEEP_COLD __attribute__((noinline))

namespace wakesleep {
namespace {

constexpr int64_t kLanes = WAKESLEEP_VECTOR_BYTES / sizeof(float);
// Registers decide how many vectors a loop can keep in flight.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kRegisters = 32;
#else
constexpr int kRegisters = 16;
#endif

typedef float Vec __attribute__((vector_size(WAKESLEEP_VECTOR_BYTES), may_alias));
typedef int32_t Mask __attribute__((vector_size(WAKESLEEP_VECTOR_BYTES), may_alias));
typedef float LooseVec __attribute__((vector_size(WAKESLEEP_VECTOR_BYTES), may_alias, aligned(4)));

inline Vec broadcast(float value) { return value - Vec{}; }

inline Vec load(const float* from) { return *reinterpret_cast<const LooseVec*>(from); }

inline void store(float* to, Vec value) { *reinterpret_cast<LooseVec*>(to) = value; }

#if defined(__AVX2__) && !defined(__AVX512F__)
inline __m256i first_lanes(int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#endif

inline Vec load_first(const float* from, int64_t count) {
#if defined(__AVX512F__)
  return (Vec)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
#elif defined(__AVX2__)
  return (Vec)_mm256_maskload_ps(from, first_lanes(count));
#endif
  Vec result{};
  std::memcpy(&result, from, count * sizeof(float));
  return result;
}

inline void store_first(float* to, Vec value, int64_t count) {
#if defined(__AVX512F__)
  return _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << count) - 1), (__m512)value);
#elif defined(__AVX2__)
  return _mm256_maskstore_ps(to, first_lanes(count), (__m256)value);
#endif
  std::memcpy(to, &value, count * sizeof(float));
}

// The first lanes of what may be more or less than a vector; beyond it, zero.
inline Vec load_part(const float* from, int64_t count) {
  return count >= kLanes ? load(from) : load_first(from, count);
}

inline void store_part(float* to, Vec value, int64_t count) {
  if (count >= kLanes) {
    store(to, value);
  } else {
    store_first(to, value, count);
  }
}

// Zero from lane `count` on.
inline Vec within(Vec value, int64_t count) {
#if defined(__AVX512F__)
  const __mmask16 lanes = count >= kLanes ? 0xffff : (1u << count) - 1;
  return (Vec)_mm512_maskz_mov_ps(lanes, (__m512)value);
#endif
  return count >= kLanes ? value : load_first(reinterpret_cast<const float*>(&value), count);
}

inline Vec select(Mask mask, Vec yes, Vec no) { return mask ? yes : no; }

inline Vec smaller(Vec a, Vec b) { return select(a < b, a, b); }

inline Vec larger(Vec a, Vec b) { return select(a > b, a, b); }

inline Vec magnitude(Vec value) { return (Vec)((Mask)value & 0x7fffffff); }

inline Vec clamp(Vec value, float low, float high) {
  value = select(value < broadcast(low), broadcast(low), value);
  return select(value > broadcast(high), broadcast(high), value);
}

// Bit i is set where lane i is.
inline uint32_t lane_bits(Mask mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask);
#elif defined(__AVX2__)
  return _mm256_movemask_ps((__m256)mask);
#else
  uint32_t bits = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) bits |= (mask[lane] & 1u) << lane;
  return bits;
#endif
}

inline bool any(Mask mask) {
#if defined(__AVX512F__)
  return lane_bits(mask) != 0;
#elif defined(__AVX2__)
  return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#else
  int32_t found = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) found |= mask[lane];
  return found != 0;
#endif
}

inline float sum(Vec value) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps((__m512)value);
#else
  float total = 0;
  for (int64_t lane = 0; lane < kLanes / 2; ++lane) total += value[lane] + value[lane + kLanes / 2];
  return total;
#endif
}

// The sums of four vectors.
inline void sum_four(const Vec (&v)[4], float* to) {
#if defined(__AVX2__)
#if defined(__AVX512F__)
#define WAKESLEEP_ZIP(kind, a, b) (Vec) _mm512_unpack##kind((__m512)(a), (__m512)(b))
#define WAKESLEEP_ZIP2(kind, a, b) (Vec) _mm512_unpack##kind((__m512d)(a), (__m512d)(b))
#else
#define WAKESLEEP_ZIP(kind, a, b) (Vec) _mm256_unpack##kind((__m256)(a), (__m256)(b))
#define WAKESLEEP_ZIP2(kind, a, b) (Vec) _mm256_unpack##kind((__m256d)(a), (__m256d)(b))
#endif
  const Vec ab = WAKESLEEP_ZIP(lo_ps, v[0], v[1]) + WAKESLEEP_ZIP(hi_ps, v[0], v[1]);
  const Vec cd = WAKESLEEP_ZIP(lo_ps, v[2], v[3]) + WAKESLEEP_ZIP(hi_ps, v[2], v[3]);
  const Vec abcd = WAKESLEEP_ZIP2(lo_pd, ab, cd) + WAKESLEEP_ZIP2(hi_pd, ab, cd);
#if defined(__AVX512F__)
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256((__m512)abcd),
                                    _mm512_extractf32x8_ps((__m512)abcd, 1));
#else
  const __m256 half = (__m256)abcd;
#endif
  _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1)));
#undef WAKESLEEP_ZIP
#undef WAKESLEEP_ZIP2
#else
  for (int j = 0; j < 4; ++j) to[j] = (v[j][0] + v[j][2]) + (v[j][1] + v[j][3]);
#endif
}

// Relative error below 2^-22: the hardware's estimate and one Newton step.
inline Vec reciprocal(Vec value) {
#if defined(__AVX512F__)
  Vec guess = (Vec)_mm512_rcp14_ps((__m512)value);
#elif defined(__AVX2__)
  Vec guess = (Vec)_mm256_rcp_ps((__m256)value);
#else
  return 1.0f / value;
#endif
#if defined(__AVX2__)
  return guess + guess * (1.0f - value * guess);
#endif
}

inline Vec square_root(Vec value) {
#if defined(__AVX512F__)
  return (Vec)_mm512_sqrt_ps((__m512)value);
#elif defined(__AVX2__)
  return (Vec)_mm256_sqrt_ps((__m256)value);
#else
  for (int64_t lane = 0; lane < kLanes; ++lane) value[lane] = __builtin_sqrtf(value[lane]);
  return value;
#endif
}

// e^value where that is a normal number: for value in [-87.33, 88.7].
inline Vec exponential(Vec value) {
  const Vec round = broadcast(0x1.8p23f);  // adding it leaves the nearest integer in the low bits
  const Vec shifted = value * 1.44269504088896341f + round;
  const Vec power = shifted - round;
  Vec rest = value - power * 0.693359375f;
  rest = rest + power * 2.12194440e-4f;
  Vec poly = broadcast(1.9875691500e-4f);
  poly = poly * rest + 1.3981999507e-3f;
  poly = poly * rest + 8.3334519073e-3f;
  poly = poly * rest + 4.1665795894e-2f;
  poly = poly * rest + 1.6666665459e-1f;
  poly = poly * rest + 5.0000001201e-1f;
  poly = poly * (rest * rest) + (rest + 1.0f);
  return (Vec)((Mask)poly + ((Mask)shifted << 23));
}

// log(value) for positive normal numbers: log(m 2^k) with m in [0.7, 1.4), as Cephes' logf.
inline Vec logarithm(Vec value) {
  const Mask offset = (Mask)value - 0x3f3504f3;  // the bits of sqrt(1/2)
  const Vec power = __builtin_convertvector(offset >> 23, Vec);
  const Vec x = (Vec)((offset & 0x7fffff) + 0x3f3504f3) - 1.0f;
  constexpr float kTerms[] = {-1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f,
                              1.4249322787e-1f,  -1.6668057665e-1f, 2.0000714765e-1f,
                              -2.4999993993e-1f, 3.3333331174e-1f};
  Vec poly = broadcast(7.0376836292e-2f);
  for (float term : kTerms) poly = poly * x + term;
  const Vec square = x * x;
  const Vec small = poly * x * square - 2.12194440e-4f * power - 0.5f * square;
  return small + x + 0.693359375f * power;
}

// At 88 the reciprocal of the result is subnormal, that is, zero.
inline Vec clamped_exponential(Vec value) { return exponential(clamp(value, -87.33f, 88.0f)); }

}  // namespace
}  // namespace wakesleep
