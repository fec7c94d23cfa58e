// Products with bits as XLA FFI handlers, on XLA's own threads.
#include "ffi.h"

namespace wakesleep {
namespace {

ffi::Error bit_affine(ffi::ThreadPool pool, Array y, Array W, Array b, Result outputs) {
  BitAffine args{};
  args.rows = height(y);
  args.units = width(*outputs);
  args.parents = width(y);
  args.y = y.typed_data();
  args.W = W.typed_data();
  args.b = b.typed_data();
  args.outputs = outputs->typed_data();
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_bit_affine(kernels_in_use(), args, workers);
  return ffi::Error::Success();
}

ffi::Error bit_outer(ffi::ThreadPool pool, Array g, Array y, Result dW, Result db) {
  BitOuter args{};
  args.rows = height(y);
  args.units = width(g);
  args.parents = width(y);
  args.g = g.typed_data();
  args.y = y.typed_data();
  args.dW = dW->typed_data();
  args.db = db->typed_data();
  PoolWorkers<ffi::ThreadPool> workers(pool);
  run_bit_outer(kernels_in_use(), args, workers);
  return ffi::Error::Success();
}

}  // namespace
}  // namespace wakesleep

#pragma GCC visibility push(default)

using wakesleep::Array;

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_bit_affine, wakesleep::bit_affine,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Ret<Array>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(wakesleep_bit_outer, wakesleep::bit_outer,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Array>()
                                  .Arg<Array>()
                                  .Ret<Array>()
                                  .Ret<Array>());

#pragma GCC visibility pop
