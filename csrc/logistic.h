// Logistic noise from random words, and Bernoulli draws that need no noise to be written down.
//
// A word is one sign bit and 31 bits of a tail probability t in (0, 1/2); the noise is
// -+log(t / (1 - t)). Where those bits are too coarse, a word of a second stream extends them.
#pragma once

#include "bernoulli.h"
#include "threefry.h"

namespace wakesleep {
namespace {

constexpr uint32_t kCoarse = 1 << 8;
constexpr float kTailUnit = 0x1p-32f;

// t / kTailUnit of vectors of words from one array.
class Tails {
 public:
  Tails(const WordSource& source, int64_t count) : source_(source), count_(count) {}

  // `at` is the place of the first word in the array; lanes from `lanes` on hold none.
  Vec operator()(Words words, int64_t at, int64_t lanes) const {
    const Words upper = words >> 1;
    const Vec tail = __builtin_convertvector((Mask)upper, Vec);
    const Mask coarse = (Mask)within((Vec)((Mask)upper < static_cast<int32_t>(kCoarse)), lanes);
    if (__builtin_expect(any(coarse), 0)) return refined(tail, coarse, at);
    return tail + 0.5f;
  }

 private:
  WAKESLEEP_COLD Vec refined(Vec tail, Mask coarse, int64_t at) const {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      float extension = 0.5f;
      if (coarse[lane]) {
        const uint32_t word = random_word(source_, 1, count_, at + lane);
        extension = (static_cast<float>(word) + 0.5f) * kTailUnit;
      }
      tail[lane] += extension;
    }
    return tail;
  }

  WordSource source_;
  int64_t count_;
};

// All bits where the noise is negative.
inline Mask pushes_up(Words words) { return (Mask)(words << 31) >> 31; }

inline void write_noise(const LogisticNoise& args, int64_t first, int64_t last) {
  const Tails tails(args.source, args.count);
  for_words(args.source, args.count, first, last, [&](Words words, int64_t at, int64_t lanes) {
    const Vec tail = tails(words, at, lanes) * kTailUnit;
    const Vec quantile = logarithm(tail * reciprocal(1.0f - tail));
    const Vec noise = (Vec)((Mask)quantile ^ (~pushes_up(words) & INT32_MIN));
    store_part(args.noise + at, noise, lanes);
  });
}

// Random words where the draws will be.
inline void write_words(const BernoulliSample& args, int64_t first, int64_t last) {
  for_words(args.source, args.samples * args.units, first, last,
            [&](Words words, int64_t at, int64_t lanes) {
              store_part(args.drawn + at, (Vec)words, lanes);
            });
}

// Draws in two steps: what depends on the logits alone is shared by the samples they serve.
class BernoulliDraw {
 public:
  BernoulliDraw(const BernoulliSample& args, float* tails)
      : args_(args),
        units_(args.units),
        tails_(tails),
        words_(args.source, args.samples * args.units) {}

  void run(int64_t first, int64_t last) {
    for (int64_t n = first; n < last; ++n) {
      if (n == first || n % args_.logits.repeat == 0) prepare(args_.logits[n]);
      args_.log_prob[n] = -(likeliest_ + draw(n));
    }
  }

 private:
  // The tail probability of each unit's less likely value, and minus the log-probability that
  // every unit takes the likelier one.
  void prepare(const float* logits) {
    SoftplusSum total;
    for (int64_t i = 0; i < units_; i += kLanes) {
      const int64_t lanes = units_ - i;
      const Vec odds = within(decay(magnitude(load_part(logits + i, lanes))), lanes);
      store(tails_ + i, odds * reciprocal(1.0f + odds) * (1 / kTailUnit));
      total.add_decay(odds);
    }
    likeliest_ = total.sum();
  }

  // Turns words into bits; the sum of |logit| over the units that took their less likely value.
  float draw(int64_t n) {
    const float* logits = args_.logits[n];
    float* drawn = args_.drawn + n * units_;
    Vec total{};
    for (int64_t i = 0; i < units_; i += kLanes) {
      const int64_t lanes = units_ - i;
      const Vec logit = load_part(logits + i, lanes);
      const Words words = (Words)load_part(drawn + i, lanes);
      const Mask likelier = logit > broadcast(0);
      const Mask rare = words_(words, n * units_ + i, lanes) < load(tails_ + i);
      const Mask unlikely = rare & (pushes_up(words) ^ likelier);
      total += (Vec)(unlikely & (Mask)magnitude(logit));
      store_part(drawn + i, (Vec)((likelier ^ unlikely) & (Mask)broadcast(1)), lanes);
    }
    return sum(total);
  }

  const BernoulliSample& args_;
  const int64_t units_;
  float* tails_;
  const Tails words_;
  float likeliest_;
};

}  // namespace
}  // namespace wakesleep
