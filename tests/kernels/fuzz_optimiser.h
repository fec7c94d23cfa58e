// A step of an optimiser, fuzzed as the other kernels; included by fuzz.cc for its helpers.
#pragma once

struct FuzzedParameter {
  Array gradient, value, average, first, second;
  double rate;

  FuzzedParameter() : rate(std::abs(normal(1, 0.1f)[0])) {
    const int64_t sizes[] = {0, 1, between(0, 100), between(4000, 9000)};
    const int64_t size = sizes[between(0, 3)];
    for (Array* array : {&gradient, &value, &average, &first}) *array = normal(size, 1);
    second = normal(size, 1);
    for (float& square : second) square *= square;
  }
};

// Moves `parameter`'s arrays as the kernel should, in double precision.
struct ExpectedStep {
  std::vector<double> value, average, first, second;
  double squares = 0;

  ExpectedStep(const OptimiserRule& rule, const FuzzedParameter& parameter) {
    for (size_t at = 0; at < parameter.value.size(); ++at) {
      const double gradient = parameter.gradient[at], scaled = gradient * rule.gradient_scale;
      const double kept = rule.first_decay, decayed = rule.weight_decay * double{parameter.value[at]};
      double update = -parameter.rate * (scaled + decayed);
      first.push_back(kept * parameter.first[at] + rule.first_share * (rule.adam ? scaled : update));
      second.push_back(rule.second_decay * double{parameter.second[at]} +
                       rule.second_share * scaled * scaled);
      const double size = std::sqrt(second[at] * rule.second_correction) + rule.epsilon;
      update = rule.adam ? -parameter.rate * (first[at] * rule.first_correction / size + decayed)
                         : first[at];
      value.push_back(parameter.value[at] + update);
      average.push_back(parameter.average[at] +
                        rule.average_weight * (value[at] - parameter.average[at]));
      squares += gradient * gradient;
    }
  }
};

void fuzz_optimiser_step(const Kernels& kernels, Workers& workers) {
  const float weights[] = {1.0f, 0.02f};
  const OptimiserRule rule{between(0, 1) == 1, 0.9f, 0.1f, 0.999f, 0.001f, 1e-8f, 2.0f, 0.01f, 1.3f, 1.1f,
                           weights[between(0, 1)]};
  std::vector<FuzzedParameter> before(between(0, 5)), after = before;
  std::vector<Parameter> parameters;
  Array squares(before.size());
  for (size_t at = 0; at < before.size(); ++at) {
    // In place or not.
    FuzzedParameter &to = after[at], &from = between(0, 1) ? before[at] : to;
    parameters.push_back({static_cast<int64_t>(to.value.size()), static_cast<float>(to.rate),
                          to.gradient.data(), {from.value.data(), to.value.data()},
                          {from.average.data(), to.average.data()},
                          {from.first.data(), to.first.data()},
                          {rule.adam ? from.second.data() : nullptr,
                           rule.adam ? to.second.data() : nullptr}});
  }
  run_optimiser_step(
      kernels, {rule, parameters.data(), static_cast<int64_t>(parameters.size()), squares.data()},
      workers);
  for (size_t at = 0; at < before.size(); ++at) {
    const ExpectedStep expected(rule, before[at]);
    check("parameters", after[at].value, expected.value);
    check("averages", after[at].average, expected.average);
    check("first moments", after[at].first, expected.first);
    if (rule.adam) check("second moments", after[at].second, expected.second);
    check("squares", {squares[at]}, {expected.squares});
  }
}
