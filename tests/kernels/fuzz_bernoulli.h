// Independent bits, fuzzed as the other kernels; included by fuzz.cc for its helpers.
#pragma once

struct Bits {
  int64_t repeat_x, repeat_logits, samples, units;
  Array x, logits, g;

  Bits() : repeat_x(between(1, 6)), repeat_logits(between(1, 6)), units(between(0, 90)) {
    samples = between(0, 4) * repeat_x * repeat_logits;
    const float scales[] = {0.1f, 3.0f, 90.0f};
    x = bits(samples / repeat_x * units, 0.5);
    logits = normal(samples / repeat_logits * units, scales[between(0, 2)]);
    g = normal(samples, 1);
  }

  double logit(int64_t n, int64_t i) const { return logits[n / repeat_logits * units + i]; }
};

double softplus(double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))); }

void fuzz_bernoulli_log_prob(const Kernels& kernels, const Bits& bits, Workers& workers) {
  Array log_prob(bits.samples), dlogits(bits.logits.size());
  const Rows x{bits.x.data(), bits.units, bits.repeat_x};
  const Rows logits{bits.logits.data(), bits.units, bits.repeat_logits};
  run_bernoulli_log_prob(kernels, {bits.samples, bits.units, x, logits, log_prob.data()}, workers);
  run_bernoulli_gradient(kernels,
                         {bits.samples / bits.repeat_logits, bits.units, x, logits, bits.g.data(),
                          dlogits.data()},
                         workers);
  std::vector<double> want(bits.samples), want_dlogits(dlogits.size());
  for (int64_t at = 0; at < bits.samples * bits.units; ++at) {
    const int64_t n = at / bits.units, i = at % bits.units;
    const double sign = 2 * x[n][i] - 1, z = sign * bits.logit(n, i);
    want[n] -= softplus(-z);
    want_dlogits[n / bits.repeat_logits * bits.units + i] += bits.g[n] * sign / (1 + std::exp(z));
  }
  check("log-probabilities", log_prob, want);
  check("their gradient", dlogits, want_dlogits);
}

// The noise is held to the reference by the Python tests; the draws are held to the noise here.
void fuzz_bernoulli_sample(const Kernels& kernels, const Bits& bits, Workers& workers) {
  const WordSource source{{static_cast<uint32_t>(generator()), static_cast<uint32_t>(generator())}};
  const int64_t size = bits.samples * bits.units;
  Array drawn(size), noise(size), log_prob(bits.samples);
  run_logistic_noise(kernels, {source, size, noise.data()}, workers);
  const Rows logits{bits.logits.data(), bits.units, bits.repeat_logits};
  run_bernoulli_sample(
      kernels, {source, bits.samples, bits.units, logits, drawn.data(), log_prob.data()}, workers);
  std::vector<double> want(bits.samples);
  for (int64_t at = 0; at < size; ++at) {
    const int64_t n = at / bits.units;
    const double logit = bits.logit(n, at % bits.units), distance = logit - noise[at];
    want[n] -= softplus((1 - 2 * drawn[at]) * logit);
    if (drawn[at] != (distance > 0) && std::abs(distance) > 1e-5 * (1 + std::abs(logit))) {
      std::printf("drawn[%ld] is %g\n", static_cast<long>(at), drawn[at]);
      std::exit(1);
    }
  }
  check("log-probabilities of draws", log_prob, want);
}

// Shares have the words of the whole, also where a share begins among high words and ends among low.
void fuzz_shares(const Kernels& kernels, Workers& workers) {
  const Key key{static_cast<uint32_t>(generator()), static_cast<uint32_t>(generator())};
  const uint32_t shares = static_cast<uint32_t>(between(2, 5));
  const int64_t count = between(1, 300);
  Array whole(count * shares), part(count);
  run_logistic_noise(kernels, {{key}, count * shares, whole.data()}, workers);
  for (uint32_t share = 0; share < shares; ++share) {
    run_logistic_noise(kernels, {{key, share, shares}, count, part.data()}, workers);
    check("noise of a share", part, {whole.begin() + share * count, whole.begin() + (share + 1) * count});
  }
}

// The first and second words of keys known to give a word that needs refining.
void fuzz_rare_words(const Kernels& kernels, Workers& workers) {
  for (const uint32_t seed : {4940u, 5197u, 9131u, 36840u}) {
    Array noise(4099);
    run_logistic_noise(kernels, {{{0, seed}}, 4099, noise.data()}, workers);
    float largest = 0;
    for (float value : noise) largest = std::max(largest, std::abs(value));
    if (largest < 16.5f) {
      std::printf("no rare word under key %u\n", seed);
      std::exit(1);
    }
  }
}
