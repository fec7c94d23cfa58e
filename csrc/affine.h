// W y + b for a y of which few bits changed: the columns of those bits, added or taken away.
#pragma once

#include "kernels.h"
#include "vector.h"

namespace wakesleep {
namespace {

class AffineMover {
 public:
  static int64_t scratch(int64_t parents) { return 2 * parents; }

  AffineMover(const AffineUpdate& args, float* scratch)
      : args_(args),
        columns_(reinterpret_cast<int32_t*>(scratch)),
        steps_(scratch + args.parents) {}

  void run(int64_t first, int64_t last) {
    for (int64_t n = first; n < last; ++n) {
      const int64_t changes = find(args_.before + n * args_.parents, args_.after + n * args_.parents);
      add(args_.outputs + n * args_.units, args_.moved + n * args_.units, changes);
    }
  }

 private:
  int64_t find(const float* before, const float* after) {
    int64_t found = 0;
    for (int64_t j = 0; j < args_.parents; j += kLanes) {
      const int64_t lanes = args_.parents - j;
      const Vec step = load_part(after + j, lanes) - load_part(before + j, lanes);
      if (!any(step != Vec{})) continue;
      const int64_t count = lanes < kLanes ? lanes : kLanes;
      for (int64_t lane = 0; lane < count; ++lane) {
        columns_[found] = static_cast<int32_t>(j + lane);
        steps_[found] = step[lane];
        found += step[lane] != 0;
      }
    }
    return found;
  }

  void add(const float* outputs, float* moved, int64_t changes) const {
    for (int64_t i = 0; i < args_.units; i += kLanes) {
      const int64_t lanes = args_.units - i;
      Vec total = load_part(outputs + i, lanes);
      for (int64_t c = 0; c < changes; ++c) {
        const float* column = args_.columns + columns_[c] * args_.units;
        total += steps_[c] * load_part(column + i, lanes);
      }
      store_part(moved + i, total, lanes);
    }
  }

  const AffineUpdate& args_;
  int32_t* columns_;  // that changed
  float* steps_;
};

}  // namespace
}  // namespace wakesleep
