// The GPUs of this machine
//
// Asks every GPU for its name, its compute capability and its memory, and for the figures behind its speed: how many
// multiprocessors it has, how wide its memory bus is, how fast the clocks run. From these follow the threads that the
// GPU holds at once, the operations per second and the bytes per second. The program also measures what the GPU reaches
// of the last two; of the operations with as many threads as it holds, with few, and with few that have more to do.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_devices/cuda_devices.cu common/cookbook/*.cpp -lfmt -o cuda_devices
// Run:     cuda_devices

#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "device_facts.hpp"
#include "fastest.hpp"

namespace {

constexpr int steps = 32;  // multiplications and additions in a row, which the compiler writes out

/// Multiplies and adds, `numbers` numbers in turn: with eight, a step need not wait for the seven before it.
template <int numbers>
__global__ void multiply_and_add(float* results, int rounds, float factor) {
  float x[numbers];
  for (int k = 0; k < numbers; ++k) x[k] = static_cast<float>(threadIdx.x + k);
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int step = 0; step < steps; ++step) x[step % numbers] = x[step % numbers] * factor + 1;
  }
  float sum = 0;
  for (const float value : x) sum += value;
  results[blockIdx.x * blockDim.x + threadIdx.x] = sum;  // so that the compiler keeps the work
}

/// The float operations per second that multiply_and_add() reaches: a multiplication and an addition in each step.
template <int numbers>
double reached_arithmetic(int threads_per_multiprocessor) {
  constexpr int threads = 128, rounds = 20'000;  // four warps per block, one for each part of a multiprocessor
  const int blocks = gpu::multiprocessors() * threads_per_multiprocessor / threads;
  gpu::DeviceArray<float> results(std::size_t(blocks) * threads);
  const auto work = [&] {
    multiply_and_add<numbers><<<blocks, threads>>>(results.data(), rounds, 0.5F);
    CUDA_CHECK(cudaGetLastError());
  };
  return 2.0 * blocks * threads * rounds * steps / fastest_alone(work, 5);
}

/// Prints the float operations per second that are reached, and says whether they are above the peak.
template <int numbers>
bool show_arithmetic(const DeviceFacts& facts, int threads_per_multiprocessor) {
  const double reached = reached_arithmetic<numbers>(threads_per_multiprocessor);
  cookbook::println("Reached: {:.1f} TFLOP/s by {} threads per multiprocessor, {} each", reached / 1e12,
                    threads_per_multiprocessor, numbers == 1 ? "one number" : "eight numbers");
  return reached > 1.05 * peak_arithmetic(facts);
}

/// Prints the bytes per second that a copy within the device's memory reads and writes, and those that a fill writes;
/// returns how many of the two are above the peak.
int show_bandwidth(const DeviceFacts& facts) {
  const gpu::DeviceArray<float> from(1 << 27);  // 512 MiB, more than any cache holds
  gpu::DeviceArray<float> to(from.size());
  const std::size_t bytes = from.size() * sizeof(float);
  const auto copy = [&] { CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice)); };
  const auto fill = [&] { CUDA_CHECK(cudaMemsetAsync(to.data(), 1, bytes)); };
  const double copied = 2.0 * bytes / fastest_alone(copy, 5), filled = 1.0 * bytes / fastest_alone(fill, 5);
  cookbook::println("Reached: {:.0f} GB/s by a copy, read and written", copied / 1e9);
  cookbook::println("Reached: {:.0f} GB/s by a fill, written", filled / 1e9);
  return (copied > 1.05 * peak_bandwidth(facts)) + (filled > 1.05 * peak_bandwidth(facts));
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Ask every GPU what it can do");
  options.parse(argc, argv);

  if (!gpu::device_found()) return gpu::skipped;

  cookbook::Checks checks;
  int count = 0, above = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  cookbook::println("{} device(s) found.", count);
  for (int device = 0; device < count; ++device) {
    const DeviceFacts facts = facts_of(device);
    for (const std::string& line : report(device, facts)) cookbook::println("{}", line);
    CUDA_CHECK(cudaSetDevice(device));
    above += show_arithmetic<8>(facts, facts.threads_per_multiprocessor);
    above += show_arithmetic<1>(facts, facts.threads_per_multiprocessor);
    above += show_arithmetic<8>(facts, 128);
    above += show_arithmetic<1>(facts, 128);
    above += show_bandwidth(facts);
  }
  checks.equal("rates above their peak", above, 0);
  return checks.exit_code();
}
