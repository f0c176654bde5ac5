// The GPUs of this machine
//
// Asks every GPU for its name, its compute capability and its memory, and for the figures behind its speed: how many
// multiprocessors it has, how wide its memory bus is, how fast the clocks run. From these follow the threads that the
// GPU holds at once, the operations per second and the bytes per second. The program also measures what the GPU reaches
// of the last two. The formulas are first checked for a GPU whose data sheet is known; this part needs no GPU.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_devices/cuda_devices.cu common/cookbook/*.cpp -lfmt -o cuda_devices
// Run:     cuda_devices

#include <cmath>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "device_facts.hpp"
#include "fastest.hpp"

namespace {

/// Multiplies and adds, in eight chains: an instruction need not wait for the one before it.
__global__ void multiply_and_add(float* results, int rounds, float factor) {
  float x[8];
  for (int k = 0; k < 8; ++k) x[k] = static_cast<float>(threadIdx.x + k);
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < 8; ++k) x[k] = x[k] * factor + 1;
  }
  float sum = 0;
  for (const float value : x) sum += value;
  results[blockIdx.x * blockDim.x + threadIdx.x] = sum;  // so that the compiler keeps the work
}

/// How much of `work` per second the current device does, in the fastest of five runs of `start()`.
template <typename Start>
double per_second(double work, Start start) {
  const auto started = [&] {
    start();
    CUDA_CHECK(cudaGetLastError());
  };
  return work / fastest_alone(started, 5);
}

/// The float operations per second that multiply_and_add() reaches.
double reached_arithmetic() {
  constexpr int threads = 256, rounds = 20'000;
  const int blocks = 4 * gpu::resident_blocks(multiply_and_add, threads);
  gpu::DeviceArray<float> results(std::size_t(blocks) * threads);
  return per_second(1.0 * blocks * threads * rounds * 8 * 2,
                    [&] { multiply_and_add<<<blocks, threads>>>(results.data(), rounds, 0.5F); });
}

/// The bytes per second that a copy within the device's memory reads and writes.
double reached_bandwidth() {
  const gpu::DeviceArray<float> from(1 << 27);  // 512 MiB, more than any cache holds
  gpu::DeviceArray<float> to(from.size());
  const std::size_t bytes = from.size() * sizeof(float);
  return per_second(2.0 * bytes,
                    [&] { CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice)); });
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Ask every GPU what it can do");
  options.parse(argc, argv);

  cookbook::Checks checks;
  const DeviceFacts v100 = {.name = "Tesla V100 SXM2",
                            .major = 7,
                            .minor = 0,
                            .memory_bytes = 17'179'869'184,
                            .multiprocessors = 80,
                            .threads_per_multiprocessor = 2048,
                            .clock_khz = 1'530'000,
                            .memory_clock_khz = 877'000,
                            .memory_bus_bits = 4096};
  checks.equal("peak of a Tesla V100 SXM2 in GFLOP/s (data sheet: 15700, rounded)",
               std::lround(peak_arithmetic(v100) / 1e9), 15'667);
  checks.equal("peak of a Tesla V100 SXM2 in GB/s (data sheet: 900, rounded)", std::lround(peak_bandwidth(v100) / 1e9),
               898);
  if (!gpu::device_found()) return gpu::without_device(checks);

  int count = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  cookbook::println("{} device(s) found.", count);
  for (int device = 0; device < count; ++device) {
    for (const std::string& line : report(device, facts_of(device))) cookbook::println("{}", line);
    CUDA_CHECK(cudaSetDevice(device));
    cookbook::println("Reached: {:.1f} TFLOP/s by multiplying and adding", reached_arithmetic() / 1e12);
    cookbook::println("Reached: {:.0f} GB/s by a copy, read and written", reached_bandwidth() / 1e9);
  }
  return checks.exit_code();
}
