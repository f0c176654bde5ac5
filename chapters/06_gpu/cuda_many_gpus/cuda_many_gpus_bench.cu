// Sum over several GPUs, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_many_gpus/cuda_many_gpus_bench.cu common/cookbook/*.cpp -lnccl -lfmt -o cuda_many_gpus_bench
// Run:     cuda_many_gpus_bench [--count N] [--rounds N]

#include <nccl.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "ring.cuh"

namespace {

/// Adds what stands in the neighbour's memory, without a copy in between: several loads of 16 bytes are under way
/// before the first is used, since they take long.
__global__ void add_from_neighbour(float4* sum, const float4* other, std::size_t fours) {
  constexpr int each = 4;
  const std::size_t first = std::size_t{blockIdx.x} * blockDim.x * each + threadIdx.x;
  float4 theirs[each];
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const std::size_t i = first + k * blockDim.x;
    if (i < fours) theirs[k] = other[i];
  }
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const std::size_t i = first + k * blockDim.x;
    if (i >= fours) continue;
    const float4 mine = sum[i];
    sum[i] = make_float4(mine.x + theirs[k].x, mine.y + theirs[k].y, mine.z + theirs[k].z, mine.w + theirs[k].w);
  }
}

/// ring_all_reduce() without the copies of the first half. The chunks begin at a multiple of four numbers, and so does
/// the end of the data. All neighbours must have access to each other's memory.
void direct_all_reduce(Workers& workers) {
  const int n = static_cast<int>(workers.size());
  for (int step = 0; step < 2 * (n - 1); ++step) {
    for (int i = 0; i < n; ++i) {
      Worker &worker = workers[i], &left = workers[(i + n - 1) % n];
      const int chunk = (i - 1 - step + 2 * n) % n;
      const std::size_t all = worker.data.size() / 4, first = all * chunk / n, fours = all * (chunk + 1) / n - first;
      auto* const mine = reinterpret_cast<float4*>(worker.data.data()) + first;
      const auto* const theirs = reinterpret_cast<const float4*>(left.data.data()) + first;

      use_device(worker.device);
      if (step > 0) CUDA_CHECK(cudaStreamWaitEvent(worker.stream, left.step_done[(step - 1) % 2]));
      if (step < n - 1) {
        add_from_neighbour<<<static_cast<unsigned>((fours + 2047) / 2048), 512, 0, worker.stream>>>(mine, theirs,
                                                                                                    fours);
        CUDA_CHECK(cudaGetLastError());
      } else {
        CUDA_CHECK(cudaMemcpyAsync(mine, theirs, fours * sizeof(float4), cudaMemcpyDefault, worker.stream));
      }
      CUDA_CHECK(cudaEventRecord(worker.step_done[step % 2], worker.stream));
    }
  }
}

void fill_all(Workers& workers) {
  for (std::size_t i = 0; i < workers.size(); ++i) {
    Worker& worker = workers[i];
    use_device(worker.device);
    worker.received.poison();
    gpu::fill_random(worker.data, static_cast<unsigned>(i));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
}

bool neighbours_have_access(const Workers& workers) {
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const int device = workers[i].device, left = workers[(i + workers.size() - 1) % workers.size()].device;
    int possible = 1;
    if (device != left) CUDA_CHECK(cudaDeviceCanAccessPeer(&possible, device, left));
    if (!possible) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  // Without NVLink multicast (NVLS), in which the switch adds up: a ring made by hand does not have it either.
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  std::size_t count = 1 << 28;
  int rounds = 21;
  cookbook::Options options("Measure sums over several GPUs");
  options.add("count", count, "numbers in each array, rounded up to a multiple of 4", 1000, 1 << 30);
  options.add("rounds", rounds, "measurements of each row", 1, 1001);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  count = (count + 3) / 4 * 4;

  int devices = 0;
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  enable_peer_access(devices);
  const int n = std::max(2, devices);  // with one device it is shared by two workers, and NCCL is left out
  std::vector<ncclComm_t> communicators(devices);
  gpu::keep_nccl_on_this_machine();
  std::vector<int> numbers(devices);
  std::iota(numbers.begin(), numbers.end(), 0);
  if (devices > 1) NCCL_CHECK(ncclCommInitAll(communicators.data(), devices, numbers.data()));
  const auto by_nccl = [&](Workers& workers) {  // from `data` to `received`
    NCCL_CHECK(ncclGroupStart());
    for (int i = 0; i < devices; ++i) {
      NCCL_CHECK(ncclAllReduce(workers[i].data.data(), workers[i].received.data(), workers[i].data.size(), ncclFloat,
                               ncclSum, communicators[i], workers[i].stream));
    }
    NCCL_CHECK(ncclGroupEnd());
  };

  // The results are checked with arrays that the processor can sum in a moment.
  cookbook::Checks checks;
  Workers small = make_workers(n, devices, std::min<std::size_t>(count, 1 << 20));
  const bool direct = neighbours_have_access(small);
  std::vector<float> expected(small[0].data.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (int k = 0; k < n; ++k) expected[i] += gpu::random_number(k, static_cast<unsigned>(i));
  }
  const auto check = [&](const std::string& what, auto all_reduce, gpu::DeviceArray<float> Worker::*result) {
    fill_all(small);
    all_reduce(small);
    synchronize(small);
    std::size_t wrong = 0;
    for (const Worker& worker : small) {
      const std::vector<float> sums = (worker.*result).to_host();
      for (std::size_t i = 0; i < sums.size(); ++i) wrong += !(std::abs(sums[i] - expected[i]) <= 1e-6F * n * n);
    }
    checks.equal(what + ", wrong sums", wrong, 0);
  };
  check("ring of copies", ring_all_reduce, &Worker::data);
  if (direct) check("ring of direct reads", direct_all_reduce, &Worker::data);
  if (devices > 1) check("NCCL", by_nccl, &Worker::received);

  Workers workers = make_workers(n, devices, count);
  fill_all(workers);
  const auto timed = [&](const std::string& name, double bytes, auto work) {
    return cookbook::Benchmark(name, bytes, [&workers, work] {
      work(workers);
      synchronize(workers);
    });
  };
  // What each worker sends at least, and receives: n - 1 of n chunks in each half.
  const std::size_t part = count * (n - 1) / n * sizeof(float);
  const auto copies = [&](Workers& all) {
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < n; ++i) {
        use_device(all[i].device);
        CUDA_CHECK(cudaMemcpyAsync(all[i].received.data(), all[(i + n - 1) % n].data.data(), part, cudaMemcpyDefault,
                                   all[i].stream));
      }
    }
  };
  const double bytes = 2.0 * static_cast<double>(part);
  cookbook::Figures figures(fmt::format("{} workers, devices: {}, {} floats each", n, devices, count),
                            cookbook::rate("GB/s", 1e9), gpu::device());
  std::vector<cookbook::Benchmark> rows = {timed("copies from the neighbour alone", bytes, copies),
                                           timed("ring of copies", bytes, ring_all_reduce)};
  if (direct) rows.push_back(timed("ring of direct reads", bytes, direct_all_reduce));
  if (devices > 1) rows.push_back(timed("NCCL", bytes, by_nccl));
  figures.measure(rows, rounds);
  figures.percent_of("copies from the neighbour alone", "copies");
  if (devices > 1) figures.speedup_over("NCCL");
  figures.print(checks);

  for (int i = 0; devices > 1 && i < devices; ++i) NCCL_CHECK(ncclCommDestroy(communicators[i]));
  return checks.exit_code();
}
