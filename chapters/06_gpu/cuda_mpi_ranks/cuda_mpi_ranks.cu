// One MPI rank per GPU
//
// Each rank takes the GPU with the number that the rank has on its machine. The program shows which rank has which
// device, and how long the ranks' work takes if all of them use device 0, and if each uses its own. Then all ranks get
// the sum of all arrays: they copy to the host, MPI_Allreduce adds there, and they copy back.
//
// Compile: nvcc -ccbin mpicxx -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_mpi_ranks/cuda_mpi_ranks.cu common/cookbook/*.cpp -lfmt -o cuda_mpi_ranks
// Run:     mpirun -n 2 cuda_mpi_ranks [--count N] [--steps N]

#include <algorithm>
#include <cstdint>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

/// A rank's number among those of its machine, and the device that it has taken of those there.
struct Place {
  int rank_on_machine = 0, device = 0, devices = 0;
};

/// The ranks of one machine take its devices in turn.
Place take_device() {
  MPI_Comm same_machine;
  int rank_on_machine = 0, device = 0, devices = 0;
  MPI_CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &same_machine));
  MPI_CHECK(MPI_Comm_rank(same_machine, &rank_on_machine));
  MPI_CHECK(MPI_Comm_free(&same_machine));
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  CUDA_CHECK(cudaSetDevice(rank_on_machine % devices));
  CUDA_CHECK(cudaGetDevice(&device));  // what CUDA says
  return {rank_on_machine, device, devices};
}

constexpr std::uint64_t factor = 6364136223846793005;

/// Work of each rank: so many steps of a generator of random numbers, x = factor * x + rank, beginning with i.
__global__ void compute(std::uint64_t* numbers, int count, int rank, int steps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  std::uint64_t x = i;
  for (int step = 0; step < steps; ++step) x = factor * x + rank;
  numbers[i] = x;
}

using Numbers = gpu::DeviceArray<std::uint64_t>;

void run_compute(Numbers& numbers, int rank, int steps) {
  const int count = static_cast<int>(numbers.size());
  compute<<<(count + 255) / 256, 256>>>(numbers.data(), count, rank, steps);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());
}

/// How long it takes until all ranks have done their work, each on the device with this number. Called by all.
double seconds_of_work(int device, int count, int rank, int steps) {
  CUDA_CHECK(cudaSetDevice(device));
  Numbers numbers(count);
  run_compute(numbers, rank, 1);  // the first launch also loads the kernel
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  const cookbook::Stopwatch watch;
  run_compute(numbers, rank, steps);
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  return watch.seconds();
}

struct Seconds {
  double copy_there = 0, reduce = 0, copy_back = 0;
  double all() const { return copy_there + reduce + copy_back; }
};

/// Makes `numbers`, on the device, the sum of those of all ranks, through `staged` in the host's memory.
Seconds sum_on_hosts(Numbers& numbers, std::uint64_t* staged) {
  const int count = static_cast<int>(numbers.size());
  const std::size_t bytes = numbers.size() * sizeof(std::uint64_t);
  Seconds seconds;
  const cookbook::Stopwatch copy_there;
  CUDA_CHECK(cudaMemcpy(staged, numbers.data(), bytes, cudaMemcpyDeviceToHost));
  seconds.copy_there = copy_there.seconds();

  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));  // so that the next time has no waiting for another rank's copy
  const cookbook::Stopwatch reduce;
  MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, staged, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
  seconds.reduce = reduce.seconds();

  const cookbook::Stopwatch copy_back;
  CUDA_CHECK(cudaMemcpy(numbers.data(), staged, bytes, cudaMemcpyHostToDevice));
  seconds.copy_back = copy_back.seconds();
  return seconds;
}

/// How many of this rank's sums are wrong. Rank r has factor^steps * i + r * (1 + factor + ... + factor^(steps - 1)).
std::int64_t wrong_sums(const Numbers& numbers, int ranks, int steps) {
  std::uint64_t power = 1, series = 0;
  for (int step = 0; step < steps; ++step) {
    series += power;
    power *= factor;
  }
  const std::uint64_t sum_of_ranks = static_cast<std::uint64_t>(ranks) * (ranks - 1) / 2;
  std::int64_t wrong = 0;
  std::uint64_t i = 0;
  for (const std::uint64_t sum : numbers.to_host()) wrong += sum != ranks * power * i++ + sum_of_ranks * series;
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 1'000'000, steps = 200'000;
  cookbook::Options options("Use one GPU per MPI rank");
  options.add("count", count, "numbers in the array of each rank", 1, 100'000'000);
  options.add("steps", steps, "steps of the work for each number", 1, 10'000'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();
  const Place place = take_device();
  world.print_in_order(fmt::format("rank {} of {}: number {} on its machine, takes device {} of {}", rank, ranks,
                                   place.rank_on_machine, place.device, place.devices));

  const double on_one = seconds_of_work(0, count, rank, steps);
  const double on_own = seconds_of_work(place.device, count, rank, steps);

  Numbers numbers(count);
  std::uint64_t* staged = nullptr;
  CUDA_CHECK(cudaMallocHost(&staged, count * sizeof(std::uint64_t)));
  Seconds sum{1e9, 1e9, 1e9};
  std::int64_t wrong = 0;
  for (int round = 0; round < 5; ++round) {
    run_compute(numbers, rank, steps);
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    const Seconds now = sum_on_hosts(numbers, staged);
    if (now.all() < sum.all()) sum = now;
    wrong += wrong_sums(numbers, ranks, steps);
  }
  CUDA_CHECK(cudaFreeHost(staged));
  MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));

  cookbook::Checks checks;
  if (rank == 0) {
    const auto print = [](const char* what, double seconds) {
      cookbook::println("{:<50}{:8.2f} ms", what, seconds * 1e3);
    };
    print("work, all ranks on device 0", on_one);
    print("work, each rank on the device that it has taken", on_own);
    print("sum of the ranks' arrays: copy to the host", sum.copy_there);
    print("                          MPI_Allreduce there", sum.reduce);
    print("                          copy back", sum.copy_back);
    checks.equal("wrong sums of all ranks", wrong, 0);
  }
  return world.exit_code(checks);  // on all ranks that of rank 0, which made the checks
}
