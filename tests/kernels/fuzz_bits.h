// Products with bits; included by fuzz.cc.
#pragma once

std::mt19937 bit_generator(3);  // apart, so that the other kernels' problems stay what they are

// Rows of bits, in which a value or all may be something else.
struct BitRows {
  int64_t rows, units, parents;
  Array y, W, b, g;

  BitRows() {
    std::swap(generator, bit_generator);
    rows = between(1, 40), units = between(1, 40), parents = between(1, 300);
    if (between(0, 3) == 0) rows = between(200, 2100);  // more than the sums kept at a time, or a task
    const double ones[] = {0.0, 0.3, 1.0};
    y = bits(rows * parents, ones[between(0, 2)]);
    if (between(0, 2) == 0) y[between(0, rows * parents - 1)] = 0.5f;
    if (between(0, 4) == 0) y = normal(rows * parents, 1);
    W = normal(units * parents, 1);
    b = normal(units, 1);
    g = normal(rows * units, 1);
    std::swap(generator, bit_generator);
  }
};

void fuzz_bit_affine(const Kernels& kernels, const BitRows& given, Workers& workers) {
  BitAffine args{};
  args.rows = given.rows;
  args.units = given.units;
  args.parents = given.parents;
  args.y = given.y.data();
  args.W = given.W.data();
  args.b = given.b.data();
  Array outputs(given.rows * given.units);
  args.outputs = outputs.data();
  run_bit_affine(kernels, args, workers);
  std::vector<double> expected(outputs.size());
  for (int64_t at = 0; at < given.rows * given.units; ++at) {
    const int64_t row = at / given.units, unit = at % given.units;
    expected[at] = given.b[unit];
    for (int64_t j = 0; j < given.parents; ++j) {
      expected[at] += double{given.y[row * given.parents + j]} * given.W[unit * given.parents + j];
    }
  }
  check("W y + b", outputs, expected);
}

void fuzz_bit_outer(const Kernels& kernels, const BitRows& given, Workers& workers) {
  BitOuter args{};
  args.rows = given.rows;
  args.units = given.units;
  args.parents = given.parents;
  args.g = given.g.data();
  args.y = given.y.data();
  Array dW(given.units * given.parents), db(given.units);
  args.dW = dW.data();
  args.db = db.data();
  run_bit_outer(kernels, args, workers);
  std::vector<double> expected(dW.size()), expected_bias(db.size());
  for (int64_t row = 0; row < given.rows; ++row) {
    for (int64_t unit = 0; unit < given.units; ++unit) {
      const double g = given.g[row * given.units + unit];
      expected_bias[unit] += g;
      for (int64_t j = 0; j < given.parents; ++j) {
        expected[unit * given.parents + j] += g * given.y[row * given.parents + j];
      }
    }
  }
  check("dW", dW, expected);
  check("db", db, expected_bias);
}
