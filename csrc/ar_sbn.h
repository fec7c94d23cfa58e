// AR-SBN sampling: logit_i = c_i + sum of S_ij over the ones j < i.
//
// Units are drawn in tiles. A tile's rows of S are transposed once for a block of samples; then
// every earlier one of a sample adds one contiguous vector to all the tile's logits.
#pragma once

#include "kernels.h"
#include "vector.h"

namespace wakesleep {
namespace {

constexpr int64_t kUnits = 16;                 // of a tile
constexpr int kTileVectors = kUnits / kLanes;

class ArSbnDraw {
 public:
  // The transposed tile, then each sample's ones as 32-bit integers.
  static int64_t scratch(int64_t units) { return units * (kUnits + kArSbnBlock); }

  ArSbnDraw(const ArSbnSample& args, int64_t first, int64_t last, float* scratch)
      : args_(args), first_(first), count_(last - first), units_(args.units), columns_(scratch) {
    ones_ = reinterpret_cast<int32_t*>(columns_ + units_ * kUnits);
  }

  void run() {
    for (int64_t k = 0; k < count_; ++k) found_[k] = 0;
    for (int64_t tile = 0; tile < units_; tile += kUnits) {
      rows_ = units_ - tile < kUnits ? units_ - tile : kUnits;
      transpose(tile);
      for (int64_t k = 0; k < count_; ++k) draw(k, tile);
    }
  }

 private:
  // Column j of the tile, zero from the diagonal up.
  void transpose(int64_t tile) {
    std::memset(columns_, 0, (tile + rows_) * kUnits * sizeof(float));
    for (int64_t row = 0; row < rows_; ++row) {
      const float* S = args_.S + (tile + row) * units_;
      for (int64_t j = 0; j < tile + row; ++j) columns_[j * kUnits + row] = S[j];
    }
  }

  void draw(int64_t k, int64_t tile) {
    const int64_t at = (first_ + k) * units_ + tile;
    alignas(64) float logits[kUnits] = {};
    std::memcpy(logits, args_.c[first_ + k] + tile, rows_ * sizeof(float));
    add_earlier(k, logits);
    for (int64_t row = 0; row < rows_; ++row) {
      const bool one = logits[row] > args_.noise[at + row];
      args_.drawn[at + row] = one;
      if (one) absorb(k, tile + row, logits);
    }
    std::memcpy(args_.logits + at, logits, rows_ * sizeof(float));
  }

  // Four sums side by side, since one would wait for each addition to finish.
  void add_earlier(int64_t k, float* logits) {
    const int32_t* ones = ones_ + k * units_;
    const int64_t found = found_[k], even = found / 4 * 4;
    Vec total[4][kTileVectors] = {};
    for (int64_t at = 0; at < even; at += 4) {
      for (int lane = 0; lane < 4; ++lane) add_column(ones[at + lane], total[lane]);
    }
    for (int64_t at = even; at < found; ++at) add_column(ones[at], total[at - even]);
    for (int v = 0; v < kTileVectors; ++v) {
      const Vec earlier = (total[0][v] + total[1][v]) + (total[2][v] + total[3][v]);
      store(logits + v * kLanes, load(logits + v * kLanes) + earlier);
    }
  }

  void add_column(int64_t unit, Vec (&total)[kTileVectors]) {
    const float* column = columns_ + unit * kUnits;
    for (int v = 0; v < kTileVectors; ++v) total[v] += load(column + v * kLanes);
  }

  void absorb(int64_t k, int64_t unit, float* logits) {
    ones_[k * units_ + found_[k]++] = static_cast<int32_t>(unit);
    const float* column = columns_ + unit * kUnits;
    for (int v = 0; v < kTileVectors; ++v) {
      store(logits + v * kLanes, load(logits + v * kLanes) + load(column + v * kLanes));
    }
  }

  const ArSbnSample& args_;
  const int64_t first_, count_, units_;
  int64_t rows_;
  float* columns_;
  int32_t* ones_;
  int64_t found_[kArSbnBlock];
};

}  // namespace
}  // namespace wakesleep
