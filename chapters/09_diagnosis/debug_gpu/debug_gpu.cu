// Finding a kernel's fault: a program whose results are right, and which compute-sanitizer stops
//
// Each of four kernels has a fault, but no call of CUDA returns an error, and all results are right. The program runs
// one of them and counts wrong numbers. Run it under NVIDIA's compute-sanitizer: one of its four tools finds the fault,
// and names the line, and mostly the thread and the block.
//
// Compile: nvcc -std=c++20 -O3 -lineinfo -arch=native -Icommon chapters/09_diagnosis/debug_gpu/debug_gpu.cu common/cookbook/*.cpp -lfmt -o debug_gpu
// Run:     debug_gpu [--fault WORD] [--numbers N]
//          compute-sanitizer [--tool WORD] debug_gpu [--fault WORD] [--numbers N]

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"

constexpr int threads = 256;  // of a block

/// Squares of the numbers from 0 to count - 1, one thread per number.
__global__ void set_squares(int* squares, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= count) squares[i] = i * i;  // the fault: <= in place of <
}

/// Adds each number to its total, one thread per number.
__global__ void add_to_totals(const int* numbers, int count, int* totals) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) totals[i] += numbers[i];  // the fault: nobody has set the totals to 0
}

/// Subtracts from each number the first one of its tile of 256. Thread x adds up its differences: those of numbers[x],
/// numbers[x + 256], and so on.
__global__ void sum_above_first(const int* numbers, int count, int* sums) {
  __shared__ int first;
  int sum = 0;
  for (int i = threadIdx.x; i < count; i += threads) {
    if (threadIdx.x == 0) first = numbers[i];
    __syncthreads();
    sum += numbers[i] - first;
    // the fault: no barrier here, so thread 0 may overwrite what others have still to read
  }
  sums[threadIdx.x] = sum;
}

/// The same for a count that need not be a multiple of 256.
__global__ void sum_any_above_first(const int* numbers, int count, int* sums) {
  __shared__ int first;
  int sum = 0;
  for (int i = threadIdx.x; i < count; i += threads) {  // the fault: some threads make one turn less
    if (threadIdx.x == 0) first = numbers[i];
    __syncthreads();
    sum += numbers[i] - first;
    __syncthreads();
  }
  sums[threadIdx.x] = sum;
}

namespace {

/// The results of a kernel, worked out on the host.
std::vector<int> right_results(const std::string& fault, const std::vector<int>& numbers) {
  if (fault == "unwritten") return numbers;
  std::vector<int> results(fault == "store" ? numbers.size() : threads, 0);
  for (int i = 0; i < static_cast<int>(numbers.size()); ++i) {
    if (fault == "store") results[i] = i * i;
    if (fault != "store") results[i % threads] += numbers[i] - numbers[i - i % threads];
  }
  return results;
}

long differences(const std::vector<int>& a, const std::vector<int>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0L, std::plus(), std::not_equal_to());
}

/// Runs one of the kernels. Returns how many of its results are wrong, and how many of the numbers, which no kernel may
/// change.
long wrong_after(const std::string& fault, const std::vector<int>& numbers) {
  const int count = static_cast<int>(numbers.size()), blocks = count / threads + 1;
  const std::vector<int> right = right_results(fault, numbers);
  gpu::DeviceArray<int> results(right.size()), in(numbers);
  if (fault == "store") set_squares<<<blocks, threads>>>(results.data(), count);
  if (fault == "unwritten") add_to_totals<<<blocks, threads>>>(in.data(), count, results.data());
  if (fault == "race") sum_above_first<<<1, threads>>>(in.data(), count, results.data());
  if (fault == "barrier") sum_any_above_first<<<1, threads>>>(in.data(), count, results.data());
  CUDA_CHECK(cudaGetLastError());
  return differences(results.to_host(), right) + differences(in.to_host(), numbers);
}

}  // namespace

int main(int argc, char** argv) {
  std::string fault = "store";
  int count = 0;
  cookbook::Options options("Which thread of which block wrote there?");
  options.add_choice("fault", fault, "the kernel to run", {"store", "unwritten", "race", "barrier"});
  options.add("numbers", count, "how many it works on; 0: as many as its fault needs", 0, 10'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  if (count == 0) count = fault == "race" ? 1024 : fault == "barrier" ? 992 : 1000;

  std::vector<int> numbers(count);
  for (int i = 0; i < count; ++i) numbers[i] = i * 7 % 1000;
  cookbook::Checks checks;
  checks.equal("wrong numbers", wrong_after(fault, numbers), 0);
  return checks.exit_code();
}
