// The kernels of layers as XLA FFI handlers, on XLA's own threads.
#include "ffi.h"

namespace wakesleep {
namespace {

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
  run_nade_forward(kernels_in_use(), args, workers);
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
  run_nade_forward(kernels_in_use(), args, workers);
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
  run_nade_gradient(kernels_in_use(), args, workers);
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
  run_ar_sbn_sample(kernels_in_use(), args, workers);
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
  run_affine_update(kernels_in_use(), args, workers);
  return ffi::Error::Success();
}

}  // namespace
}  // namespace wakesleep

#pragma GCC visibility push(default)

using wakesleep::Array;
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

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_affine_update, wakesleep::affine_update,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Ret<Array>());

#pragma GCC visibility pop
