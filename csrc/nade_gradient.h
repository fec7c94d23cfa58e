// NADE backwards, given the gradient g of the logits: the gradients of a, W and V.
//
// With s = sigmoid(a) the hidden layer before unit i, walking from the last unit to the first:
//
//     dV_i += g_i s            ds += g_i V_i          at every unit
//     da += ds s (1 - s);  ds = 0;  dW_i += da        at a one, then a returns to before it
//
// No hidden column needs any other, so a task is a range of columns with all its samples, and
// nothing is summed across threads. Within it a tile of units stays in cache while every sample
// walks through it. As forwards, a is kept as exp(-a) until a sample leaves the safe range.
#pragma once

#include "hidden.h"
#include "kernels.h"
#include "vector.h"

namespace wakesleep {
namespace {

// How columns are divided is part of the result's bits (a sample turns additive in all columns
// of a task), so it depends on nothing but the instruction set and the hidden width.
constexpr int kMaxGradientVectors = 4;
constexpr int64_t kTile = 16;             // units; divides 64
constexpr int64_t kGradientBlock = 256;  // samples whose walking state is kept at once

template <int M>
class NadeReverse {
 public:
  static constexpr int64_t kColumns = M * kLanes;

  static int64_t scratch(const NadeShape& shape) {
    const int64_t samples = shape.samples < kGradientBlock ? shape.samples : kGradientBlock;
    return (samples * 3 + kTile * 4) * kColumns;
  }

  NadeReverse(const NadeGradient& args, int64_t first_vector, float* scratch)
      : args_(args),
        hidden_(args.shape.hidden),
        column_(first_vector * kLanes),
        V_(scratch),
        dV_(V_ + kTile * kColumns),
        factors_(dV_ + kTile * kColumns),
        dW_(factors_ + kTile * kColumns),
        walks_(dW_ + kTile * kColumns) {}

  void run() {
    const int64_t units = args_.shape.units, samples = args_.shape.samples;
    for (first_ = 0; first_ < samples; first_ += kGradientBlock) {
      count_ = samples - first_ < kGradientBlock ? samples - first_ : kGradientBlock;
      for (int64_t k = 0; k < count_; ++k) start(k);
      for (int64_t tile = (units - 1) / kTile * kTile; tile >= 0; tile -= kTile) {
        rows_ = units - tile < kTile ? units - tile : kTile;
        pack(tile);
        for (int64_t k = 0; k < count_; ++k) walk(k, tile);
        unpack(tile);
      }
      for (int64_t k = 0; k < count_; ++k) finish(k);
    }
  }

 private:
  // A sample's place on its way back: exp(-a) (or a, once additive), ds and da.
  float* state(int64_t k) { return walks_ + k * 3 * kColumns; }
  float* ds(int64_t k) { return state(k) + kColumns; }
  float* da(int64_t k) { return state(k) + 2 * kColumns; }

  void start(int64_t k) {
    additive_[k] = false;
    set_state(k, args_.shape.units);
    for (int64_t h = 0; h < 2 * kColumns; h += kLanes) store(ds(k) + h, Vec{});
  }

  // The hidden layer as it is before unit `seen`, from scratch.
  void set_state(int64_t k, int64_t seen) {
    Vec a[M];
    bool safe = !additive_[k];
    for (int v = 0; v < M; ++v) {
      a[v] = load_columns(args_.a[first_ + k], column_ + v * kLanes, hidden_);
    }
    add_rows(a, first_ + k, seen);
    for (int v = 0; v < M && safe; ++v) safe = !any(unsafe(clamped_exponential(-a[v])));
    additive_[k] = !safe;
    for (int v = 0; v < M; ++v) {
      store(state(k) + v * kLanes, safe ? clamped_exponential(-a[v]) : a[v]);
    }
  }

  void add_rows(Vec (&a)[M], int64_t n, int64_t seen) {
    const uint64_t* ones = args_.ones + n * words(args_.shape.units);
    for (int64_t from = 0; from < seen; from += 64) {
      uint64_t word = ones[from / 64];
      if (seen - from < 64) word &= (uint64_t{1} << (seen - from)) - 1;
      for (; word; word &= word - 1) add_row(a, from + __builtin_ctzll(word));
    }
  }

  void add_row(Vec (&a)[M], int64_t unit) {
    const float* row = args_.W + unit * hidden_;
    for (int v = 0; v < M; ++v) a[v] += load_columns(row, column_ + v * kLanes, hidden_);
  }

  void pack(int64_t tile) {
    for (int64_t row = 0; row < rows_; ++row) {
      for (int v = 0; v < M; ++v) {
        const int64_t at = row * kColumns + v * kLanes, h = column_ + v * kLanes;
        store(V_ + at, load_columns(args_.V + (tile + row) * hidden_, h, hidden_));
        const Vec W = load_columns(args_.W + (tile + row) * hidden_, h, hidden_);
        store(factors_ + at, factor(W));
        store(dV_ + at, Vec{});
        store(dW_ + at, Vec{});
      }
    }
  }

  void unpack(int64_t tile) {
    for (int64_t row = 0; row < rows_; ++row) {
      for (int v = 0; v < M; ++v) {
        const int64_t at = row * kColumns + v * kLanes;
        add_to(args_.dV + (tile + row) * hidden_, column_ + v * kLanes, load(dV_ + at));
        add_to(args_.dW + (tile + row) * hidden_, column_ + v * kLanes, load(dW_ + at));
      }
    }
  }

  void add_to(float* row, int64_t h, Vec value) {
    if (first_ > 0) value += load_columns(row, h, hidden_);
    store_columns(row, h, hidden_, value);
  }

  void walk(int64_t k, int64_t tile) {
    const int64_t n = first_ + k, units = args_.shape.units;
    const float* g = args_.g + n * units + tile;
    uint32_t ones = args_.ones[n * words(units) + tile / 64] >> (tile % 64) & ((1u << kTile) - 1);
    Vec s[M], ds_k[M];
    for (int v = 0; v < M; ++v) {
      s[v] = sigmoid(k, v);
      ds_k[v] = load(ds(k) + v * kLanes);
    }
    int64_t upper = rows_;
    while (ones) {
      const int64_t row = 31 - __builtin_clz(ones);
      ones ^= 1u << row;
      segment(g, row + 1, upper, s, ds_k);
      cross(k, tile, row, s, ds_k);
      upper = row + 1;
    }
    segment(g, 0, upper, s, ds_k);
    for (int v = 0; v < M; ++v) store(ds(k) + v * kLanes, ds_k[v]);
  }

  Vec sigmoid(int64_t k, int v) {
    const Vec value = load(state(k) + v * kLanes);
    return additive_[k] ? logistic(value) : reciprocal(1.0f + value);
  }

  void segment(const float* g, int64_t from, int64_t to, const Vec (&s)[M], Vec (&ds)[M]) {
    for (int64_t row = to - 1; row >= from; --row) {
      const Vec weight = broadcast(g[row]);
      const float* V = V_ + row * kColumns;
      float* dV = dV_ + row * kColumns;
      for (int v = 0; v < M; ++v) {
        ds[v] += weight * load(V + v * kLanes);
        store(dV + v * kLanes, load(dV + v * kLanes) + weight * s[v]);
      }
    }
  }

  // Back over a one: its row of W stops being part of the hidden layer.
  void cross(int64_t k, int64_t tile, int64_t row, Vec (&s)[M], Vec (&ds)[M]) {
    float* dW = dW_ + row * kColumns;
    for (int v = 0; v < M; ++v) {
      const Vec total = load(da(k) + v * kLanes) + ds[v] * (s[v] * (1.0f - s[v]));
      store(da(k) + v * kLanes, total);
      store(dW + v * kLanes, load(dW + v * kLanes) + total);
      ds[v] = Vec{};
    }
    if (additive_[k]) {
      subtract(k, tile + row);
    } else {
      divide(k, tile, row);
    }
    for (int v = 0; v < M; ++v) s[v] = sigmoid(k, v);
  }

  void subtract(int64_t k, int64_t unit) {
    const float* W = args_.W + unit * hidden_ ;
    for (int v = 0; v < M; ++v) {
      float* a = state(k) + v * kLanes;
      store(a, load(a) - load_columns(W, column_ + v * kLanes, hidden_));
    }
  }

  void divide(int64_t k, int64_t tile, int64_t row) {
    Mask outside{};
    for (int v = 0; v < M; ++v) {
      float* inverse_odds = state(k) + v * kLanes;
      const Vec product = load(inverse_odds) * load(factors_ + row * kColumns + v * kLanes);
      outside |= unsafe(product);
      store(inverse_odds, product);
    }
    if (!any(outside)) return;
    additive_[k] = true;
    set_state(k, tile + row);
  }

  void finish(int64_t k) {
    for (int v = 0; v < M; ++v) {
      const Vec s = sigmoid(k, v);
      const Vec total = load(da(k) + v * kLanes) + load(ds(k) + v * kLanes) * (s * (1.0f - s));
      store_columns(args_.da + (first_ + k) * hidden_, column_ + v * kLanes, hidden_, total);
    }
  }

  const NadeGradient& args_;
  const int64_t hidden_, column_;
  int64_t first_, count_, rows_;
  float *V_, *dV_, *factors_, *dW_;  // a tile of units
  float* walks_;
  bool additive_[kGradientBlock];
};

}  // namespace
}  // namespace wakesleep
