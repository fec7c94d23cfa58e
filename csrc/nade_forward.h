// NADE forwards: logits of given bits, or bits drawn one after another.
//
// The hidden layer changes only where a bit is 1; between ones its sigmoids are kept. How it
// changes without exponentials is in hidden.h. A sample that leaves the range where that is
// exact goes on "additively", with pre-activations and exponentials.
#pragma once

#include "hidden.h"
#include "kernels.h"
#include "vector.h"

namespace wakesleep {
namespace {

// A tile's rows of V and exp(-W), padded with zeros to whole vectors.
inline void prepare_tile(const NadeForward& args, int64_t tile) {
  const int64_t hidden = args.shape.hidden, width = padded(hidden), from = tile * kTile;
  const int64_t to = from + kTile < args.shape.units ? from + kTile : args.shape.units;
  Mask unbounded{};
  for (int64_t h = 0; h < width; h += kLanes) {
    Vec change{};
    for (int64_t unit = from; unit < to; ++unit) {
      const Vec W = load_columns(args.W + unit * hidden, h, hidden);
      change += magnitude(W);
      store(args.factors + unit * width + h, clamped_exponential(-W));
      store(args.padded_V + unit * width + h, load_columns(args.V + unit * hidden, h, hidden));
    }
    unbounded |= ~(change < broadcast(kBound));
  }
  args.bounded[tile] = !any(unbounded);
}

class NadeWalk {
 public:
  static int64_t scratch(const NadeShape& shape) {
    return (2 * kNadeBlock + 2 * kGroup) * padded(shape.hidden);
  }

  NadeWalk(const NadeForward& args, int64_t first, int64_t last, float* scratch)
      : args_(args), count_(last - first), hidden_(args.shape.hidden), width_(padded(hidden_)) {
    state_ = scratch;
    sigmoid_ = state_ + count_ * width_;
    for (int64_t k = 0; k < count_; ++k) samples_[k] = sample(first + k);
  }

  void run() {
    const int64_t units = args_.shape.units;
    for (int64_t k = 0; k < count_; ++k) start(k);
    std::memset(sigmoid_ + count_ * width_, 0, 2 * kGroup * width_ * sizeof(float));
    for (int64_t tile = 0; tile < tiles(units); ++tile) {
      const int64_t from = tile * kTile, to = from + kTile < units ? from + kTile : units;
      if (!args_.bounded[tile]) leave_products(from);
      for (int64_t unit = from; unit < to; ++unit) predict(unit);
      check_range(to);
    }
    for (int64_t k = 0; k < count_; ++k) finish(k);
  }

 private:
  static constexpr int kGroup = 4;  // samples whose dot products are summed together

  struct Sample {
    const float* a;
    const float* c;
    const float* noise;
    const float* x;
    float* drawn;
    float* logits;
    float* last;
    bool additive;
    bool changed;      // since its range was last checked
    int64_t resume = 0;  // the next unit that may be a one
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
            args_.last + n * hidden_,
            false,
            true};
  }

  void start(int64_t k) {
    for (int64_t h = 0; h < width_; h += kLanes) {
      const Vec inverse_odds = clamped_exponential(-load_columns(samples_[k].a, h, hidden_));
      store(state_ + k * width_ + h, inverse_odds);
      store(sigmoid_ + k * width_ + h, sigmoid_of(inverse_odds));
    }
    check_range(k, 0);
  }

  void predict(int64_t unit) {
    int64_t k = 0;
    // The last group may reach beyond the samples, into zeros.
    for (; k + kGroup < count_; k += 2 * kGroup) predict<2>(k, unit);
    if (k < count_) predict<1>(k, unit);
  }

  // Row `unit` of V against the hidden layers of some groups of samples.
  template <int Groups>
  void predict(int64_t first, int64_t unit) {
    const int64_t width = width_;
    const float* row = args_.padded_V + unit * width;
    const float* hidden = sigmoid_ + first * width;
    Vec total[Groups][kGroup] = {};
    for (int64_t h = 0; h < width; h += kLanes) {
      const Vec v = load(row + h);
      for (int j = 0; j < Groups * kGroup; ++j) {
        total[j / kGroup][j % kGroup] += v * load(hidden + j * width + h);
      }
    }
    float effects[Groups * kGroup];
    for (int group = 0; group < Groups; ++group) sum_four(total[group], effects + group * kGroup);
    for (int j = 0; j < Groups * kGroup && first + j < count_; ++j) {
      decide(first + j, unit, effects[j]);
    }
  }

  void decide(int64_t k, int64_t unit, float effect) {
    Sample& sample = samples_[k];
    const float logit = sample.c ? effect + sample.c[unit] : effect;
    sample.logits[unit] = logit;
    if (sample.drawn) sample.drawn[unit] = unit >= sample.resume && logit > sample.noise[unit];
    if (sample.x[unit] == 0) return;
    if (args_.following) sample.resume = args_.following[unit];
    absorb(k, unit);
  }

  void absorb(int64_t k, int64_t unit) {
    if (samples_[k].additive) return absorb_additively(k, unit);
    samples_[k].changed = true;
    const int64_t width = width_;
    const float* factor = args_.factors + unit * width;
    float* inverse_odds = state_ + k * width;
    float* hidden = sigmoid_ + k * width;
    for (int64_t h = 0; h < width; h += kLanes) {
      const Vec product = load(inverse_odds + h) * load(factor + h);
      store(inverse_odds + h, product);
      store(hidden + h, sigmoid_of(product));
    }
  }

  void finish(int64_t k) {
    for (int64_t h = 0; h < width_; h += kLanes) {
      const Vec state = load(state_ + k * width_ + h);
      store_columns(samples_[k].last, h, hidden_, samples_[k].additive ? state : -logarithm(state));
    }
  }

  void check_range(int64_t seen) {
    for (int64_t k = 0; k < count_; ++k) {
      if (samples_[k].changed && !samples_[k].additive) check_range(k, seen);
    }
  }

  void check_range(int64_t k, int64_t seen) {
    const float* inverse_odds = state_ + k * width_;
    Vec low = load(inverse_odds), high = low;
    for (int64_t h = kLanes; h < width_; h += kLanes) {
      low = smaller(low, load(inverse_odds + h));
      high = larger(high, load(inverse_odds + h));
    }
    samples_[k].changed = false;
    if (!all_safe(low, high)) go_additive(k, seen);
  }

  void leave_products(int64_t seen) {
    for (int64_t k = 0; k < count_; ++k) {
      if (!samples_[k].additive) go_additive(k, seen);
    }
  }

  WAKESLEEP_COLD void go_additive(int64_t k, int64_t seen) {
    samples_[k].additive = true;
    for (int64_t h = 0; h < width_; h += kLanes) {
      const Vec a = pre_activation(samples_[k].a, args_.W, samples_[k].x, seen, h, hidden_);
      store(state_ + k * width_ + h, a);
      store(sigmoid_ + k * width_ + h, logistic(a));
    }
  }

  WAKESLEEP_COLD void absorb_additively(int64_t k, int64_t unit) {
    const float* row = args_.W + unit * hidden_;
    float* state = state_ + k * width_;
    for (int64_t h = 0; h < width_; h += kLanes) {
      const Vec a = load(state + h) + load_columns(row, h, hidden_);
      store(state + h, a);
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
