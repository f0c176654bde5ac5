// Sum over several GPUs
//
// Each worker has an array on a GPU, and at the end all of them have the sum of all arrays (an all-reduce), as it is
// needed after each step of a simulation or of a training on several GPUs. The workers form a ring, and each gets one
// part after the other from its left neighbour, by copies from device to device. Several workers can share a device, so
// the program runs with one GPU, too.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_many_gpus/cuda_many_gpus.cu common/cookbook/*.cpp -lfmt -o cuda_many_gpus
// Run:     cuda_many_gpus [--workers N] [--count N]

#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "ring.cuh"

namespace {

__global__ void fill(float* data, std::size_t count, unsigned seed) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) data[i] = gpu::random_number(seed, static_cast<unsigned>(i));
}

/// The sums as the ring adds them: chunk c begins with the numbers of worker c, and the next workers add theirs.
std::vector<float> sums_on_host(int workers, std::size_t count) {
  std::vector<float> sums;
  for (int chunk = 0; chunk < workers; ++chunk) {
    for (std::size_t i = count * chunk / workers; i < count * (chunk + 1) / workers; ++i) {
      float sum = gpu::random_number(chunk, static_cast<unsigned>(i));
      for (int k = 1; k < workers; ++k) sum += gpu::random_number((chunk + k) % workers, static_cast<unsigned>(i));
      sums.push_back(sum);
    }
  }
  return sums;
}

}  // namespace

int main(int argc, char** argv) {
  int worker_count = 4;
  std::size_t count = 1'000'000;
  cookbook::Options options("Sum arrays over several GPUs along a ring");
  options.add("workers", worker_count, "arrays to sum; they are dealt out among the devices", 1, 64);
  options.add("count", count, "numbers in each array", 1, 100'000'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  int devices = 0;
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  enable_peer_access(devices);
  Workers workers = make_workers(worker_count, devices, count);
  cookbook::println("{} workers, devices: {}", worker_count, devices);

  for (int i = 0; i < worker_count; ++i) {
    use_device(workers[i].device);
    fill<<<static_cast<unsigned>((count + 255) / 256), 256, 0, workers[i].stream>>>(workers[i].data.data(), count, i);
    CUDA_CHECK(cudaGetLastError());
  }
  synchronize(workers);  // a neighbour reads the data, and no event tells it that they are ready
  ring_all_reduce(workers);
  synchronize(workers);

  const std::vector<float> expected = sums_on_host(worker_count, count);
  int right = 0, same = 0;
  const std::vector<float> of_first = workers[0].data.to_host();
  for (const Worker& worker : workers) {
    const std::vector<float> sums = worker.data.to_host();
    right += sums == expected;
    same += sums == of_first;
  }
  cookbook::Checks checks;
  checks.equal("workers with the sums that the processor computes in the same order", right, worker_count);
  checks.equal("workers with the same bits as the first", same, worker_count);
  return checks.exit_code();
}
