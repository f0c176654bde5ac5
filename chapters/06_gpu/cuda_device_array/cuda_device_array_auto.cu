// Pitfall: auto keeps an expression, not its result
//
// `auto doubled = 2 * a` computes nothing. It is an expression that refers to the elements of a. They change before an
// array is made of the expression, so the array is twice the new elements. `Array doubled = 2 * a` computes at once.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_device_array/cuda_device_array_auto.cu common/cookbook/*.cpp -lfmt -o cuda_device_array_auto
// Run:     cuda_device_array_auto
// Symptom: exit 1, prints "twice 1 is 200"

#include "array.cuh"

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  Array a(std::vector<float>{1});

  const auto doubled = 2 * a;  // wrong: an expression, not its result
  a = 100 * a;
  const Array result = doubled;

  const float number = result.get()[0];
  cookbook::println("twice 1 is {}", number);
  return number == 2 ? 0 : 1;
}
