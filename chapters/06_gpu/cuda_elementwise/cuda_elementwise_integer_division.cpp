// Pitfall: an expression of Python in C++
//
// The expression "1 / 2 * x[i]" comes from a Python program, where 1 / 2 is 0.5. In the text of a kernel it is C++: 1
// and 2 are ints, and their quotient is 0. The compiler says nothing, and every result is 0.
//
// Compile: nvcc -std=c++20 -O3 -Icommon chapters/06_gpu/cuda_elementwise/cuda_elementwise_integer_division.cpp common/cookbook/*.cpp -lnvrtc -lfmt -o cuda_elementwise_integer_division
// Run:     cuda_elementwise_integer_division
// Symptom: exit 1, prints "half of 10 is 0"

#include <vector>

#include "cookbook/cuda.hpp"
#include "elementwise.hpp"

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  const gpu::DeviceArray<float> x(std::vector<float>{10});
  gpu::DeviceArray<float> half(1);
  const Elementwise<const float*, float*> halve({"x", "half"}, "half[i] = 1 / 2 * x[i]");  // right: 1.0F / 2
  halve(1, x.data(), half.data());
  const float result = half.to_host()[0];
  cookbook::println("half of 10 is {}", result);
  return result == 5 ? 0 : 1;
}
