/// The lanes of a vector register, and what they do where they disagree.
#pragma once

#include <cstdint>
#include <experimental/simd>

namespace stdx = std::experimental;

using Number = std::uint32_t;  ///< wraps around at 2^32, so all results are exact, whatever the order

/// As many numbers as fit into a vector register of the machine that the program was compiled for.
using Lanes = stdx::native_simd<Number>;

/// What those registers are called.
constexpr const char* vector_name() {
#if defined(__AVX512F__)
  return "AVX-512";
#elif defined(__AVX2__)
  return "AVX2";
#elif defined(__SSE2__)
  return "SSE2";
#elif defined(__ARM_NEON)
  return "NEON";
#else
  return "none";
#endif
}

/// 3x + 1 in the lanes whose x is odd, x / 2 in the others. All lanes compute both, and a mask chooses: no lane jumps.
template <typename Vector>
Vector branch_by_mask(Vector x) {
  Vector result = x >> 1;
  stdx::where((x & 1) == 1, result) = 3 * x + 1;
  return result;
}

/// The same for a single number, by a mask of 32 zeros or ones.
[[gnu::always_inline]] inline Number branch_by_mask(Number x) {
  const Number odd = -(x % 2);
  return (odd & (3 * x + 1)) | (~odd & (x / 2));
}
