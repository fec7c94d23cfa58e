// The kernels of independent bits as XLA FFI handlers.
#include "ffi.h"

namespace wakesleep {
namespace {

// A key's two words, a share's number, and the number of shares.
WordSource source_of(const KeyData& data) {
  const uint32_t* words = data.typed_data();
  return {{words[0], words[1]}, words[2], words[3]};
}

ffi::Error logistic_noise(ffi::ThreadPool pool, KeyData source, Result noise) {
  const LogisticNoise args{source_of(source), static_cast<int64_t>(noise->element_count()),
                           noise->typed_data()};
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_logistic_noise(kernels_in_use(), args, workers);
  return ffi::Error::Success();
}

ffi::Error bernoulli_sample(ffi::ThreadPool pool, KeyData source, Array logits, Result drawn,
                            Result log_prob) {
  BernoulliSample args{};
  args.source = source_of(source);
  args.samples = height(*drawn);
  args.units = width(*drawn);
  args.logits = rows(logits, args.samples);
  args.drawn = drawn->typed_data();
  args.log_prob = log_prob->typed_data();
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_bernoulli_sample(kernels_in_use(), args, workers);
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
  run_bernoulli_log_prob(kernels_in_use(), args, workers);
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
  run_bernoulli_gradient(kernels_in_use(), args, workers);
  return ffi::Error::Success();
}

}  // namespace
}  // namespace wakesleep

#pragma GCC visibility push(default)

using wakesleep::Array;
using wakesleep::KeyData;

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

#pragma GCC visibility pop
