// Decay, Adam or damped momentum, the update and the moving average, in one pass over a parameter.
#pragma once

#include "kernels.h"
#include "vector.h"

namespace wakesleep {
namespace {

template <bool kAdam, bool kAverage>
class ParameterMover {
 public:
  ParameterMover(const OptimiserRule& rule, const Parameter& parameter)
      : rule_(rule), parameter_(parameter) {}

  // Elements [first, last); the sum of the squares of their gradients.
  float run(int64_t first, int64_t last) const {
    Vec squares{};
    int64_t at = first;
    for (; at + kLanes <= last; at += kLanes) {
      squares += move(
          at, [](const float* from) { return load(from); },
          [](float* to, Vec value) { store(to, value); });
    }
    if (const int64_t rest = last - at) {
      squares += move(
          at, [rest](const float* from) { return load_first(from, rest); },
          [rest](float* to, Vec value) { store_first(to, value, rest); });
    }
    return sum(squares);
  }

 private:
  template <typename Load, typename Store>
  Vec move(int64_t at, const Load& load, const Store& store) const {
    const Vec gradient = load(parameter_.gradient + at);
    const Vec before = load(parameter_.value.before + at);
    const Vec after = before - step(at, gradient * rule_.gradient_scale, before, load, store);
    store(parameter_.value.after + at, after);
    if constexpr (kAverage) {
      const Vec average = load(parameter_.average.before + at);
      store(parameter_.average.after + at, average + rule_.average_weight * (after - average));
    } else {
      store(parameter_.average.after + at, after);
    }
    return gradient * gradient;
  }

  template <typename Load, typename Store>
  Vec step(int64_t at, Vec gradient, Vec value, const Load& load, const Store& store) const {
    const float kept = rule_.first_decay;
    const Vec first = load(parameter_.first.before + at);
    if constexpr (kAdam) {
      const Vec mean = rule_.first_share * gradient + kept * first;
      const Vec square = rule_.second_share * (gradient * gradient) +
                         rule_.second_decay * load(parameter_.second.before + at);
      store(parameter_.first.after + at, mean);
      store(parameter_.second.after + at, square);
      const Vec scale = square_root(square * rule_.second_correction) + rule_.epsilon;
      const Vec direction = mean * rule_.first_correction / scale;
      return parameter_.rate * (direction + rule_.weight_decay * value);
    } else {
      const Vec scaled = parameter_.rate * (gradient + rule_.weight_decay * value);
      // Kept with the sign of an update, as Optax does.
      const Vec mean = kept * first - rule_.first_share * scaled;
      store(parameter_.first.after + at, mean);
      return -mean;
    }
  }

  const OptimiserRule& rule_;
  const Parameter& parameter_;
};

template <bool kAdam>
float move_parameter_by(const OptimiserRule& rule, const Parameter& parameter, int64_t first,
                        int64_t last) {
  if (rule.average_weight == 1) return ParameterMover<kAdam, false>(rule, parameter).run(first, last);
  return ParameterMover<kAdam, true>(rule, parameter).run(first, last);
}

inline float move_parameter(const OptimiserRule& rule, const Parameter& parameter, int64_t first,
                            int64_t last) {
  if (rule.adam) return move_parameter_by<true>(rule, parameter, first, last);
  return move_parameter_by<false>(rule, parameter, first, last);
}

}  // namespace
}  // namespace wakesleep
