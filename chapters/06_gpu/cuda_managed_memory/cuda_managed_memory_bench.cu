// Managed memory, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_managed_memory/cuda_managed_memory_bench.cu common/cookbook/*.cpp -lfmt -o cuda_managed_memory_bench
// Run:     cuda_managed_memory_bench [--count N] [--rounds N]

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "managed.hpp"

namespace {

__global__ void add_one(unsigned* numbers, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) ++numbers[i];
}

__global__ void set(unsigned* numbers, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = static_cast<unsigned>(i);
}

/// Writes its results elsewhere: from pages on the device into pages that stay on the host.
__global__ void add_one_into(const unsigned* numbers, unsigned* results, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) results[i] = numbers[i] + 1;
}

template <typename Kernel>
void start(Kernel kernel, unsigned* numbers, std::size_t count) {
  kernel<<<static_cast<unsigned>((count + 255) / 256), 256>>>(numbers, count);
  CUDA_CHECK(cudaGetLastError());
}

/// Seconds until the device has done what `work()` queues. By the host's clock: a page that moves is the host's work,
/// too.
template <typename Work>
double seconds(Work work) {
  CUDA_CHECK(cudaDeviceSynchronize());
  const cookbook::Stopwatch watch;
  work();
  CUDA_CHECK(cudaDeviceSynchronize());
  return watch.seconds();
}

/// Reads one number of each page of 4 KiB. Volatile, so that the compiler leaves no load out.
void touch(const volatile unsigned* numbers, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 1024) static_cast<void>(numbers[i]);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1 << 28;
  int rounds = 11;
  cookbook::Options options("Measure managed memory beside copies");
  options.add("count", count, "numbers in the array", 1, 1 << 29);
  options.add("rounds", rounds, "measured runs of each row", 1, 1000);
  options.parse(argc, argv);
  if (!gpu::device_found() || !pages_move()) return gpu::skipped;
  const std::size_t bytes = count * sizeof(unsigned);
  cookbook::require_memory(4.0 * static_cast<double>(bytes), fmt::format("--count {}", count));

  unsigned* pinned;
  CUDA_CHECK(cudaMallocHost(&pinned, bytes));
  std::vector<unsigned> pageable(count);
  gpu::DeviceArray<unsigned> device(count);
  ManagedArray<unsigned> managed(count), stays(count);
  CUDA_CHECK(cudaMemAdvise(stays.data(), bytes, cudaMemAdviseSetPreferredLocation, on_host()));
  CUDA_CHECK(cudaMemAdvise(stays.data(), bytes, cudaMemAdviseSetAccessedBy, on_device()));

  const auto copy_in = [&](const unsigned* host) {
    CUDA_CHECK(cudaMemcpyAsync(device.data(), host, bytes, cudaMemcpyHostToDevice));
  };
  const auto copy_out = [&](unsigned* host) {
    CUDA_CHECK(cudaMemcpyAsync(host, device.data(), bytes, cudaMemcpyDeviceToHost));
  };
  const auto move_in = [&] { prefetch(managed.data(), bytes, on_device()); };
  const auto move_out = [&] { prefetch(managed.data(), bytes, on_host()); };

  // There and back: the numbers are with the host, the kernel changes them, the host has read one number of each page.
  struct Way {
    std::string name;
    unsigned* host;
    std::function<void()> work;
  };
  const auto by_copies = [&](unsigned* host) {
    copy_in(host);
    start(add_one, device.data(), count);
    copy_out(host);
  };
  const std::vector<Way> ways = {
      {"copies, pinned memory", pinned, [&] { by_copies(pinned); }},
      {"copies, pageable memory", pageable.data(), [&] { by_copies(pageable.data()); }},
      {"managed, prefetched", managed.data(),
       [&] {
         move_in();
         start(add_one, managed.data(), count);
         move_out();
       }},
      {"managed, moved when touched", managed.data(), [&] { start(add_one, managed.data(), count); }},
      {"managed, stays on the host", stays.data(), [&] { start(add_one, stays.data(), count); }}};

  cookbook::Checks checks;
  std::vector<cookbook::Benchmark> rows;
  for (const Way& way : ways) {
    std::iota(way.host, way.host + count, 0U);
    device.poison();
    seconds(way.work);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) wrong += way.host[i] != static_cast<unsigned>(i) + 1;
    checks.equal("wrong numbers: " + way.name, wrong, 0U);
    rows.emplace_back(way.name, 2.0 * static_cast<double>(bytes), [&way, count] {
      touch(way.host, count);  // the pages are with the host, and the host knows where
      return seconds([&] {
        way.work();
        CUDA_CHECK(cudaDeviceSynchronize());
        touch(way.host, count);
      });
    });
  }

  // Two more ways back to the host, whose results are looked at here.
  const auto copy_managed_out = [&] {
    CUDA_CHECK(cudaMemcpyAsync(pinned, managed.data(), bytes, cudaMemcpyDeviceToHost));
  };
  const auto write_results_out = [&] {
    add_one_into<<<static_cast<unsigned>((count + 255) / 256), 256>>>(managed.data(), stays.data(), count);
    CUDA_CHECK(cudaGetLastError());
  };
  std::fill_n(pinned, count, 0U);
  std::fill_n(stays.data(), count, 0U);
  seconds([&] {
    move_in();
    copy_managed_out();
    write_results_out();
  });
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    wrong += pinned[i] != managed.data()[i] || stays.data()[i] != managed.data()[i] + 1;
  }
  checks.equal("wrong numbers: copied from managed memory, or written by a kernel", wrong, 0U);

  // One way each, and pages that nobody had before.
  const double once = static_cast<double>(bytes);
  const std::vector<cookbook::Benchmark> one_way = {
      {"to the device: copy, pinned memory", once, [&] { return seconds([&] { copy_in(pinned); }); }},
      {"to the device: prefetch", once,
       [&] {
         seconds(move_out);
         touch(managed.data(), count);
         return seconds(move_in);
       }},
      {"to the device: touched by a kernel", once,
       [&] {
         seconds(move_out);
         touch(managed.data(), count);
         return seconds([&] { start(add_one, managed.data(), count); });
       }},
      {"to the host: copy, pinned memory", once, [&] { return seconds([&] { copy_out(pinned); }); }},
      {"to the host: prefetch", once,
       [&] {
         seconds(move_in);
         return seconds(move_out);
       }},
      {"to the host: copy from managed memory", once,
       [&] {
         seconds(move_in);
         return seconds(copy_managed_out);
       }},
      {"to the host: written by a kernel", once,
       [&] {
         seconds(move_in);
         return seconds(write_results_out);
       }},
      {"to the host: touched by one thread", once,
       [&] {
         seconds(move_in);
         return seconds([&] { touch(managed.data(), count); });
       }},
      {"new pages: touched by a kernel", once,
       [&] {
         ManagedArray<unsigned> fresh(count);
         return seconds([&] { start(set, fresh.data(), count); });
       }},
      {"new pages: prefetched, then the kernel", once, [&] {
         ManagedArray<unsigned> fresh(count);
         return seconds([&] {
           prefetch(fresh.data(), bytes, on_device());
           start(set, fresh.data(), count);
         });
       }}};

  cookbook::Figures there_and_back(fmt::format("{} numbers to the device, changed, and back", count),
                                   cookbook::rate("GB/s", 1e9), gpu::device());
  there_and_back.percent_of("copies, pinned memory", "copies");
  there_and_back.measure(rows, rounds);
  there_and_back.print(checks);

  cookbook::Figures single(fmt::format("{} numbers, one way", count), cookbook::rate("GB/s", 1e9), gpu::device());
  single.percent_of("to the device: copy, pinned memory", "copy");
  single.measure(one_way, rounds);
  single.print(checks);
  CUDA_CHECK(cudaFreeHost(pinned));
  return checks.exit_code();
}
