// Compiled once for each instruction set, which names itself in WAKESLEEP_INSTRUCTION_SET.
#include "affine.h"
#include "ar_sbn.h"
#include "bernoulli.h"
#include "bit_affine.h"
#include "bit_outer.h"
#include "kernels.h"
#include "logistic.h"
#include "nade_forward.h"
#include "nade_gradient.h"
#include "optimiser.h"

namespace wakesleep {
namespace {

void nade_prepare(const NadeForward& args, int64_t first, int64_t last) {
  for (int64_t tile = first; tile < last; ++tile) prepare_tile(args, tile);
}

int64_t nade_forward_scratch(const NadeShape& shape) {
  return NadeWalk::scratch(shape);
}

void nade_forward(const NadeForward& args, int64_t first, int64_t last, float* scratch) {
  NadeWalk(args, first, last, scratch).run();
}

void nade_ones(const NadeGradient& args, int64_t first, int64_t last, uint64_t* ones) {
  const int64_t units = args.shape.units;
  for (int64_t n = first; n < last; ++n) {
    const float* x = args.x[n];
    for (int64_t from = 0; from < units; from += 64) {
      const int64_t count = units - from < 64 ? units - from : 64;
      uint64_t word = 0;
      for (int64_t i = 0; i < count; ++i) word |= uint64_t{x[from + i] != 0} << i;
      ones[n * words(units) + from / 64] = word;
    }
  }
}

constexpr int max_gradient_vectors(int group) {
  return group == 1 ? kMaxGradientVectors : kMaxGroupedVectors;
}

int64_t nade_gradient_vectors(int64_t repeat) {
  return max_gradient_vectors(static_cast<int>(group_size(repeat)));
}

int64_t nade_gradient_scratch() { return NadeReverse<kMaxGradientVectors, 1>::scratch(); }

template <int M, int G>
void nade_gradient_columns(const NadeGradient& args, int64_t first, int64_t last, float* scratch) {
  static_assert(NadeReverse<M, G>::scratch() <= NadeReverse<kMaxGradientVectors, 1>::scratch());
  if (last - first == M) return NadeReverse<M, G>(args, first, scratch).run();
  if constexpr (M > 1) nade_gradient_columns<M - 1, G>(args, first, last, scratch);
}

template <int G>
void nade_gradient(const NadeGradient& args, int64_t first, int64_t last, float* scratch) {
  if (group_size(args.x.repeat) == G) {
    return nade_gradient_columns<max_gradient_vectors(G), G>(args, first, last, scratch);
  }
  if constexpr (G > 1) nade_gradient<G - 1>(args, first, last, scratch);
}

int64_t ar_sbn_scratch(int64_t units) { return ArSbnDraw::scratch(units); }

void ar_sbn_sample(const ArSbnSample& args, int64_t first, int64_t last, float* scratch) {
  ArSbnDraw(args, first, last, scratch).run();
}

void bernoulli_sample(const BernoulliSample& args, int64_t first, int64_t last, float* scratch) {
  BernoulliDraw(args, scratch).run(first, last);
}

int64_t affine_scratch(int64_t parents) { return AffineMover::scratch(parents); }

void affine_update(const AffineUpdate& args, int64_t first, int64_t last, float* scratch) {
  AffineMover(args, scratch).run(first, last);
}

void bit_row_codes(const BitAffine& args, int64_t first, int64_t last) {
  for (int64_t block = first; block < last; ++block) write_row_codes(args, block);
}

int64_t bit_affine_scratch() { return BitAffineUnits::scratch(); }

void bit_affine(const BitAffine& args, int64_t first, int64_t last, float* scratch) {
  for (int64_t block = first; block < last; ++block) BitAffineUnits(args, block, scratch).run();
}

void bit_parent_codes(const BitOuter& args, int64_t first, int64_t last) {
  for (int64_t group = first; group < last; ++group) write_parent_codes(args, group);
}

int64_t bit_outer_scratch(int64_t parents) { return BitOuterUnits::scratch(parents); }

void bit_outer(const BitOuter& args, int64_t first, int64_t last, float* scratch) {
  for (int64_t block = first; block < last; ++block) BitOuterUnits(args, block, scratch).run();
}

}  // namespace

#define WAKESLEEP_STRING_(name) #name
#define WAKESLEEP_STRING(name) WAKESLEEP_STRING_(name)
#define WAKESLEEP_TABLE_(name) kernels_##name
#define WAKESLEEP_TABLE(name) WAKESLEEP_TABLE_(name)

extern const Kernels WAKESLEEP_TABLE(WAKESLEEP_INSTRUCTION_SET);
const Kernels WAKESLEEP_TABLE(WAKESLEEP_INSTRUCTION_SET) = {
    WAKESLEEP_STRING(WAKESLEEP_INSTRUCTION_SET),
    kLanes,
    nade_prepare,
    nade_forward_scratch,
    nade_forward,
    nade_ones,
    nade_gradient_vectors,
    nade_gradient_scratch,
    nade_gradient<kMaxGradientGroup>,
    ar_sbn_scratch,
    ar_sbn_sample,
    write_noise,
    write_words,
    bernoulli_sample,
    bernoulli_rows,
    bernoulli_gradient_part,
    affine_scratch,
    affine_update,
    bit_row_codes,
    bit_affine_scratch,
    bit_affine,
    bit_parent_codes,
    bit_outer_scratch,
    bit_outer,
    move_parameter,
};

}  // namespace wakesleep
