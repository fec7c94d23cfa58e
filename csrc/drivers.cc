#include "drivers.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace wakesleep {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kPrepareTiles = 8;
// Elementwise work that is worth the few microseconds another thread takes to come.
constexpr int64_t kTaskElements = 1 << 15;
// Elements of a parameter whose squares are summed in float32; blocks are summed in double.
constexpr int64_t kParameterBlock = 1 << 12;
// Additions of sums for bits in a task: a few microseconds, for threads that are there already.
constexpr int64_t kBitTask = 1 << 13;
// Rows whose outputs stay in the second cache until their other half is written.
constexpr int64_t kBitChunkRows = 1 << 10;

// Subnormals are zero on every thread: a pool may set this differently from its caller.
class FlushSubnormals {
 public:
#if defined(__x86_64__)
  FlushSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~FlushSubnormals() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#elif defined(__aarch64__)
  FlushSubnormals() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" : : "r"(before_ | (uint64_t{1} << 24)));
  }
  ~FlushSubnormals() { asm volatile("msr fpcr, %0" : : "r"(before_)); }

 private:
  uint64_t before_;
#endif
};

// Memory that a thread keeps from call to call: fresh pages would cost more than the arithmetic.
class Arena {
 public:
  template <typename T>
  T* take(int64_t count) {
    const size_t bytes = (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    if (bytes > size_) grow(bytes);
    return reinterpret_cast<T*>(memory_.get());
  }

 private:
  void grow(size_t bytes) {
    memory_.reset(static_cast<char*>(std::aligned_alloc(kAlignment, bytes)));
    size_ = memory_ ? bytes : 0;
    if (!memory_) throw std::bad_alloc();
  }

  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> memory_;
  size_t size_ = 0;
};

// What a call's tasks share belongs to the calling thread; what a task works in, to its own.
Arena& shared_arena() {
  thread_local Arena arena;
  return arena;
}

float* task_scratch(int64_t count) {
  thread_local Arena arena;
  return arena.take<float>(count);
}

int64_t parts(int64_t total, int64_t largest) { return (total + largest - 1) / largest; }

// [first, last) of each of ceil(total / largest) nearly equal parts.
template <typename Body>
void in_parts(Workers& workers, int64_t total, int64_t largest, const Body& body) {
  const int64_t count = parts(total, largest);
  workers.run(count, [&](int64_t part) {
    const FlushSubnormals flush;
    body(total * part / count, total * (part + 1) / count);
  });
}

int64_t task_rows(int64_t width) {
  return width < kTaskElements ? kTaskElements / std::max<int64_t>(width, 1) : 1;
}

}  // namespace

void run_nade_forward(const Kernels& kernels, NadeForward args, Workers& workers) {
  const NadeShape& shape = args.shape;
  if (shape.units == 0) {
    for (int64_t n = 0; n < shape.samples; ++n) {
      std::copy_n(args.a[n], shape.hidden, args.last + n * shape.hidden);
    }
    return;
  }
  const int64_t size = shape.units * parts(shape.hidden, kernels.lanes) * kernels.lanes;
  args.factors = shared_arena().take<float>(size + tiles(shape.units));
  args.bounded = reinterpret_cast<bool*>(args.factors + size);
  in_parts(workers, tiles(shape.units), kPrepareTiles, [&](int64_t first, int64_t last) {
    kernels.nade_prepare(args, first, last);
  });
  in_parts(workers, shape.samples, kNadeBlock, [&](int64_t first, int64_t last) {
    kernels.nade_forward(args, first, last, task_scratch(kernels.nade_forward_scratch(shape)));
  });
}

void run_nade_gradient(const Kernels& kernels, NadeGradient args, Workers& workers) {
  const NadeShape& shape = args.shape;
  if (shape.samples == 0 || shape.units == 0) {
    std::fill_n(args.da, shape.samples * shape.hidden, 0.0f);
    std::fill_n(args.dW, shape.units * shape.hidden, 0.0f);
    std::fill_n(args.dV, shape.units * shape.hidden, 0.0f);
    return;
  }
  uint64_t* ones = shared_arena().take<uint64_t>(shape.samples * words(shape.units));
  in_parts(workers, shape.samples, 2 * kNadeBlock, [&](int64_t first, int64_t last) {
    kernels.nade_ones(args, first, last, ones);
  });
  args.ones = ones;
  const int64_t vectors = parts(shape.hidden, kernels.lanes);
  const int64_t most = kernels.nade_gradient_vectors(args.x.repeat);
  in_parts(workers, vectors, most, [&](int64_t first, int64_t last) {
    kernels.nade_gradient(args, first, last, task_scratch(kernels.nade_gradient_scratch()));
  });
}

void run_ar_sbn_sample(const Kernels& kernels, const ArSbnSample& args, Workers& workers) {
  if (args.units == 0) return;
  in_parts(workers, args.samples, kArSbnBlock, [&](int64_t first, int64_t last) {
    kernels.ar_sbn_sample(args, first, last, task_scratch(kernels.ar_sbn_scratch(args.units)));
  });
}

void run_logistic_noise(const Kernels& kernels, const LogisticNoise& args, Workers& workers) {
  const int64_t words = word_parts(args.source, args.count);
  in_parts(workers, words, kTaskElements / 2, [&](int64_t first, int64_t last) {
    kernels.logistic_noise(args, first, last);
  });
}

void run_bernoulli_sample(const Kernels& kernels, const BernoulliSample& args, Workers& workers) {
  const int64_t words = word_parts(args.source, args.samples * args.units);
  in_parts(workers, words, kTaskElements / 2, [&](int64_t first, int64_t last) {
    kernels.bernoulli_words(args, first, last);
  });
  const int64_t padded = parts(args.units, kernels.lanes) * kernels.lanes;
  in_parts(workers, args.samples, task_rows(args.units), [&](int64_t first, int64_t last) {
    kernels.bernoulli_sample(args, first, last, task_scratch(padded));
  });
}

void run_bernoulli_log_prob(const Kernels& kernels, const BernoulliLogProb& args,
                            Workers& workers) {
  in_parts(workers, args.samples, task_rows(args.units), [&](int64_t first, int64_t last) {
    kernels.bernoulli_log_prob(args, first, last);
  });
}

// Split by vectors of the logits, since one row of them may serve all samples.
void run_bernoulli_gradient(const Kernels& kernels, const BernoulliGradient& args,
                            Workers& workers) {
  const int64_t vectors = parts(args.units, kernels.lanes);
  const int64_t elements = kernels.lanes * args.logits.repeat;
  in_parts(workers, args.rows * vectors, task_rows(elements), [&](int64_t first, int64_t last) {
    while (first < last) {
      const int64_t row = first / vectors, end = std::min(last, (row + 1) * vectors);
      const int64_t from = (first - row * vectors) * kernels.lanes;
      const int64_t to = std::min((end - row * vectors) * kernels.lanes, args.units);
      kernels.bernoulli_gradient(args, row, from, to);
      first = end;
    }
  });
}

void run_affine_update(const Kernels& kernels, const AffineUpdate& args, Workers& workers) {
  in_parts(workers, args.samples, task_rows(args.units), [&](int64_t first, int64_t last) {
    kernels.affine_update(args, first, last, task_scratch(kernels.affine_scratch(args.parents)));
  });
}

namespace {

// How many of some equal pieces of work are a task, of which each takes so many additions: all,
// where another thread would come too late.
int64_t bit_task(int64_t pieces, int64_t additions) {
  if (pieces * additions <= 2 * kTaskElements) return std::max<int64_t>(1, pieces);
  return std::max<int64_t>(1, kBitTask / additions);
}

// Some of the rows, from the first of a block on.
BitAffine part_of_rows(BitAffine args, int64_t first, int64_t last) {
  args.rows = last - first;
  args.y += first * args.parents;
  args.codes += first * bit_groups(args.parents);
  args.other += first / kBitRows;
  args.outputs += first * args.units;
  return args;
}

}  // namespace

// Two blocks of units are a task at least: the rows of one are half a cache line, which another
// thread must not write at the same time.
void run_bit_affine(const Kernels& kernels, BitAffine args, Workers& workers) {
  if (args.rows == 0) return;
  const int64_t row_blocks = parts(args.rows, kBitRows), unit_blocks = parts(args.units, kBitUnits);
  const int64_t size = row_blocks * kBitRows * bit_groups(args.parents);
  args.codes = shared_arena().take<uint8_t>(size + row_blocks);
  args.other = reinterpret_cast<bool*>(args.codes + size);
  in_parts(workers, row_blocks, task_rows(kBitRows * args.parents), [&](int64_t first, int64_t last) {
    kernels.bit_row_codes(args, first, last);
  });
  const int64_t rows = parts(row_blocks, parts(args.rows, kBitChunkRows)) * kBitRows;
  const int64_t chunks = parts(args.rows, rows), pairs = parts(unit_blocks, 2);
  const int64_t largest = bit_task(chunks * pairs, 2 * rows * bit_groups(args.parents));
  in_parts(workers, chunks * pairs, largest, [&](int64_t first, int64_t last) {
    for (int64_t at = first; at < last; ++at) {
      const int64_t row = at / pairs * rows, block = at % pairs * 2;
      kernels.bit_affine(part_of_rows(args, row, std::min(row + rows, args.rows)), block,
                         std::min(block + 2, unit_blocks),
                         task_scratch(kernels.bit_affine_scratch()));
    }
  });
}

void run_bit_outer(const Kernels& kernels, BitOuter args, Workers& workers) {
  if (args.rows == 0) {
    std::fill_n(args.dW, args.units * args.parents, 0.0f);
    std::fill_n(args.db, args.units, 0.0f);
    return;
  }
  const int64_t groups = bit_groups(args.rows);
  const int64_t size = parts(args.parents, kBitUnits) * kBitUnits * groups;
  args.codes = shared_arena().take<uint8_t>(size + groups);
  args.other = reinterpret_cast<bool*>(args.codes + size);
  // The last block may have fewer parents than codes.
  std::fill(args.codes + size - kBitUnits * groups, args.codes + size, 0);
  in_parts(workers, groups, task_rows(kBitGroup * args.parents), [&](int64_t first, int64_t last) {
    kernels.bit_parent_codes(args, first, last);
  });
  const int64_t blocks = parts(args.units, kBitUnits);
  in_parts(workers, blocks, bit_task(blocks, args.parents * groups),
           [&](int64_t first, int64_t last) {
             kernels.bit_outer(args, first, last,
                               task_scratch(kernels.bit_outer_scratch(args.parents)));
           });
}

// Blocks of all parameters in one row: a step has many small ones, and one large one.
void run_optimiser_step(const Kernels& kernels, const OptimiserStep& args, Workers& workers) {
  struct Block {
    int64_t parameter;
    int64_t first;
    double squares;
  };
  std::vector<Block> blocks;
  for (int64_t at = 0; at < args.count; ++at) {
    for (int64_t first = 0; first < args.parameters[at].count; first += kParameterBlock) {
      blocks.push_back({at, first, 0});
    }
  }
  const int64_t count = blocks.size(), largest = kTaskElements / kParameterBlock;
  in_parts(workers, count, largest, [&](int64_t from, int64_t to) {
    for (Block* block = blocks.data() + from; block != blocks.data() + to; ++block) {
      const Parameter& parameter = args.parameters[block->parameter];
      const int64_t last = std::min(block->first + kParameterBlock, parameter.count);
      block->squares = kernels.move_parameter(args.rule, parameter, block->first, last);
    }
  });
  std::vector<double> sums(args.count);
  for (const Block& block : blocks) sums[block.parameter] += block.squares;
  std::copy(sums.begin(), sums.end(), args.squares);
}

}  // namespace wakesleep
