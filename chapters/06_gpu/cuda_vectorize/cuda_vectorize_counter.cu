// Pitfall: the function counts its calls
//
// The function limits a sum to 1, and counts in a variable of its own how often it did. It is right in a plain loop.
// But each thread of the GPU has a copy of the function, and counts in that copy, so the caller's variable stays 0.
// On the processor each copy counts for itself as well.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_vectorize/cuda_vectorize_counter.cu common/cookbook/*.cpp -ltbb -lfmt -o cuda_vectorize_counter
// Run:     cuda_vectorize_counter
// Symptom: exit 1, prints "limited sums: 1000, counted: 0"

#include <algorithm>

#include "cookbook/print.hpp"
#include "vectorize.cuh"

struct LimitedAdd {
  int count = 0;
  __host__ __device__ float operator()(float a, float b) {
    if (a + b <= 1) return a + b;
    ++count;  // wrong: this is a thread's own copy
    return 1;
  }
};

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  const std::vector<float> a(1'000, 0.75F), b(1'000, 0.5F);
  LimitedAdd limited_add;
  const std::vector<float> sum = vectorize(limited_add, Target::gpu)(a, b);
  const auto limited = std::count(sum.begin(), sum.end(), 1.0F);
  cookbook::println("limited sums: {}, counted: {}", limited, limited_add.count);
  return limited_add.count == limited ? 0 : 1;
}
