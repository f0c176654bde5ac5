// One MPI rank per GPU
//
// Each rank takes a GPU of its own and fills an array there; MPI_Allreduce gives all of them the sum of all arrays. An
// MPI library that knows CUDA takes the device's pointers. With any other the ranks copy to the host, reduce there, and
// copy back. The program asks the library, and says which of the two it does.
//
// Compile: nvcc -ccbin mpicxx -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_mpi_ranks/cuda_mpi_ranks.cu common/cookbook/*.cpp -lfmt -o cuda_mpi_ranks
// Run:     mpirun -n 2 cuda_mpi_ranks [--count N] [--staged]

#include "cookbook/mpi.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>  // what Open MPI has beyond the standard
#endif

#include <cstdint>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
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

/// The ranks of one machine take its devices in turn; returns the device of this rank.
int take_device() {
  MPI_Comm same_machine;
  int rank_on_machine = 0, devices = 0;
  MPI_CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &same_machine));
  MPI_CHECK(MPI_Comm_rank(same_machine, &rank_on_machine));
  MPI_CHECK(MPI_Comm_free(&same_machine));
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  CUDA_CHECK(cudaSetDevice(rank_on_machine % devices));
  return rank_on_machine % devices;
}

__global__ void fill(std::int64_t* numbers, int count, int rank) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = static_cast<std::int64_t>(i) * (rank + 1);
}

/// Makes `numbers`, on the device, the sum of those of all ranks.
void all_reduce(gpu::DeviceArray<std::int64_t>& numbers, bool direct) {
  const int count = static_cast<int>(numbers.size());
  if (direct) {
    CUDA_CHECK(cudaDeviceSynchronize());  // MPI does not know which kernels write to this memory
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, numbers.data(), count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    return;
  }
  std::vector<std::int64_t> staged = numbers.to_host();  // waits for the kernels of the default stream
  MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, staged.data(), count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  CUDA_CHECK(cudaMemcpy(numbers.data(), staged.data(), count * sizeof(std::int64_t), cudaMemcpyHostToDevice));
}

}  // namespace

int main(int argc, char** argv) {
  int count = 1'000'000;
  bool staged = false;
  cookbook::Options options("Use one GPU per MPI rank");
  options.add("count", count, "numbers in the array of each rank", 1, 100'000'000);
  options.add_flag("staged", staged, "copy to the host in any case");
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();
  const int device = take_device();
  const bool direct = mpi_knows_cuda() && !staged;

  std::vector<int> device_of(ranks);  // filled on rank 0
  MPI_CHECK(MPI_Gather(&device, 1, MPI_INT, device_of.data(), 1, MPI_INT, 0, MPI_COMM_WORLD));
  if (rank == 0) {
    for (int i = 0; i < ranks; ++i) cookbook::println("rank {} of {} has device {}", i, ranks, device_of[i]);
    cookbook::println("MPI gets pointers to {} memory", direct ? "device" : "host");
  }

  gpu::DeviceArray<std::int64_t> numbers(count);
  fill<<<(count + 255) / 256, 256>>>(numbers.data(), count, rank);
  CUDA_CHECK(cudaGetLastError());
  all_reduce(numbers, direct);

  std::int64_t wrong_here = 0, wrong = 0, index = 0;
  const std::int64_t factor = static_cast<std::int64_t>(ranks) * (ranks + 1) / 2;  // 1 + 2 + ... + ranks
  for (const std::int64_t sum : numbers.to_host()) wrong_here += sum != factor * index++;
  const int right_here = wrong_here == 0;
  int right = 0;
  MPI_CHECK(MPI_Reduce(&right_here, &right, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Reduce(&wrong_here, &wrong, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD));

  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("ranks with the sum of all arrays on their device", right, ranks);
    checks.equal("wrong sums on all devices", wrong, 0);
  }
  return world.exit_code(checks);  // on all ranks that of rank 0, which made the checks
}
