// One MPI rank per GPU
//
// Each rank takes the GPU with the number that the rank has on its machine, and fills an array there. Then all get the
// sum of all arrays: the ranks copy to the host, MPI_Allreduce adds there, and they copy back. The program shows which
// rank has which device, and how long each of the three steps takes, through ordinary memory of the host and through
// page-locked memory; and with the device's pointers if the MPI library takes them.
//
// Compile: nvcc -ccbin mpicxx -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_mpi_ranks/cuda_mpi_ranks.cu common/cookbook/*.cpp -lfmt -o cuda_mpi_ranks
// Run:     mpirun -n 2 cuda_mpi_ranks [--count N] [--staged]

#include "cookbook/mpi.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>  // what Open MPI has beyond the standard
#endif

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"

namespace {

/// Whether this MPI library takes pointers to device memory.
bool mpi_knows_cuda() {
#ifdef MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

/// A rank's number among those of its machine, and the device that it has taken of those there.
struct Place {
  int rank_on_machine = 0, device = 0, devices = 0;
};

/// The ranks of one machine take its devices in turn.
Place take_device() {
  MPI_Comm same_machine;
  int rank_on_machine = 0, devices = 0;
  MPI_CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &same_machine));
  MPI_CHECK(MPI_Comm_rank(same_machine, &rank_on_machine));
  MPI_CHECK(MPI_Comm_free(&same_machine));
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  CUDA_CHECK(cudaSetDevice(rank_on_machine % devices));
  return {rank_on_machine, rank_on_machine % devices, devices};
}

__global__ void fill(std::int64_t* numbers, int count, int rank) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = static_cast<std::int64_t>(i) * (rank + 1);
}

using Numbers = gpu::DeviceArray<std::int64_t>;

struct Seconds {
  double copy_there = 0, reduce = 0, copy_back = 0;
};

/// Makes `numbers`, on the device, the sum of those of all ranks, through `staged` in the host's memory.
Seconds reduce_on_hosts(Numbers& numbers, std::int64_t* staged) {
  const int count = static_cast<int>(numbers.size());
  const std::size_t bytes = numbers.size() * sizeof(std::int64_t);
  Seconds seconds;
  const cookbook::Stopwatch watch;
  CUDA_CHECK(cudaMemcpy(staged, numbers.data(), bytes, cudaMemcpyDeviceToHost));
  seconds.copy_there = watch.seconds();
  MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, staged, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  seconds.reduce = watch.seconds() - seconds.copy_there;
  CUDA_CHECK(cudaMemcpy(numbers.data(), staged, bytes, cudaMemcpyHostToDevice));
  seconds.copy_back = watch.seconds() - seconds.copy_there - seconds.reduce;
  return seconds;
}

/// The same with the pointer of the device, for an MPI library that knows CUDA.
Seconds reduce_on_devices(Numbers& numbers) {
  const int count = static_cast<int>(numbers.size());
  const cookbook::Stopwatch watch;
  CUDA_CHECK(cudaDeviceSynchronize());  // MPI does not know which kernels write to this memory
  MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, numbers.data(), count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  return {.reduce = watch.seconds()};
}

/// How many of this rank's sums are wrong.
std::int64_t wrong_sums(const Numbers& numbers, int ranks) {
  const std::int64_t factor = static_cast<std::int64_t>(ranks) * (ranks + 1) / 2;  // 1 + 2 + ... + ranks
  std::int64_t wrong = 0, index = 0;
  for (const std::int64_t sum : numbers.to_host()) wrong += sum != factor * index++;
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 1'000'000;
  bool staged = false;
  cookbook::Options options("Use one GPU per MPI rank");
  options.add("count", count, "numbers in the array of each rank", 1, 100'000'000);
  options.add_flag("staged", staged, "leave out the device's pointers");
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();
  const Place place = take_device();
  world.print_in_order(fmt::format("rank {} of {}: number {} on its machine, has device {} of {}", rank, ranks,
                                   place.rank_on_machine, place.device, place.devices));

  Numbers numbers(count);
  std::int64_t right_here = 0, right = 0, wrong_here = 0, wrong = 0;
  const auto run = [&](const char* memory, auto reduce) {
    Seconds best{1e9, 1e9, 1e9};
    for (int round = 0; round < 5; ++round) {
      fill<<<(count + 255) / 256, 256>>>(numbers.data(), count, rank);
      CUDA_CHECK(cudaGetLastError());
      CUDA_CHECK(cudaDeviceSynchronize());
      MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
      const Seconds seconds = reduce(numbers);
      best = {std::min(best.copy_there, seconds.copy_there), std::min(best.reduce, seconds.reduce),
              std::min(best.copy_back, seconds.copy_back)};
      const std::int64_t wrong_now = wrong_sums(numbers, ranks);
      wrong_here += wrong_now;
      right_here += wrong_now == 0;
    }
    if (rank != 0) return;
    cookbook::println("{:<20} to the host {:7.0f} us, MPI_Allreduce {:7.0f} us, back {:7.0f} us", memory,
                      best.copy_there * 1e6, best.reduce * 1e6, best.copy_back * 1e6);
  };

  std::vector<std::int64_t> pageable(count);
  std::int64_t* page_locked = nullptr;
  CUDA_CHECK(cudaMallocHost(&page_locked, count * sizeof(std::int64_t)));
  run("pageable memory:", [&](Numbers& sums) { return reduce_on_hosts(sums, pageable.data()); });
  run("page-locked memory:", [&](Numbers& sums) { return reduce_on_hosts(sums, page_locked); });
  const bool direct = mpi_knows_cuda() && !staged;
  if (direct) run("device memory:", reduce_on_devices);
  CUDA_CHECK(cudaFreeHost(page_locked));

  MPI_CHECK(MPI_Reduce(&right_here, &right, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Reduce(&wrong_here, &wrong, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD));
  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("wrong sums on all devices", wrong, 0);
    checks.that("each rank had the sum of all arrays each time", right == 5L * (direct ? 3 : 2) * ranks);
  }
  return world.exit_code(checks);  // on all ranks that of rank 0, which made the checks
}
