// Whole kernels: parts spread over workers, with the memory they need.
#pragma once

#include "kernels.h"
#include "workers.h"

namespace wakesleep {

// `args` without factors and bounded.
void run_nade_forward(const Kernels& kernels, NadeForward args, Workers& workers);

// `args` without ones.
void run_nade_gradient(const Kernels& kernels, NadeGradient args, Workers& workers);

void run_ar_sbn_sample(const Kernels& kernels, const ArSbnSample& args, Workers& workers);

void run_logistic_noise(const Kernels& kernels, const LogisticNoise& args, Workers& workers);

void run_bernoulli_sample(const Kernels& kernels, const BernoulliSample& args, Workers& workers);

void run_bernoulli_log_prob(const Kernels& kernels, const BernoulliLogProb& args,
                            Workers& workers);

void run_bernoulli_gradient(const Kernels& kernels, const BernoulliGradient& args,
                            Workers& workers);

void run_affine_update(const Kernels& kernels, const AffineUpdate& args, Workers& workers);

// `args` without codes and other.
void run_bit_affine(const Kernels& kernels, BitAffine args, Workers& workers);

// `args` without codes and other.
void run_bit_outer(const Kernels& kernels, BitOuter args, Workers& workers);

void run_optimiser_step(const Kernels& kernels, const OptimiserStep& args, Workers& workers);

}  // namespace wakesleep
