// Which instruction set's kernels this processor runs.
#include <cstring>

#include "kernels.h"

namespace wakesleep {

extern const Kernels kernels_baseline;
#ifdef WAKESLEEP_X86
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

namespace {

struct Candidate {
  const Kernels* kernels;
  bool runs_here;
};

}  // namespace

const Kernels* find_kernels(const char* name) {
  const Candidate candidates[] = {
#ifdef WAKESLEEP_X86
      {&kernels_avx512,
       __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")},
      {&kernels_avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
#endif
      {&kernels_baseline, true},
  };
  for (const Candidate& candidate : candidates) {
    const bool wanted = !name || std::strcmp(name, candidate.kernels->name) == 0;
    if (wanted && candidate.runs_here) return candidate.kernels;
  }
  return nullptr;
}

}  // namespace wakesleep
