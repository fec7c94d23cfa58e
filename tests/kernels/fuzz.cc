// The kernels without XLA, on random shapes in exactly sized memory, against plain loops in
// double precision. Built with sanitizers by fuzz.sh; says what it found and fails on the first
// difference.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "../../csrc/drivers.h"
#include "../../csrc/pool_workers.h"

using namespace wakesleep;
using Array = std::vector<float>;

// Threads that run what they are given, at once.
class Pool {
 public:
  explicit Pool(int64_t threads) : threads_(threads) {}
  ~Pool() {
    for (std::thread& helper : helpers_) helper.join();
  }
  int64_t num_threads() const { return threads_; }
  template <typename Task>
  void Schedule(Task task) {
    helpers_.emplace_back(std::move(task));
  }

 private:
  int64_t threads_;
  std::vector<std::thread> helpers_;
};

std::mt19937 generator(1), group_generator(2);

int64_t between(int64_t low, int64_t high, std::mt19937& from = generator) {
  return std::uniform_int_distribution<int64_t>(low, high)(from);
}

Array normal(int64_t size, float scale) {
  std::normal_distribution<float> draw(0, 1);
  Array values(size);
  for (float& value : values) value = scale * draw(generator);
  return values;
}

Array bits(int64_t size, double ones) {
  std::bernoulli_distribution draw(ones);
  Array values(size);
  for (float& value : values) value = draw(generator);
  return values;
}

// Where drawing goes on after a one, for groups of random sizes; nothing, half of the time.
std::vector<int32_t> random_groups(int64_t units) {
  std::vector<int32_t> following;
  if (between(0, 1, group_generator)) return following;
  while (static_cast<int64_t>(following.size()) < units) {
    const int64_t first = following.size(), end = std::min(units, first + between(1, 40, group_generator));
    following.insert(following.end(), end - first, static_cast<int32_t>(end));
  }
  return following;
}

// Every unit that may be a one is decided by its noise, and every other is 0.
void check_draws(const Array& drawn, const Array& logits, const Array& noise,
                 const std::vector<int32_t>& following, int64_t units) {
  int64_t resume = 0;
  for (size_t at = 0; at < drawn.size(); ++at) {
    const int64_t unit = at % units;
    if (unit == 0) resume = 0;
    if (drawn[at] != (unit >= resume && logits[at] > noise[at])) std::exit(1);
    if (drawn[at] != 0) resume = following.empty() ? unit + 1 : following[unit];
  }
}

void check(const char* what, const Array& actual, const std::vector<double>& expected) {
  // The problems' own scale: where every hidden unit is saturated a gradient of exactly zero is
  // met to round-off of the terms it is made of, which are of order one.
  double scale = 0.01;
  for (double value : expected) scale = std::max(scale, std::abs(value));
  for (size_t at = 0; at < expected.size(); ++at) {
    if (std::abs(actual[at] - expected[at]) <= 1e-4 * scale) continue;
    std::printf("%s[%zu] is %g, not %g\n", what, at, actual[at], expected[at]);
    std::exit(1);
  }
}

struct Nade {
  int64_t samples, units, hidden, repeat;
  Array x, a, c, W, V, g;

  Nade()
      : samples(between(0, 4)), units(between(0, 90)), hidden(between(1, 70)) {
    repeat = between(0, 1) ? 1 : between(2, 9);
    // At 25 some hidden units leave, on their way, the range where products are exact.
    const float scales[] = {0.1f, 1.0f, 25.0f, 60.0f};
    const float scale = scales[between(0, 3)], weight = scale == 25.0f ? 1.0f : scale;
    const double ones[] = {0.0, 0.13, 0.5, 1.0};
    x = bits(samples * units, ones[between(0, 3)]);
    a = normal(samples * repeat * hidden, scale);
    c = normal(samples * units, 1);
    W = normal(units * hidden, weight);
    V = normal(units * hidden, 1);
    g = normal(samples * repeat * units, 1);
    samples *= repeat;
  }

  double pre_activation(const float* row, int64_t n, int64_t unit, int64_t h) const {
    double total = a[n * hidden + h];
    for (int64_t j = 0; j < unit; ++j) total += row[j] * W[j * hidden + h];
    return total;
  }

  std::vector<double> last() const {
    std::vector<double> result(samples * hidden);
    for (int64_t at = 0; at < samples * hidden; ++at) {
      const int64_t n = at / hidden;
      result[at] = pre_activation(x.data() + n / repeat * units, n, units, at % hidden);
    }
    return result;
  }

  double sigmoid(const float* row, int64_t n, int64_t unit, int64_t h) const {
    return 1 / (1 + std::exp(-pre_activation(row, n, unit, h)));
  }

  std::vector<double> effects(const float* rows, int64_t rows_repeat) const {
    std::vector<double> result(samples * units);
    for (int64_t n = 0; n < samples; ++n) {
      for (int64_t i = 0; i < units; ++i) {
        for (int64_t h = 0; h < hidden; ++h) {
          result[n * units + i] +=
              V[i * hidden + h] * sigmoid(rows + n / rows_repeat * units, n, i, h);
        }
      }
    }
    return result;
  }
};

void fuzz_nade_logits(const Kernels& kernels, const Nade& nade, Workers& workers) {
  Array logits(nade.samples * nade.units), last(nade.samples * nade.hidden);
  NadeForward args{};
  args.shape = {nade.samples, nade.units, nade.hidden};
  args.x = {nade.x.data(), nade.units, nade.repeat};
  args.a = {nade.a.data(), nade.hidden, 1};
  args.W = nade.W.data();
  args.V = nade.V.data();
  args.logits = logits.data();
  args.last = last.data();
  run_nade_forward(kernels, args, workers);
  check("logits", logits, nade.effects(nade.x.data(), nade.repeat));
  check("last", last, nade.last());
}

void fuzz_nade_sample(const Kernels& kernels, const Nade& nade, Workers& workers) {
  Array drawn(nade.samples * nade.units), logits(drawn.size()), last(nade.samples * nade.hidden);
  NadeForward args{};
  args.shape = {nade.samples, nade.units, nade.hidden};
  args.a = {nade.a.data(), nade.hidden, 1};
  args.c = {nade.c.data(), nade.units, nade.repeat};
  args.noise = nade.g.data();
  args.W = nade.W.data();
  args.V = nade.V.data();
  args.drawn = drawn.data();
  args.logits = logits.data();
  args.last = last.data();
  const std::vector<int32_t> following = random_groups(nade.units);
  args.following = following.empty() ? nullptr : following.data();
  run_nade_forward(kernels, args, workers);
  std::vector<double> expected = nade.effects(drawn.data(), 1);
  for (int64_t at = 0; at < nade.samples * nade.units; ++at) {
    const int64_t n = at / nade.units;
    expected[at] += nade.c[n / nade.repeat * nade.units + at % nade.units];
  }
  check_draws(drawn, logits, nade.g, following, nade.units);
  check("sampled logits", logits, expected);
}

void fuzz_nade_gradient(const Kernels& kernels, const Nade& nade, Workers& workers) {
  Array da(nade.samples * nade.hidden), dW(nade.units * nade.hidden), dV(nade.units * nade.hidden);
  NadeGradient args{};
  args.shape = {nade.samples, nade.units, nade.hidden};
  const std::vector<double> end = nade.last();
  const Array last(end.begin(), end.end());
  args.x = {nade.x.data(), nade.units, nade.repeat};
  args.last = last.data();
  args.g = nade.g.data();
  args.W = nade.W.data();
  args.V = nade.V.data();
  args.da = da.data();
  args.dW = dW.data();
  args.dV = dV.data();
  run_nade_gradient(kernels, args, workers);

  std::vector<double> want_da(da.size()), want_dW(dW.size()), want_dV(dV.size());
  for (int64_t n = 0; n < nade.samples; ++n) {
    const float* x = nade.x.data() + n / nade.repeat * nade.units;
    for (int64_t h = 0; h < nade.hidden; ++h) {
      double& total = want_da[n * nade.hidden + h];
      for (int64_t i = nade.units - 1; i >= 0; --i) {
        const int64_t at = i * nade.hidden + h;
        const double s = nade.sigmoid(x, n, i, h), weight = nade.g[n * nade.units + i];
        want_dW[at] += x[i] * total;
        want_dV[at] += weight * s;
        total += weight * nade.V[at] * s * (1 - s);
      }
    }
  }
  check("da", da, want_da);
  check("dW", dW, want_dW);
  check("dV", dV, want_dV);
}

void fuzz_ar_sbn(const Kernels& kernels, Workers& workers) {
  const int64_t samples = between(0, 150), units = between(0, 60), size = samples * units;
  const Array noise = normal(size, 2), c = normal(size, 1), S = normal(units * units, 1);
  Array drawn(size), logits(size);
  const std::vector<int32_t> following = random_groups(units);
  const ArSbnSample args{samples,      units,         {c.data(), units, 1}, noise.data(), S.data(),
                         drawn.data(), logits.data(), following.empty() ? nullptr : following.data()};
  run_ar_sbn_sample(kernels, args, workers);
  std::vector<double> expected(size);
  for (int64_t at = 0; at < size; ++at) {
    const int64_t n = at / units, i = at % units;
    expected[at] = c[at];
    for (int64_t j = 0; j < i; ++j) expected[at] += S[i * units + j] * drawn[n * units + j];
  }
  check_draws(drawn, logits, noise, following, units);
  check("AR-SBN logits", logits, expected);
}

void fuzz_affine_update(const Kernels& kernels, Workers& workers) {
  const int64_t samples = between(0, 9), units = between(0, 90), parents = between(0, 70);
  const double ones[] = {0.0, 0.5, 1.0};
  const Array W = normal(parents * units, 1), outputs = normal(samples * units, 1);
  const Array before = bits(samples * parents, 0.5), after = bits(samples * parents, ones[between(0, 2)]);
  Array moved(samples * units);
  run_affine_update(kernels,
                  {samples, units, parents, outputs.data(), before.data(), after.data(), W.data(),
                   moved.data()},
                  workers);
  std::vector<double> expected(outputs.begin(), outputs.end());
  for (int64_t at = 0; at < samples * units; ++at) {
    const int64_t n = at / units;
    for (int64_t j = 0; j < parents; ++j) {
      const double step = after[n * parents + j] - before[n * parents + j];
      expected[at] += step * W[j * units + at % units];
    }
  }
  check("moved outputs", moved, expected);
}

#include "fuzz_bernoulli.h"
#include "fuzz_bits.h"
#include "fuzz_optimiser.h"

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 200;
  for (const char* name : {"avx512", "avx2", "baseline"}) {
    const Kernels* kernels = find_kernels(name);
    if (!kernels) {
      std::printf("%s: not on this processor\n", name);
      continue;
    }
    for (int round = 0; round < rounds; ++round) {
      Pool pool(between(1, 4));
      PoolWorkers<Pool> workers(pool);
      const Nade nade;
      fuzz_nade_logits(*kernels, nade, workers);
      fuzz_nade_sample(*kernels, nade, workers);
      fuzz_nade_gradient(*kernels, nade, workers);
      fuzz_ar_sbn(*kernels, workers);
      const Bits bits;
      fuzz_bernoulli_log_prob(*kernels, bits, workers);
      fuzz_bernoulli_sample(*kernels, bits, workers);
      fuzz_shares(*kernels, workers);
      fuzz_affine_update(*kernels, workers);
      const BitRows rows;
      fuzz_bit_affine(*kernels, rows, workers);
      fuzz_bit_outer(*kernels, rows, workers);
      fuzz_optimiser_step(*kernels, workers);
      if (round == 0) fuzz_rare_words(*kernels, workers);
    }
    std::printf("%s: %d rounds right\n", name, rounds);
  }
}
