// All-reduce by NCCL
//
// Each GPU has an array, and at the end each of them has the sum of all arrays. NCCL, NVIDIA's library for this, does
// it by one call per GPU. A ring does it by hand, with messages: ncclSend and ncclRecv. It has a worker on each GPU, or
// two where there is one GPU only. The program shows how long the calls take, how long it takes until the sums are
// there, and which bandwidth between the GPUs that is, for short and long arrays.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_nccl/cuda_nccl.cu common/cookbook/*.cpp -lnccl -lfmt -o cuda_nccl
// Run:     cuda_nccl [--workers N] [--count N]

#include <nccl.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"

namespace {

/// A GPU, as NCCL sees it. Its number among all that take part is its place in Ranks, and that of the device here.
struct Rank {
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
};

/// An array on a GPU. Several workers may share a GPU, only so that the ring can be tried with a single one; NCCL's own
/// sum has one rank per GPU.
struct Worker {
  int rank;
  gpu::DeviceArray<float> data, received;
};

using Ranks = std::vector<Rank>;
using Workers = std::deque<Worker>;

/// By the library: the first worker of each GPU gets the sum in `received`.
void all_reduce(const Ranks& ranks, Workers& workers) {
  NCCL_CHECK(ncclGroupStart());  // one thread calls for all GPUs: no call may wait for the next one
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    NCCL_CHECK(ncclAllReduce(workers[i].data.data(), workers[i].received.data(), workers[i].data.size(), ncclFloat,
                             ncclSum, ranks[i].communicator, ranks[i].stream));
  }
  NCCL_CHECK(ncclGroupEnd());
}

__global__ void add(float* sum, const float* other, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) sum[i] += other[i];
}

/// By hand: in each of 2 * (n - 1) steps each of n workers receives one of n chunks from its left neighbour. In the
/// first half it adds the chunk to its own; in the second half it keeps it, since it is a sum of all.
void ring_all_reduce(const Ranks& ranks, Workers& workers) {
  const int n = static_cast<int>(workers.size());
  const std::size_t size = workers[0].data.size();
  for (int step = 0; step < 2 * (n - 1); ++step) {
    const bool adds = step < n - 1;
    const auto chunk = [&](int i) { return (i - 1 - step + 2 * n) % n; };  // the one that worker i receives
    const auto first = [&](int i) { return size * chunk(i) / n; };
    const auto count = [&](int i) { return size * (chunk(i) + 1) / n - first(i); };
    NCCL_CHECK(ncclGroupStart());  // all messages of a step at the same time
    for (int i = 0; i < n; ++i) {
      Worker &worker = workers[i], &left = workers[(i + n - 1) % n];
      const Rank &here = ranks[worker.rank], &there = ranks[left.rank];
      float* const target = (adds ? worker.received : worker.data).data() + first(i);
      NCCL_CHECK(
          ncclSend(left.data.data() + first(i), count(i), ncclFloat, worker.rank, there.communicator, there.stream));
      NCCL_CHECK(ncclRecv(target, count(i), ncclFloat, left.rank, here.communicator, here.stream));
    }
    NCCL_CHECK(ncclGroupEnd());
    for (int i = 0; adds && i < n; ++i) {
      if (count(i) == 0) continue;
      CUDA_CHECK(cudaSetDevice(workers[i].rank));
      add<<<static_cast<unsigned>((count(i) + 255) / 256), 256, 0, ranks[workers[i].rank].stream>>>(
          workers[i].data.data() + first(i), workers[i].received.data() + first(i), count(i));
      CUDA_CHECK(cudaGetLastError());
    }
  }
}

void synchronize(const Ranks& ranks) {
  for (const Rank& rank : ranks) CUDA_CHECK(cudaStreamSynchronize(rank.stream));
}

Workers make_workers(int count, int ranks, std::size_t numbers) {
  Workers workers;
  for (int i = 0; i < count; ++i) {
    CUDA_CHECK(cudaSetDevice(i % ranks));  // the arrays are allocated on the current device
    workers.push_back({i % ranks, gpu::DeviceArray<float>(numbers), gpu::DeviceArray<float>(numbers)});
  }
  return workers;
}

/// How many of the numbers differ from the sum of the first `summands` workers' by more than rounding explains.
std::size_t wrong_sums(const gpu::DeviceArray<float>& result, int summands) {
  const std::vector<float> sums = result.to_host();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    double expected = 0;
    for (int k = 0; k < summands; ++k) expected += gpu::random_number(k, static_cast<unsigned>(i));
    wrong += !(std::abs(sums[i] - expected) <= 1e-7 * summands * summands);
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  int worker_count = 0, devices = 0;
  std::size_t count = 1 << 24;
  cookbook::Options options("Sum arrays over several GPUs by NCCL");
  options.add("workers", worker_count, "arrays that the ring sums; 0: one on each GPU, at least two", 0, 64);
  options.add("count", count, "numbers of a long array", 1, 1 << 28);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  CUDA_CHECK(cudaGetDeviceCount(&devices));
  worker_count = std::max(worker_count == 0 ? 2 : worker_count, devices);
  std::vector<ncclComm_t> communicators(devices);
  gpu::keep_nccl_on_this_machine();
  NCCL_CHECK(ncclCommInitAll(communicators.data(), devices, nullptr));  // rank i gets device i
  Ranks ranks(devices);
  for (int i = 0; i < devices; ++i) {
    CUDA_CHECK(cudaSetDevice(i));
    ranks[i].communicator = communicators[i];
    CUDA_CHECK(cudaStreamCreateWithFlags(&ranks[i].stream, cudaStreamNonBlocking));
  }

  std::size_t wrong = 0;
  const auto run = [&](const char* name, auto sum, std::size_t numbers, int summands,
                       gpu::DeviceArray<float> Worker::*result) {
    Workers workers = make_workers(worker_count, devices, numbers);
    double queued = 1e9, done = 1e9;
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < worker_count; ++i) {
        CUDA_CHECK(cudaSetDevice(workers[i].rank));
        workers[i].received.poison();
        gpu::fill_random(workers[i].data, i);
        CUDA_CHECK(cudaDeviceSynchronize());
      }
      const cookbook::Stopwatch watch;
      sum(ranks, workers);
      queued = std::min(queued, watch.seconds());
      synchronize(ranks);
      done = std::min(done, watch.seconds());
    }
    for (int i = 0; i < summands; ++i) wrong += wrong_sums(workers[i].*result, summands);
    const double received = 2.0 * (summands - 1) / summands * numbers * sizeof(float);  // by a worker of the ring
    cookbook::println("{:<16}{:>8}{:>13.0f} us{:>13.0f} us{:>12.1f} GB/s", name, numbers, queued * 1e6, done * 1e6,
                      received / done / 1e9);
  };
  cookbook::println("{:<16}{:>8}{:>16}{:>16}{:>17}", "", "numbers", "calls return", "sums are there", "bus bandwidth");
  for (const std::size_t numbers : {std::min<std::size_t>(count, 1000), count}) {
    run("ncclAllReduce", all_reduce, numbers, devices, &Worker::received);
    run("ring by hand", ring_all_reduce, numbers, worker_count, &Worker::data);
  }
  for (const Rank& rank : ranks) {
    CUDA_CHECK(cudaStreamDestroy(rank.stream));
    NCCL_CHECK(ncclCommDestroy(rank.communicator));
  }

  cookbook::Checks checks;
  checks.equal("wrong sums", wrong, 0U);
  return checks.exit_code();
}
