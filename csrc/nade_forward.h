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

// A tile's rows of exp(-W), padded with ones to whole vectors. Row by row, as they lie in memory;
// the columns' sums then find the tile in cache.
inline void prepare_tile(const NadeForward& args, int64_t tile) {
  const int64_t hidden = args.shape.hidden, width = padded(hidden), from = tile * kTile;
  const int64_t to = from + kTile < args.shape.units ? from + kTile : args.shape.units;
  for (int64_t unit = from; unit < to; ++unit) {
    for (int64_t h = 0; h < width; h += kLanes) {
      const Vec W = load_columns(args.W + unit * hidden, h, hidden);
      store(args.factors + unit * width + h, clamped_exponential(-W));
    }
  }
  Mask unbounded{};
  for (int64_t h = 0; h < width; h += kLanes) {
    Vec change{};
    for (int64_t unit = from; unit < to; ++unit) {
      change += magnitude(load_columns(args.W + unit * hidden, h, hidden));
    }
    unbounded |= ~(change < broadcast(kBound));
  }
  args.bounded[tile] = !any(unbounded);
}

// Hidden layers lie side by side, a vector of each sample after another: all are then at fixed
// distances from one address, where an address for each would be more than there are registers.
class NadeWalk {
 public:
  static int64_t scratch(const NadeShape& shape) { return 2 * kNadeBlock * padded(shape.hidden); }

  NadeWalk(const NadeForward& args, int64_t first, int64_t last, float* scratch)
      : args_(args), count_(last - first), hidden_(args.shape.hidden), width_(padded(hidden_)) {
    state_ = scratch;
    sigmoid_ = state_ + kNadeBlock * width_;
    for (int64_t k = 0; k < count_; ++k) samples_[k] = sample(first + k);
  }

  void run() {
    const int64_t units = args_.shape.units;
    // The last group may reach beyond the samples, into zeros.
    std::memset(sigmoid_, 0, kNadeBlock * width_ * sizeof(float));
    for (int64_t k = 0; k < count_; ++k) start(k);
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
  static_assert(kNadeBlock == 2 * kGroup);

  using Samples = uint32_t;  // bit k for the k-th sample of the block

  struct Sample {
    const float* a;
    const float* c;
    const float* noise;
    const float* x;
    float* drawn;
    float* logits;
    float* last;
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
            args_.last + n * hidden_};
  }

  // Where columns h, h+1, ... of the k-th sample are.
  static int64_t place(int64_t k, int64_t h) { return h * kNadeBlock + k * kLanes; }

  void start(int64_t k) {
    for (int64_t h = 0; h < width_; h += kLanes) {
      const Vec inverse_odds = clamped_exponential(-load_columns(samples_[k].a, h, hidden_));
      store(state_ + place(k, h), inverse_odds);
      store(sigmoid_ + place(k, h), sigmoid_of(inverse_odds));
    }
    check_range(k, 0);
  }

  void predict(int64_t unit) {
    const Samples ones = count_ > kGroup ? predict<2>(unit) : predict<1>(unit);
    if (ones) absorb(ones, unit);
  }

  // Row `unit` of V against the hidden layers of some groups of samples; whose unit is a one.
  template <int Groups>
  Samples predict(int64_t unit) {
    const int64_t whole = hidden_ / kLanes * kLanes;
    const float* row = args_.V + unit * hidden_;
    const float* hidden = sigmoid_;
    Vec total[Groups][kGroup] = {};
    const auto add = [&](Vec v, int64_t h) {
      for (int j = 0; j < Groups * kGroup; ++j) {
        total[j / kGroup][j % kGroup] += v * load(hidden + place(j, h));
      }
    };
    for (int64_t h = 0; h < whole; h += kLanes) add(load(row + h), h);
    if (whole < hidden_) add(load_first(row + whole, hidden_ - whole), whole);
    float effects[Groups * kGroup];
    for (int group = 0; group < Groups; ++group) sum_four(total[group], effects + group * kGroup);
    Samples ones = 0;
    for (int j = 0; j < Groups * kGroup && j < count_; ++j) {
      ones |= Samples{decide(samples_[j], unit, effects[j])} << j;
    }
    return ones;
  }

  bool decide(Sample& sample, int64_t unit, float effect) const {
    const float logit = sample.c ? effect + sample.c[unit] : effect;
    sample.logits[unit] = logit;
    if (!sample.drawn) return sample.x[unit] != 0;
    // No branch: whether a drawn unit is a one cannot be foreseen.
    const bool one = (unit >= sample.resume) & (logit > sample.noise[unit]);
    const uint32_t bits = one * 0x3f800000u;  // of 1.0f; AVX-512's conversion is slow
    std::memcpy(sample.drawn + unit, &bits, sizeof bits);
    return one;
  }

  void absorb(Samples ones, int64_t unit) {
    if (args_.following) skip_groups(ones, unit);
    for (Samples additive = ones & additive_; additive; additive &= additive - 1) {
      absorb_additively(__builtin_ctz(additive), unit);
    }
    Samples rest = ones & ~additive_;
    changed_ |= rest;
    while (rest & (rest - 1)) {
      const int first = __builtin_ctz(rest);
      rest &= rest - 1;
      multiply<2>({first, __builtin_ctz(rest)}, unit);
      rest &= rest - 1;
    }
    if (rest) multiply<1>({__builtin_ctz(rest)}, unit);
  }

  void skip_groups(Samples ones, int64_t unit) {
    for (; ones; ones &= ones - 1) samples_[__builtin_ctz(ones)].resume = args_.following[unit];
  }

  template <int N>
  void multiply(const int (&samples)[N], int64_t unit) {
    const int64_t width = width_;
    const float* factor = args_.factors + unit * width;
    float *state[N], *hidden[N];
    for (int j = 0; j < N; ++j) {
      state[j] = state_ + place(samples[j], 0);
      hidden[j] = sigmoid_ + place(samples[j], 0);
    }
    for (int64_t h = 0; h < width; h += kLanes) {
      const Vec change = load(factor + h);
      for (int j = 0; j < N; ++j) {
        const Vec product = load(state[j]) * change;
        store(state[j], product);
        store(hidden[j], sigmoid_of(product));
        state[j] += kNadeBlock * kLanes, hidden[j] += kNadeBlock * kLanes;
      }
    }
  }

  void finish(int64_t k) {
    for (int64_t h = 0; h < width_; h += kLanes) {
      const Vec state = load(state_ + place(k, h));
      store_columns(samples_[k].last, h, hidden_, is_additive(k) ? state : -logarithm(state));
    }
  }

  void check_range(int64_t seen) {
    for (Samples left = changed_ & ~additive_; left; left &= left - 1) {
      check_range(__builtin_ctz(left), seen);
    }
    changed_ = 0;
  }

  void check_range(int64_t k, int64_t seen) {
    Vec low = load(state_ + place(k, 0)), high = low;
    for (int64_t h = kLanes; h < width_; h += kLanes) {
      const Vec inverse_odds = load(state_ + place(k, h));
      low = smaller(low, inverse_odds);
      high = larger(high, inverse_odds);
    }
    if (!all_safe(low, high)) go_additive(k, seen);
  }

  void leave_products(int64_t seen) {
    for (int64_t k = 0; k < count_; ++k) {
      if (!is_additive(k)) go_additive(k, seen);
    }
  }

  WAKESLEEP_COLD void go_additive(int64_t k, int64_t seen) {
    additive_ |= Samples{1} << k;
    for (int64_t h = 0; h < width_; h += kLanes) {
      const Vec a = pre_activation(samples_[k].a, args_.W, samples_[k].x, seen, h, hidden_);
      store(state_ + place(k, h), a);
      store(sigmoid_ + place(k, h), logistic(a));
    }
  }

  WAKESLEEP_COLD void absorb_additively(int64_t k, int64_t unit) {
    const float* row = args_.W + unit * hidden_;
    for (int64_t h = 0; h < width_; h += kLanes) {
      const Vec a = load(state_ + place(k, h)) + load_columns(row, h, hidden_);
      store(state_ + place(k, h), a);
      store(sigmoid_ + place(k, h), logistic(a));
    }
  }

  bool is_additive(int64_t k) const { return additive_ >> k & 1; }

  const NadeForward& args_;
  const int64_t count_, hidden_, width_;
  Sample samples_[kNadeBlock];
  Samples additive_ = 0;
  Samples changed_ = 0;  // since their range was last checked
  float* state_;  // exp(-a), or a once the sample is additive
  float* sigmoid_;
};

}  // namespace
}  // namespace wakesleep
