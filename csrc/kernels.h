// The kernels as plain functions over plain arrays: what dispatch selects and drivers call.
//
// Arrays are row-major float32. Each function does a part of the work, which the drivers spread
// over threads; which thread does which part never changes a bit of the result.
#pragma once

#include <cstdint>

namespace wakesleep {

constexpr int64_t kNadeBlock = 8;    // samples whose hidden layers fit the first cache together
constexpr int64_t kTile = 16;        // units between two looks at the range of a hidden layer
constexpr int64_t kArSbnBlock = 64;  // samples that share the transposed tile of S
constexpr int64_t kBitGroup = 4;     // bits that choose a sum of weights together
constexpr int64_t kBitRows = 8;      // rows that are added up together
constexpr int64_t kBitUnits = 8;     // and units of them

// An operand whose rows each serve `repeat` consecutive samples.
struct Rows {
  const float* data;
  int64_t width;
  int64_t repeat;

  const float* operator[](int64_t sample) const { return data + sample / repeat * width; }
};

struct NadeShape {
  int64_t samples;
  int64_t units;
  int64_t hidden;
};

struct NadeForward {
  NadeShape shape;
  Rows x;  // given bits; unused when sampling
  Rows a;
  Rows c;              // data is null for no contribution
  const float* noise;  // [samples, units], or null when the bits are given
  const float* W;
  const float* V;
  float* factors;  // exp(-W), [units, hidden padded to whole vectors]
  bool* bounded;   // [tiles(units)]: whether the factors of a tile may be used
  float* drawn;           // [samples, units], when sampling
  float* logits;          // [samples, units]
  float* last;            // [samples, hidden], the pre-activation after all units
  const int32_t* following = nullptr;  // see ArSbnSample; when sampling
};

struct NadeGradient {
  NadeShape shape;
  Rows x;
  const float* g;        // [samples, units], the gradient of the logits
  const float* last;     // [samples, hidden], as from the way forwards
  const uint64_t* ones;  // [samples, words(units)], x as bits
  const float* W;
  const float* V;
  float* da;  // [samples, hidden]
  float* dW;
  float* dV;
};

struct ArSbnSample {
  int64_t samples;
  int64_t units;
  Rows c;
  const float* noise;
  const float* S;
  float* drawn;
  float* logits;
  // [units]: where drawing goes on after a one, past the units of its group, which stay 0;
  // null where every unit is drawn.
  const int32_t* following = nullptr;
};

struct Key {
  uint32_t high;
  uint32_t low;
};

// Which random words an array takes: those of one of equally many shares of a larger array.
struct WordSource {
  Key key;
  uint32_t share = 0;
  uint32_t shares = 1;
};

struct LogisticNoise {
  WordSource source;
  int64_t count;
  float* noise;
};

struct BernoulliSample {
  WordSource source;
  int64_t samples;
  int64_t units;
  Rows logits;
  float* drawn;     // [samples, units]
  float* log_prob;  // [samples]
};

struct BernoulliLogProb {
  int64_t samples;
  int64_t units;
  Rows x;
  Rows logits;
  float* log_prob;
};

struct BernoulliGradient {
  int64_t rows;  // of the logits
  int64_t units;
  Rows x;
  Rows logits;
  const float* g;  // [samples], the gradient of the log-probabilities
  float* dlogits;  // [rows, units]
};

struct AffineUpdate {
  int64_t samples;
  int64_t units;
  int64_t parents;
  const float* outputs;  // [samples, units], W before + b
  const float* before;   // [samples, parents]
  const float* after;
  const float* columns;  // [parents, units], W transposed
  float* moved;          // [samples, units], W after + b
};

struct BitAffine {
  int64_t rows;
  int64_t units;
  int64_t parents;
  const float* y;  // [rows, parents]
  const float* W;  // [units, parents]
  const float* b;
  uint8_t* codes;  // [blocks of rows, groups of parents, kBitRows]: where a row's sum begins
  bool* other;     // [blocks of rows]: whether a value is neither 0 nor 1
  float* outputs;  // [rows, units], W y + b
};

struct BitOuter {
  int64_t rows;
  int64_t units;
  int64_t parents;
  const float* g;  // [rows, units], the gradient of W y + b
  const float* y;  // [rows, parents]
  uint8_t* codes;  // [blocks of parents, groups of rows, 8]: where a parent's sum begins
  bool* other;     // [groups of rows]: whether a value is neither 0 nor 1
  float* dW;       // [units, parents]
  float* db;
};

// How every parameter moves, in a step of its optimiser.
struct OptimiserRule {
  bool adam;             // or damped momentum
  float first_decay;     // of the mean of gradients, or of the momentum
  float first_share;     // 1 - first_decay, rounded once
  float second_decay;    // of the mean of their squares; from here to epsilon for Adam alone
  float second_share;
  float epsilon;
  float gradient_scale;
  float weight_decay;
  float first_correction;  // Adam's, for means that started from zero
  float second_correction;
  float average_weight;  // of the new parameters in their moving average
};

// An array that a step reads and writes; both may be the same memory.
struct Moved {
  const float* before;
  float* after;
};

struct Parameter {
  int64_t count;
  float rate;
  const float* gradient;
  Moved value;
  Moved average;
  Moved first;
  Moved second;  // null without Adam
};

struct OptimiserStep {
  OptimiserRule rule;
  const Parameter* parameters;
  int64_t count;
  float* squares;  // [count]: each gradient's squares, summed
};

// Counters that give `count` random words: each gives one of the first half and one of the rest.
constexpr int64_t words_half(int64_t count) { return (count + 1) / 2; }

// How many parts the making of an array's words has: a counter for two words, or for one where
// the other belongs to another share.
constexpr int64_t word_parts(const WordSource& source, int64_t count) {
  return source.shares == 1 ? words_half(count) : count;
}

constexpr int64_t words(int64_t units) { return (units + 63) / 64; }

constexpr int64_t bit_groups(int64_t bits) { return (bits + kBitGroup - 1) / kBitGroup; }

constexpr int64_t tiles(int64_t units) { return (units + kTile - 1) / kTile; }

// One instruction set's kernels. Scratch sizes are in floats.
struct Kernels {
  const char* name;
  int64_t lanes;

  // Tiles [first, last) of factors and bounded.
  void (*nade_prepare)(const NadeForward&, int64_t first, int64_t last);
  // Samples [first, last), at most kNadeBlock.
  int64_t (*nade_forward_scratch)(const NadeShape&);
  void (*nade_forward)(const NadeForward&, int64_t first, int64_t last, float* scratch);
  // Samples [first, last) of x as bits.
  void (*nade_ones)(const NadeGradient&, int64_t first, int64_t last, uint64_t* ones);
  // Vectors [first, last) of the hidden columns, at most as many as an x of `repeat` samples allows.
  int64_t (*nade_gradient_vectors)(int64_t repeat);
  int64_t (*nade_gradient_scratch)();
  void (*nade_gradient)(const NadeGradient&, int64_t first, int64_t last, float* scratch);
  // Samples [first, last), at most kArSbnBlock.
  int64_t (*ar_sbn_scratch)(int64_t units);
  void (*ar_sbn_sample)(const ArSbnSample&, int64_t first, int64_t last, float* scratch);
  // Parts [first, last) of word_parts(source, count).
  void (*logistic_noise)(const LogisticNoise&, int64_t first, int64_t last);
  void (*bernoulli_words)(const BernoulliSample&, int64_t first, int64_t last);
  // Samples [first, last), after all words; scratch for the units, padded to whole vectors.
  void (*bernoulli_sample)(const BernoulliSample&, int64_t first, int64_t last, float* scratch);
  // Samples [first, last).
  void (*bernoulli_log_prob)(const BernoulliLogProb&, int64_t first, int64_t last);
  // Columns [first, last) of one row of logits.
  void (*bernoulli_gradient)(const BernoulliGradient&, int64_t row, int64_t first, int64_t last);
  // Samples [first, last).
  int64_t (*affine_scratch)(int64_t parents);
  void (*affine_update)(const AffineUpdate&, int64_t first, int64_t last, float* scratch);
  // Blocks [first, last) of kBitRows rows, then of kBitUnits units.
  void (*bit_row_codes)(const BitAffine&, int64_t first, int64_t last);
  int64_t (*bit_affine_scratch)();
  void (*bit_affine)(const BitAffine&, int64_t first, int64_t last, float* scratch);
  // Groups [first, last) of kBitGroup rows, then blocks of kBitUnits units.
  void (*bit_parent_codes)(const BitOuter&, int64_t first, int64_t last);
  int64_t (*bit_outer_scratch)(int64_t parents);
  void (*bit_outer)(const BitOuter&, int64_t first, int64_t last, float* scratch);
  // Elements [first, last) of one parameter; the sum of their gradients' squares.
  float (*move_parameter)(const OptimiserRule&, const Parameter&, int64_t first, int64_t last);
};

// The kernels of that name ("avx512", "avx2" or "baseline"), or the best for a null name;
// null if this build or this processor does not have them.
const Kernels* find_kernels(const char* name);

}  // namespace wakesleep
