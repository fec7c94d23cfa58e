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
  using Tile = Vec[kTileVectors];

 public:
  // The transposed tile, then each sample's ones as 32-bit integers.
  static int64_t scratch(int64_t units) { return units * (kUnits + kArSbnBlock); }

  ArSbnDraw(const ArSbnSample& args, int64_t first, int64_t last, float* scratch)
      : args_(args), first_(first), count_(last - first), units_(args.units), columns_(scratch) {
    ones_ = reinterpret_cast<int32_t*>(columns_ + units_ * kUnits);
  }

  void run() {
    for (int64_t k = 0; k < count_; ++k) found_[k] = resume_[k] = 0;
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

  // Up to the next one nothing changes, so all that follow are compared with their noise at once.
  void draw(int64_t k, int64_t tile) {
    const int64_t at = (first_ + k) * units_ + tile;
    Tile logits, noise;
    load_tile(args_.c[first_ + k] + tile, logits);
    load_tile(args_.noise + at, noise);
    add_earlier(k, logits);
    store_tile(args_.drawn + at, Tile{});
    uint32_t undecided = ((uint32_t{1} << rows_) - 1) & from_row(resume_[k] - tile);
    while (const uint32_t ones = exceeding(logits, noise) & undecided) {
      const int row = __builtin_ctz(ones);
      resume_[k] = args_.following ? args_.following[tile + row] : tile + row + 1;
      undecided &= from_row(resume_[k] - tile);
      args_.drawn[at + row] = 1;
      ones_[k * units_ + found_[k]++] = static_cast<int32_t>(tile + row);
      add_column(tile + row, logits);
    }
    store_tile(args_.logits + at, logits);
  }

  // Bits of the rows from `row` on, which may lie before the tile or behind it.
  static uint32_t from_row(int64_t row) {
    if (row >= 32) return 0;
    return row > 0 ? ~uint32_t{0} << row : ~uint32_t{0};
  }

  static uint32_t exceeding(const Tile& logits, const Tile& noise) {
    uint32_t found = 0;
    for (int v = 0; v < kTileVectors; ++v) found |= lane_bits(logits[v] > noise[v]) << v * kLanes;
    return found;
  }

  void load_tile(const float* from, Tile& to) const {
    alignas(64) float whole[kUnits] = {};
    if (rows_ < kUnits) from = static_cast<float*>(std::memcpy(whole, from, rows_ * sizeof(float)));
    for (int v = 0; v < kTileVectors; ++v) to[v] = load(from + v * kLanes);
  }

  // A size known to the compiler makes the copy of a whole tile a store instead of a call.
  void store_tile(float* to, const Tile& from) const {
    if (rows_ < kUnits) {
      std::memcpy(to, &from, rows_ * sizeof(float));
    } else {
      std::memcpy(to, &from, kUnits * sizeof(float));
    }
  }

  // Four sums side by side, since one would wait for each addition to finish.
  void add_earlier(int64_t k, Tile& logits) {
    const int32_t* ones = ones_ + k * units_;
    const int64_t found = found_[k], even = found / 4 * 4;
    Tile total[4] = {};
    for (int64_t at = 0; at < even; at += 4) {
      for (int lane = 0; lane < 4; ++lane) add_column(ones[at + lane], total[lane]);
    }
    for (int64_t at = even; at < found; ++at) add_column(ones[at], total[at - even]);
    for (int v = 0; v < kTileVectors; ++v) {
      logits[v] += (total[0][v] + total[1][v]) + (total[2][v] + total[3][v]);
    }
  }

  void add_column(int64_t unit, Tile& total) const {
    const float* column = columns_ + unit * kUnits;
    for (int v = 0; v < kTileVectors; ++v) total[v] += load(column + v * kLanes);
  }

  const ArSbnSample& args_;
  const int64_t first_, count_, units_;
  int64_t rows_;
  float* columns_;
  int32_t* ones_;
  int64_t found_[kArSbnBlock];
  int64_t resume_[kArSbnBlock];  // the next unit that may be a one
};

}  // namespace
}  // namespace wakesleep
