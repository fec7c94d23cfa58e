#!/usr/bin/env bash
# Fuzz the C++ kernels under AddressSanitizer and UBSan, then under ThreadSanitizer.
#   tests/kernels/fuzz.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds="${1:-200}"
build="$(mktemp -d)"
trap 'rm -rf "$build"' EXIT

avx2="-mavx2 -mfma"
avx512="$avx2 -mavx512f -mavx512dq -mavx512vl -mavx512bw"
[ "$(uname -m)" = x86_64 ] && sets="baseline avx2 avx512" x86="-DWAKESLEEP_X86" || sets="baseline" x86=""

compile() {
  "${CXX:-g++}" -std=c++17 -O1 -g -Wall -Wextra -Wno-uninitialized -Wno-maybe-uninitialized -Wno-psabi $flags "$@"
}

for sanitizers in address,undefined thread; do
  flags="-fsanitize=$sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"
  objects=""
  for set in $sets; do
    compile ${!set:-} -DWAKESLEEP_INSTRUCTION_SET="$set" -c csrc/instruction_set.cc -o "$build/$set.o"
    objects="$objects $build/$set.o"
  done
  compile $x86 tests/kernels/fuzz.cc csrc/drivers.cc csrc/dispatch.cc $objects -pthread -o "$build/fuzz"
  echo "-fsanitize=$sanitizers"
  "$build/fuzz" "$rounds"
done
