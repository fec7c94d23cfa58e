// The kernels as XLA FFI handlers, on XLA's own threads.
#include "xla/ffi/api/ffi.h"

#include <algorithm>
#include <atomic>

#include "drivers.h"
#include "pool_workers.h"

namespace ffi = xla::ffi;

namespace wakesleep {
namespace {

using Matrix = ffi::Buffer<ffi::F32>;
using MatrixOut = ffi::ResultBuffer<ffi::F32>;

std::atomic<const Kernels*> kernels{nullptr};

int64_t width(const Matrix& matrix) { return matrix.dimensions()[1]; }

// An operand of R rows serves N samples, N / R consecutive ones per row.
Rows rows(const Matrix& matrix, int64_t samples) {
  const int64_t count = matrix.dimensions()[0];
  return {matrix.typed_data(), width(matrix), count ? std::max<int64_t>(samples / count, 1) : 1};
}

NadeShape nade_shape(MatrixOut& logits, const Matrix& W) {
  return {logits->dimensions()[0], logits->dimensions()[1], width(W)};
}

ffi::Error nade_logits(ffi::ThreadPool pool, Matrix x, Matrix a, Matrix W, Matrix V,
                       MatrixOut logits) {
  NadeForward args{};
  args.shape = nade_shape(logits, W);
  args.x = rows(x, args.shape.samples);
  args.a = rows(a, args.shape.samples);
  args.W = W.typed_data();
  args.V = V.typed_data();
  args.logits = logits->typed_data();
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_nade_forward(*kernels, args, workers);
  return ffi::Error::Success();
}

ffi::Error nade_sample(ffi::ThreadPool pool, Matrix noise, Matrix a, Matrix c, Matrix W, Matrix V,
                       MatrixOut drawn, MatrixOut logits) {
  NadeForward args{};
  args.shape = nade_shape(logits, W);
  args.a = rows(a, args.shape.samples);
  args.c = rows(c, args.shape.samples);
  args.noise = noise.typed_data();
  args.W = W.typed_data();
  args.V = V.typed_data();
  args.drawn = drawn->typed_data();
  args.logits = logits->typed_data();
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_nade_forward(*kernels, args, workers);
  return ffi::Error::Success();
}

ffi::Error nade_gradient(ffi::ThreadPool pool, Matrix g, Matrix x, Matrix a, Matrix W, Matrix V,
                         MatrixOut da, MatrixOut dW, MatrixOut dV) {
  NadeGradient args{};
  args.shape = {g.dimensions()[0], g.dimensions()[1], width(W)};
  args.x = rows(x, args.shape.samples);
  args.a = rows(a, args.shape.samples);
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

ffi::Error ar_sbn_sample(ffi::ThreadPool pool, Matrix noise, Matrix c, Matrix S, MatrixOut drawn,
                         MatrixOut logits) {
  ArSbnSample args{};
  args.samples = noise.dimensions()[0];
  args.units = width(noise);
  args.c = rows(c, args.samples);
  args.noise = noise.typed_data();
  args.S = S.typed_data();
  args.drawn = drawn->typed_data();
  args.logits = logits->typed_data();
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_ar_sbn_sample(*kernels, args, workers);
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

using wakesleep::Matrix;

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_nade_logits, wakesleep::nade_logits,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Matrix>()
                                  .Arg<Matrix>()
                                  .Arg<Matrix>()
                                  .Arg<Matrix>()
                                  .Ret<Matrix>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_nade_sample, wakesleep::nade_sample,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Matrix>()
                                  .Arg<Matrix>()
                                  .Arg<Matrix>()
                                  .Arg<Matrix>()
                                  .Arg<Matrix>()
                                  .Ret<Matrix>()
                                  .Ret<Matrix>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_nade_gradient, wakesleep::nade_gradient,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Matrix>()
                                  .Arg<Matrix>()
                                  .Arg<Matrix>()
                                  .Arg<Matrix>()
                                  .Arg<Matrix>()
                                  .Ret<Matrix>()
                                  .Ret<Matrix>()
                                  .Ret<Matrix>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_ar_sbn_sample, wakesleep::ar_sbn_sample,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Matrix>()
                                  .Arg<Matrix>()
                                  .Arg<Matrix>()
                                  .Ret<Matrix>()
                                  .Ret<Matrix>());

#pragma GCC visibility pop
