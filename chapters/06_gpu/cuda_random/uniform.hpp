/// Uniform random numbers from cuRAND's host interface: above 0 and at most 1.
#pragma once

#include <curand.h>

#include "cookbook/cuda.hpp"

/// A generator and its place in its sequence.
class Generator {
 public:
  Generator(curandRngType_t type, unsigned seed) {
    CURAND_CHECK(curandCreateGenerator(&generator_, type));
    CURAND_CHECK(curandSetPseudoRandomGeneratorSeed(generator_, seed));
  }
  ~Generator() { curandDestroyGenerator(generator_); }
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// In which order the numbers of the generator's sequences stand in an array: cuRAND's default, or one of
  /// curandOrdering_t. To be called before the first fill().
  void set_order(curandOrdering_t order) { CURAND_CHECK(curandSetGeneratorOrdering(generator_, order)); }

  /// Queues on the default stream that the array on the device gets the sequence's next numbers.
  void fill(gpu::DeviceArray<float>& numbers) {
    CURAND_CHECK(curandGenerateUniform(generator_, numbers.data(), numbers.size()));
  }

 private:
  curandGenerator_t generator_ = nullptr;
};
