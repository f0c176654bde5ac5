// One function for processor and GPU
//
// A function that adds two floats is written once. vectorize() makes of it a function that adds two vectors, and one
// word chooses where that runs: on the processor's cores, or on the GPU, with all copies there and back. Both add with
// the same rounding, so the result is compared bit by bit with that of a plain loop.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_vectorize/cuda_vectorize.cu common/cookbook/*.cpp -ltbb -lfmt -o cuda_vectorize
// Run:     cuda_vectorize [--target cpu|gpu] [--count N] [--chunk N]

#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "vectorize.cuh"

namespace {

/// What happens to one pair of elements. __host__ __device__ compiles it for both.
struct Add {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 100'000, chunk = std::size_t{1} << 26;
  std::string target = "gpu";
  cookbook::Options options("Make a function of two floats one of two vectors, on the processor or on a GPU");
  options.add_choice("target", target, "where the function runs", {"cpu", "gpu"});
  options.add("count", count, "elements of each vector", 0, 400'000'000);
  options.add("chunk", chunk, "elements that go to the GPU at a time", 1, 400'000'000);
  options.parse(argc, argv);
  if (target == "gpu" && !gpu::device_found()) return gpu::skipped;

  const auto add = vectorize(Add{}, target == "gpu" ? Target::gpu : Target::cpu, chunk);

  const std::vector<float> a = gpu::random_numbers(1, count), b = gpu::random_numbers(2, count);
  const std::vector<float> sum = add(a, b);

  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += sum[i] != a[i] + b[i];
  bool refused = false;
  try {
    add(a, std::vector<float>(count + 1));
  } catch (const std::invalid_argument&) {
    refused = true;
  }

  cookbook::Checks checks;
  checks.equal("sums", sum.size(), count);
  checks.equal("wrong sums", wrong, 0U);
  checks.that("vectors of different lengths are refused", refused);
  return checks.exit_code();
}
