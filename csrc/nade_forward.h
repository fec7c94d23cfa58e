// NADE forwards: logits of given bits, or bits drawn one after another.
//
// The hidden layer changes only where a bit is 1. Between ones its sigmoids are kept, and at a
// one they are not computed from the pre-activation: with E = exp(-a), adding W_i to a is
// multiplying E by exp(-W_i), which is tabulated, and the sigmoid is 1 / (1 + E). A sample whose
// E leaves the safe range goes on with pre-activations and exponentials instead.
#pragma once

#include "hidden.h"
#include "kernels.h"
#include "vector.h"

namespace wakesleep {
namespace {

constexpr int kGroup = kRegisters == 32 ? 8 : 4;  // samples whose dot products share a row of V

class NadeWalk {
 public:
  static int64_t scratch(const NadeShape& shape, int64_t count) {
    return 2 * count * padded(shape.hidden);
  }

  NadeWalk(const NadeForward& args, int64_t first, int64_t last, float* scratch)
      : args_(args), count_(last - first), hidden_(args.shape.hidden), width_(padded(hidden_)) {
    state_ = scratch;
    sigmoid_ = state_ + count_ * width_;
    for (int64_t k = 0; k < count_; ++k) samples_[k] = sample(first + k);
  }

  void run() {
    for (int64_t k = 0; k < count_; ++k) start(k);
    for (int64_t unit = 0; unit < args_.shape.units; ++unit) {
      int64_t k = 0;
      for (; k + kGroup <= count_; k += kGroup) predict<kGroup>(k, unit);
      for (; k + 2 <= count_; k += 2) predict<2>(k, unit);
      if (k < count_) predict<1>(k, unit);
    }
  }

 private:
  struct Sample {
    const float* a;
    const float* c;
    const float* noise;
    const float* x;
    float* drawn;
    float* logits;
    bool additive;
  };

  Sample sample(int64_t n) const {
    const int64_t row = n * args_.shape.units;
    float* drawn = args_.noise ? args_.drawn + row : nullptr;
    return {args_.a[n],
            args_.c.data ? args_.c[n] : nullptr,
            args_.noise ? args_.noise + row : nullptr,
            drawn ? drawn : args_.x[n],
            drawn,
            args_.logits + row,
            false};
  }

  void start(int64_t k) {
    bool safe = args_.factors != nullptr;
    for (int64_t h = 0; h < width_; h += kLanes) {
      const Vec inverse_odds = clamped_exponential(-load_columns(samples_[k].a, h, hidden_));
      safe = safe && !any(unsafe(inverse_odds));
      store(state_ + k * width_ + h, inverse_odds);
      store(sigmoid_ + k * width_ + h, reciprocal(1.0f + inverse_odds));
    }
    if (!safe) go_additive(k, 0);
  }

  // Row `unit` of V against the hidden layers of `Count` samples.
  template <int Count>
  void predict(int64_t k, int64_t unit) {
    const float* row = args_.padded_V + unit * width_;
    const float* hidden = sigmoid_ + k * width_;
    Vec total[Count] = {};
    for (int64_t h = 0; h < width_; h += kLanes) {
      const Vec v = load(row + h);
      for (int j = 0; j < Count; ++j) total[j] += v * load(hidden + j * width_ + h);
    }
    for (int j = 0; j < Count; ++j) decide(k + j, unit, sum(total[j]));
  }

  void decide(int64_t k, int64_t unit, float effect) {
    const Sample& sample = samples_[k];
    const float logit = sample.c ? effect + sample.c[unit] : effect;
    sample.logits[unit] = logit;
    if (sample.drawn) sample.drawn[unit] = logit > sample.noise[unit];
    if (sample.x[unit] != 0) absorb(k, unit);
  }

  void absorb(int64_t k, int64_t unit) {
    if (samples_[k].additive) return absorb_additively(k, unit);
    const float* factor = args_.factors + unit * width_;
    float* inverse_odds = state_ + k * width_;
    float* hidden = sigmoid_ + k * width_;
    Mask outside{};
    for (int64_t h = 0; h < width_; h += kLanes) {
      const Vec product = load(inverse_odds + h) * load(factor + h);
      outside |= unsafe(product);
      store(inverse_odds + h, product);
      store(hidden + h, reciprocal(1.0f + product));
    }
    if (any(outside)) go_additive(k, unit + 1);
  }

  void absorb_additively(int64_t k, int64_t unit) {
    const float* row = args_.W + unit * hidden_;
    float* state = state_ + k * width_;
    for (int64_t h = 0; h < width_; h += kLanes) {
      const Vec a = load(state + h) + load_columns(row, h, hidden_);
      store(state + h, a);
      store(sigmoid_ + k * width_ + h, logistic(a));
    }
  }

  void go_additive(int64_t k, int64_t seen) {
    samples_[k].additive = true;
    for (int64_t h = 0; h < width_; h += kLanes) {
      const Vec a = pre_activation(samples_[k].a, args_.W, samples_[k].x, seen, h, hidden_);
      store(state_ + k * width_ + h, a);
      store(sigmoid_ + k * width_ + h, logistic(a));
    }
  }

  const NadeForward& args_;
  const int64_t count_, hidden_, width_;
  Sample samples_[kNadeBlock];
  float* state_;  // exp(-a), or a once the sample is additive
  float* sigmoid_;
};

}  // namespace
}  // namespace wakesleep
