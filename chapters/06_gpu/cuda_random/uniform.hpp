/// Uniform random numbers from cuRAND's host interface.
#pragma once

#include <curand.h>

#include "cuda_memory.hpp"

/// Stands around every call of cuRAND: a call that is refused ends the program with exit code 3.
#define CURAND_CHECK(call) check_curand((call), #call, __FILE__, __LINE__)

inline void check_curand(curandStatus_t status, std::string_view call, std::string_view file, int line) {
  if (status != CURAND_STATUS_SUCCESS) gpu::refused(call, fmt::format("status {}", int{status}), file, line);
}

/// The first `count` numbers of cuRAND's generator XORWOW, above 0 and at most 1.
inline std::vector<double> uniform_numbers(unsigned seed, int count) {
  gpu::DeviceArray<double> numbers(count);
  curandGenerator_t generator;
  CURAND_CHECK(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_XORWOW));
  CURAND_CHECK(curandSetPseudoRandomGeneratorSeed(generator, seed));
  CURAND_CHECK(curandGenerateUniformDouble(generator, numbers.data(), count));
  CURAND_CHECK(curandDestroyGenerator(generator));
  return numbers.to_host();
}
