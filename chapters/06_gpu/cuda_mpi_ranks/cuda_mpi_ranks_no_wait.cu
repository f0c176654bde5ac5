// Pitfall: MPI does not wait for the device
//
// Rank 0 starts a kernel and queues the copy of its result to the host, and then sends the result to rank 1. Kernel and
// copy are still under way, and MPI knows nothing of streams: it sends what is in the host's memory now.
//
// Compile: nvcc -ccbin mpicxx -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_mpi_ranks/cuda_mpi_ranks_no_wait.cu common/cookbook/*.cpp -lfmt -o cuda_mpi_ranks_no_wait
// Run:     mpirun -n 2 cuda_mpi_ranks_no_wait
// Symptom: exit 1, prints "rank 1 received 0, rank 0 had computed 42"

#include "cookbook/cuda.hpp"
#include "cookbook/mpi.hpp"

__global__ void compute_for_long(int* result) {
  const long long start = clock64();
  while (clock64() - start < 400'000'000) {  // about 0.2 s
  }
  *result = 42;
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  const mpi::Environment world(2);
  const int rank = world.rank();
  int* result = nullptr;  // in page-locked memory, so that the copy is asynchronous
  CUDA_CHECK(cudaMallocHost(&result, sizeof(int)));
  *result = 0;
  int received = -1;
  if (rank == 0) {
    gpu::DeviceArray<int> device(1);
    compute_for_long<<<1, 1>>>(device.data());
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpyAsync(result, device.data(), sizeof(int), cudaMemcpyDeviceToHost));
    // Missing: CUDA_CHECK(cudaStreamSynchronize(nullptr));  (nullptr is the default stream)
    MPI_CHECK(MPI_Send(result, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    CUDA_CHECK(cudaDeviceSynchronize());
    MPI_CHECK(MPI_Send(result, 1, MPI_INT, 1, 1, MPI_COMM_WORLD));
  } else if (rank == 1) {
    MPI_CHECK(MPI_Recv(&received, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI_CHECK(MPI_Recv(result, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));  // sent after the wait
    cookbook::println("rank 1 received {}, rank 0 had computed {}", received, *result);
  }
  int wrong = rank == 1 && received != *result;
  MPI_CHECK(MPI_Bcast(&wrong, 1, MPI_INT, 1, MPI_COMM_WORLD));
  CUDA_CHECK(cudaFreeHost(result));
  return wrong;
}
