/// Uniform random numbers from cuRAND's host interface.
#pragma once

#include <curand.h>

#include "cookbook/cuda.hpp"

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
