// Log-probabilities of independent bits, and their gradient.
#pragma once

#include "kernels.h"
#include "vector.h"

namespace wakesleep {
namespace {

// e^-value for value >= 0; zero where that is no normal number.
inline Vec decay(Vec value) {
  return exponential(select(value > broadcast(88.0f), broadcast(-88.0f), -value));
}

// log(1 + value) for value in [0, 2^126), to relative accuracy at both ends.
inline Vec log_one_plus(Vec value) {
  const Vec rounded = 1.0f + value;
  return logarithm(rounded) + (value - (rounded - 1.0f)) * reciprocal(rounded);
}

// A sum of softplus(z) = max(z, 0) + log(1 + e^-|z|) that takes one logarithm for many terms:
// each lane keeps Π(1 + e^-|z|) - 1, all of whose terms are positive and so keep their digits.
class SoftplusSum {
 public:
  void add(Vec z, Vec decayed) {
    linear_ += select(z < broadcast(0), Vec{}, z);
    add_decay(decayed);
  }

  void add_decay(Vec decayed) {
    product_ = (product_ + decayed) + product_ * decayed;
    if (++factors_ == kMaxFactors) fold();
  }

  float sum() {
    fold();
    return wakesleep::sum(linear_);
  }

 private:
  static constexpr int kMaxFactors = 96;  // a factor is at most 2

  void fold() {
    linear_ += log_one_plus(product_);
    product_ = Vec{};
    factors_ = 0;
  }

  Vec linear_{};
  Vec product_{};
  int factors_ = 0;
};

inline void bernoulli_rows(const BernoulliLogProb& args, int64_t first, int64_t last) {
  for (int64_t n = first; n < last; ++n) {
    const float *x = args.x[n], *logits = args.logits[n];
    SoftplusSum total;
    for (int64_t i = 0; i < args.units; i += kLanes) {
      const int64_t lanes = args.units - i;
      const Vec z = (1.0f - 2.0f * load_part(x + i, lanes)) * load_part(logits + i, lanes);
      total.add(z, within(decay(magnitude(z)), lanes));
    }
    args.log_prob[n] = -total.sum();
  }
}

// -softplus'(z) z', with z = (1 - 2x) logit.
inline Vec logit_slope(Vec x, Vec logit) {
  const Vec sign = 2.0f * x - 1.0f;
  const Vec z = sign * logit;
  const Vec decayed = decay(magnitude(z));
  return sign * select(z > broadcast(0), decayed, broadcast(1)) * reciprocal(1.0f + decayed);
}

// Columns [first, last) of one row of logits, summed over the samples it serves, in their order.
inline void bernoulli_gradient_part(const BernoulliGradient& args, int64_t row, int64_t first,
                                    int64_t last) {
  const int64_t repeat = args.logits.repeat, from = row * repeat;
  const float* logits = args.logits.data + row * args.units;
  float* result = args.dlogits + row * args.units;
  std::memset(result + first, 0, (last - first) * sizeof(float));
  for (int64_t n = from; n < from + repeat; ++n) {
    const float* x = args.x[n];
    const Vec weight = broadcast(args.g[n]);
    for (int64_t i = first; i < last; i += kLanes) {
      const int64_t lanes = last - i;
      const Vec slope = logit_slope(load_part(x + i, lanes), load_part(logits + i, lanes));
      store_part(result + i, load_part(result + i, lanes) + weight * slope, lanes);
    }
  }
}

}  // namespace
}  // namespace wakesleep
