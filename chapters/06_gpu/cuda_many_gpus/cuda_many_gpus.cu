// Sum over several GPUs
//
// Each worker has an array on a GPU, and at the end all of them have the sum of all arrays (an all-reduce), as it is
// needed after each step of the training of a neural network on several GPUs. The naive form sends all arrays to worker
// 0 and the sum back; in the other one the workers form a ring, and each gets one part after the other from its left
// neighbour. The program shows how much the busiest worker receives and sends in each, and how long each takes. Several
// workers can share a device, but then they share its memory and its link, too.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_many_gpus/cuda_many_gpus.cu common/cookbook/*.cpp -lfmt -o cuda_many_gpus
// Run:     cuda_many_gpus [--workers N] [--count N]

#include <algorithm>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "ring.cuh"

namespace {

/// The naive form: worker 0 receives all arrays and adds them up, and then each of the others receives the sum.
void all_reduce_by_the_first(Workers& workers) {
  Worker& root = workers[0];
  const std::size_t count = root.data.size();
  use_device(root.device);
  for (std::size_t i = 1; i < workers.size(); ++i) {
    receive(root, root.received.data(), workers[i], 0, count);
    add<<<static_cast<unsigned>((count + 255) / 256), 256, 0, root.stream>>>(root.data.data(), root.received.data(),
                                                                             count);
    CUDA_CHECK(cudaGetLastError());
  }
  CUDA_CHECK(cudaEventRecord(root.step_done[0], root.stream));
  for (std::size_t i = 1; i < workers.size(); ++i) {
    use_device(workers[i].device);
    CUDA_CHECK(cudaStreamWaitEvent(workers[i].stream, root.step_done[0]));
    receive(workers[i], workers[i].data.data(), root, 0, count);
  }
}

/// The sum of the numbers with this index, added in the order of the workers, from worker `begin` on.
float sum_on_host(int workers, int begin, std::size_t index) {
  float sum = gpu::random_number(begin, static_cast<unsigned>(index));
  for (int k = 1; k < workers; ++k) sum += gpu::random_number((begin + k) % workers, static_cast<unsigned>(index));
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  int worker_count = 4;
  std::size_t count = 1 << 25;
  cookbook::Options options("Sum arrays over several GPUs along a ring");
  options.add("workers", worker_count, "arrays to sum; they are dealt out among the devices", 1, 64);
  options.add("count", count, "numbers in each array", 1, 100'000'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  int devices = 0;
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  enable_peer_access(devices);
  Workers workers = make_workers(worker_count, devices, count);
  cookbook::println("{} workers, devices: {}, arrays of {:.0f} MB", worker_count, devices,
                    static_cast<double>(count * sizeof(float)) / 1e6);

  // The naive form adds the arrays in the order of the workers. Along the ring, chunk c begins with worker c.
  std::vector<float> in_order(count), along_ring(count);
  for (int chunk = 0; chunk < worker_count; ++chunk) {
    for (std::size_t i = count * chunk / worker_count; i < count * (chunk + 1) / worker_count; ++i) {
      in_order[i] = sum_on_host(worker_count, 0, i);
      along_ring[i] = sum_on_host(worker_count, chunk, i);
    }
  }

  int right = 0;
  const auto run = [&](const char* who, const char* when, auto all_reduce, const std::vector<float>& expected) {
    double seconds = 1e9;
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < worker_count; ++i) {
        use_device(workers[i].device);
        workers[i].bytes_received = workers[i].bytes_sent = 0;
        workers[i].received.poison();
        gpu::fill_random(workers[i].data, i);
        CUDA_CHECK(cudaDeviceSynchronize());
      }
      const cookbook::Stopwatch watch;
      all_reduce(workers);
      synchronize(workers);
      seconds = std::min(seconds, watch.seconds());
    }
    std::size_t received = 0, sent = 0;
    for (const Worker& worker : workers) {
      received = std::max(received, worker.bytes_received);
      sent = std::max(sent, worker.bytes_sent);
      right += worker.data.to_host() == expected;
    }
    const double one = static_cast<double>(count * sizeof(float));
    cookbook::println("{} receives {:5.2f} arrays, {:>9} sends {:5.2f} {:8.2f} ms", who,
                      static_cast<double>(received) / one, when, static_cast<double>(sent) / one, seconds * 1e3);
  };
  run("by way of worker 0, which", "then", all_reduce_by_the_first, in_order);
  run("along a ring; each worker", "meanwhile", ring_all_reduce, along_ring);

  cookbook::Checks checks;
  checks.equal("workers with the right sums, both ways counted", right, 2 * worker_count);
  return checks.exit_code();
}
