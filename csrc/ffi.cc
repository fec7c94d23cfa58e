// The kernels as XLA FFI handlers, on XLA's own threads.
#include "xla/ffi/api/ffi.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "drivers.h"
#include "pool_workers.h"

namespace ffi = xla::ffi;

namespace wakesleep {
namespace {

using Array = ffi::Buffer<ffi::F32>;
using Result = ffi::ResultBuffer<ffi::F32>;
using KeyData = ffi::Buffer<ffi::U32>;
using Units = ffi::Buffer<ffi::S32>;

std::atomic<const Kernels*> kernels{nullptr};

// Arrays come with any number of leading dimensions, which are all samples.
int64_t width(const Array& array) { return array.dimensions().back(); }

int64_t height(const Array& array) {
  int64_t product = 1;
  for (size_t axis = 0; axis + 1 < array.dimensions().size(); ++axis) {
    product *= array.dimensions()[axis];
  }
  return product;
}

// An operand of R rows serves N samples, N / R consecutive ones per row.
Rows rows(const Array& array, int64_t samples) {
  const int64_t repeat = height(array) ? samples / height(array) : 1;
  return {array.typed_data(), width(array), std::max<int64_t>(repeat, 1)};
}

NadeShape nade_shape(const Array& like_x, const Array& W) {
  return {height(like_x), width(like_x), width(W)};
}

ffi::Error nade_logits(ffi::ThreadPool pool, Array x, Array a, Array W, Array V,
                       Result logits, Result last) {
  NadeForward args{};
  args.shape = nade_shape(*logits, W);
  args.x = rows(x, args.shape.samples);
  args.a = rows(a, args.shape.samples);
  args.W = W.typed_data();
  args.V = V.typed_data();
  args.logits = logits->typed_data();
  args.last = last->typed_data();
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_nade_forward(*kernels, args, workers);
  return ffi::Error::Success();
}

// Where drawing goes on after a one; an empty array where every unit is drawn.
const int32_t* following_of(const Units& units) {
  return units.element_count() ? units.typed_data() : nullptr;
}

ffi::Error nade_sample(ffi::ThreadPool pool, Array noise, Array a, Array c, Array W, Array V,
                       Units following, Result drawn, Result logits, Result last) {
  NadeForward args{};
  args.shape = nade_shape(*logits, W);
  args.a = rows(a, args.shape.samples);
  args.c = rows(c, args.shape.samples);
  args.noise = noise.typed_data();
  args.W = W.typed_data();
  args.V = V.typed_data();
  args.drawn = drawn->typed_data();
  args.logits = logits->typed_data();
  args.last = last->typed_data();
  args.following = following_of(following);
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_nade_forward(*kernels, args, workers);
  return ffi::Error::Success();
}

ffi::Error nade_gradient(ffi::ThreadPool pool, Array g, Array x, Array last, Array W, Array V,
                         Result da, Result dW, Result dV) {
  NadeGradient args{};
  args.shape = nade_shape(g, W);
  args.x = rows(x, args.shape.samples);
  args.last = last.typed_data();
  args.g = g.typed_data();
  args.W = W.typed_data();
  args.V = V.typed_data();
  args.da = da->typed_data();
  args.dW = dW->typed_data();
  args.dV = dV->typed_data();
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_nade_gradient(*kernels, args, workers);
  return ffi::Error::Success();
}

ffi::Error ar_sbn_sample(ffi::ThreadPool pool, Array noise, Array c, Array S, Units following,
                         Result drawn, Result logits) {
  ArSbnSample args{};
  args.samples = height(noise);
  args.units = width(noise);
  args.c = rows(c, args.samples);
  args.noise = noise.typed_data();
  args.S = S.typed_data();
  args.drawn = drawn->typed_data();
  args.logits = logits->typed_data();
  args.following = following_of(following);
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_ar_sbn_sample(*kernels, args, workers);
  return ffi::Error::Success();
}

Key key_of(const KeyData& data) { return {data.typed_data()[0], data.typed_data()[1]}; }

ffi::Error logistic_noise(ffi::ThreadPool pool, KeyData key, Result noise) {
  const LogisticNoise args{key_of(key), static_cast<int64_t>(noise->element_count()),
                           noise->typed_data()};
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_logistic_noise(*kernels, args, workers);
  return ffi::Error::Success();
}

ffi::Error bernoulli_sample(ffi::ThreadPool pool, KeyData key, Array logits, Result drawn,
                            Result log_prob) {
  BernoulliSample args{};
  args.key = key_of(key);
  args.samples = height(*drawn);
  args.units = width(*drawn);
  args.logits = rows(logits, args.samples);
  args.drawn = drawn->typed_data();
  args.log_prob = log_prob->typed_data();
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_bernoulli_sample(*kernels, args, workers);
  return ffi::Error::Success();
}

ffi::Error bernoulli_log_prob(ffi::ThreadPool pool, Array x, Array logits, Result log_prob) {
  BernoulliLogProb args{};
  args.samples = static_cast<int64_t>(log_prob->element_count());
  args.units = width(x);
  args.x = rows(x, args.samples);
  args.logits = rows(logits, args.samples);
  args.log_prob = log_prob->typed_data();
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_bernoulli_log_prob(*kernels, args, workers);
  return ffi::Error::Success();
}

ffi::Error bernoulli_gradient(ffi::ThreadPool pool, Array g, Array x, Array logits,
                              Result dlogits) {
  const int64_t samples = static_cast<int64_t>(g.element_count());
  BernoulliGradient args{};
  args.rows = height(logits);
  args.units = width(x);
  args.x = rows(x, samples);
  args.logits = {logits.typed_data(), args.units, args.rows ? samples / args.rows : 0};
  args.g = g.typed_data();
  args.dlogits = dlogits->typed_data();
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_bernoulli_gradient(*kernels, args, workers);
  return ffi::Error::Success();
}

ffi::Error affine_update(ffi::ThreadPool pool, Array outputs, Array before, Array after,
                       Array columns, Result moved) {
  AffineUpdate args{};
  args.samples = height(outputs);
  args.units = width(outputs);
  args.parents = width(before);
  args.outputs = outputs.typed_data();
  args.before = before.typed_data();
  args.after = after.typed_data();
  args.columns = columns.typed_data();
  args.moved = moved->typed_data();
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_affine_update(*kernels, args, workers);
  return ffi::Error::Success();
}

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
  run_optimiser_step(*kernels, {rule, parameters.data(), count, squares->typed_data()}, workers);
  return ffi::Error::Success();
}

}  // namespace
}  // namespace wakesleep

#pragma GCC visibility push(default)

// Choose by name, or the best for an empty one; the name of what was chosen, null if there is none.
extern "C" const char* wakesleep_select(const char* name) {
  const wakesleep::Kernels* found = wakesleep::find_kernels(*name ? name : nullptr);
  if (found) wakesleep::kernels = found;
  return found ? found->name : nullptr;
}

using wakesleep::Array;
using wakesleep::KeyData;
using wakesleep::Units;

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_nade_logits, wakesleep::nade_logits,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Ret<Array>()
                                  .Ret<Array>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_nade_sample, wakesleep::nade_sample,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Units>()
                                  .Ret<Array>()
                                  .Ret<Array>()
                                  .Ret<Array>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_nade_gradient, wakesleep::nade_gradient,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Ret<Array>()
                                  .Ret<Array>()
                                  .Ret<Array>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_ar_sbn_sample, wakesleep::ar_sbn_sample,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Units>()
                                  .Ret<Array>()
                                  .Ret<Array>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_logistic_noise, wakesleep::logistic_noise,
                              ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<KeyData>().Ret<Array>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_bernoulli_sample, wakesleep::bernoulli_sample,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<KeyData>()
                                  .Arg<Array>()
                                  .Ret<Array>()
                                  .Ret<Array>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_bernoulli_log_prob, wakesleep::bernoulli_log_prob,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Ret<Array>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_bernoulli_gradient, wakesleep::bernoulli_gradient,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Ret<Array>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_affine_update, wakesleep::affine_update,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Ret<Array>());

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
