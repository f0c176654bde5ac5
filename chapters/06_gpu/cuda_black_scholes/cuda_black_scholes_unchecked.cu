// Pitfall: nobody asks whether the launch was accepted
//
// A block has at most 1024 threads, and this program asks for 2048. The launch is refused, and nothing runs. A launch
// returns nothing, and the copy after it succeeds: it copies what was in the memory before, here -1.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_black_scholes/cuda_black_scholes_unchecked.cu common/cookbook/*.cpp -lfmt -o cuda_black_scholes_unchecked
// Run:     cuda_black_scholes_unchecked
// Symptom: exit 1, prints "4000000 of 4000000 prices are still -1"

#include <algorithm>
#include <vector>

#include "black_scholes.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"

__global__ void price_calls(const Option<float>* options, float* calls, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) calls[i] = price(options[i]).call;
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  constexpr int count = 4'000'000, threads = 2048;  // wrong: too many
  const gpu::DeviceArray<Option<float>> options(std::vector<Option<float>>(count, {20, 20, 1}));
  gpu::DeviceArray<float> calls(std::vector<float>(count, -1));

  price_calls<<<(count + threads - 1) / threads, threads>>>(options.data(), calls.data(), count);
  // Missing: CUDA_CHECK(cudaGetLastError());

  const std::vector<float> result = calls.to_host();
  const auto unchanged = std::count(result.begin(), result.end(), -1.0F);
  cookbook::println("{} of {} prices are still -1", unchanged, count);
  return unchanged > 0 ? 1 : 0;
}
