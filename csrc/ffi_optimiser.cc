// The optimiser's step as an XLA FFI handler.
#include "ffi.h"

#include <vector>

namespace wakesleep {
namespace {

// After rates and scales come all gradients, values, averages, first and (Adam's) second moments;
// the results after the squares are these but the gradients, in the same order.
ffi::Error optimiser_step(ffi::ThreadPool pool, Array rates, Array scales,
                          ffi::RemainingArgs arrays, Result squares, ffi::RemainingRets moved,
                          bool adam, double first_decay, double second_decay, float epsilon) {
  const int64_t count = rates.element_count();
  const size_t kinds = adam ? 5 : 4;
  if (arrays.size() != kinds * count || moved.size() != (kinds - 1) * count) {
    return ffi::Error::InvalidArgument("an array is missing for some parameter");
  }
  std::vector<Parameter> parameters(count);
  for (int64_t at = 0; at < count; ++at) {
    const auto array = [&](int64_t kind) { return *arrays.get<Array>(kind * count + at); };
    const auto pair = [&](int64_t kind) {
      auto result = *moved.get<Array>((kind - 1) * count + at);
      return Moved{array(kind).typed_data(), result->typed_data()};
    };
    const Array gradient = array(0);
    parameters[at] = {static_cast<int64_t>(gradient.element_count()), rates.typed_data()[at],
                      gradient.typed_data(), pair(1), pair(2), pair(3),
                      adam ? pair(4) : Moved{nullptr, nullptr}};
  }
  const float* scale = scales.typed_data();
  const auto rounded = [](double value) { return static_cast<float>(value); };
  const OptimiserRule rule{adam,
                           rounded(first_decay),
                           rounded(1 - first_decay),
                           rounded(second_decay),
                           rounded(1 - second_decay),
                           epsilon,
                           scale[0],
                           scale[1],
                           scale[2],
                           scale[3],
                           scale[4]};
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_optimiser_step(kernels_in_use(), {rule, parameters.data(), count, squares->typed_data()}, workers);
  return ffi::Error::Success();
}

}  // namespace
}  // namespace wakesleep

#pragma GCC visibility push(default)

using wakesleep::Array;

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_optimiser_step, wakesleep::optimiser_step,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .RemainingArgs()
                                  .Ret<Array>()
                                  .RemainingRets()
                                  .Attr<bool>("adam")
                                  .Attr<double>("first_decay")
                                  .Attr<double>("second_decay")
                                  .Attr<float>("epsilon"));

#pragma GCC visibility pop
