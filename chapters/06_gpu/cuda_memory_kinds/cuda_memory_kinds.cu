// Kinds of memory
//
// Transposes a matrix on the GPU, and uses each kind of memory where it fits: the matrices are in global memory, the
// shape is in constant memory, a thread's element is in a register, and the threads of a block exchange their elements
// through shared memory (transpose.cuh). At last the kernel works on memory of the host, without any copy.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_memory_kinds/cuda_memory_kinds.cu common/cookbook/*.cpp -lfmt -o cuda_memory_kinds
// Run:     cuda_memory_kinds [--rows N] [--columns N]

#include <algorithm>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "transpose.cuh"

namespace {

using Kernel = void (*)(const float*, float*);

int wrong_elements(const float* in, const float* out, const Shape& matrix_shape) {
  int wrong = 0;
  for (int row = 0; row < matrix_shape.rows; ++row) {
    for (int column = 0; column < matrix_shape.columns; ++column) {
      wrong +=
          out[std::size_t(column) * matrix_shape.rows + row] != in[std::size_t(row) * matrix_shape.columns + column];
    }
  }
  return wrong;
}

/// In the device's memory: copy, transpose, copy back.
int wrong_on_device(Kernel kernel, const std::vector<float>& in, const Shape& matrix_shape) {
  const gpu::DeviceArray<float> device_in(in);
  gpu::DeviceArray<float> device_out(in.size());
  device_out.poison();
  kernel<<<blocks_for(matrix_shape), dim3(side, side)>>>(device_in.data(), device_out.data());
  CUDA_CHECK(cudaGetLastError());
  return wrong_elements(in.data(), device_out.to_host().data(), matrix_shape);
}

/// In the host's memory, which the device reads and writes itself ("zero-copy"). It must be pinned: the system may not
/// move it, or write it to the disk.
int wrong_in_host_memory(const std::vector<float>& in, const Shape& matrix_shape) {
  const std::size_t bytes = in.size() * sizeof(float);
  float *host_in, *host_out, *mapped_in, *mapped_out;
  CUDA_CHECK(cudaHostAlloc(&host_in, bytes, cudaHostAllocMapped));
  CUDA_CHECK(cudaHostAlloc(&host_out, bytes, cudaHostAllocMapped));
  CUDA_CHECK(cudaHostGetDevicePointer(&mapped_in, host_in, 0));  // the same memory, as the device addresses it
  CUDA_CHECK(cudaHostGetDevicePointer(&mapped_out, host_out, 0));
  std::copy(in.begin(), in.end(), host_in);
  std::fill_n(host_out, in.size(), -2.0F);  // a value that no element has

  // <>: rows of 33
  transpose_tiled<><<<blocks_for(matrix_shape), dim3(side, side)>>>(mapped_in, mapped_out);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());  // no copy waits for the kernel here

  const int wrong = wrong_elements(host_in, host_out, matrix_shape);
  for (float* pointer : {host_in, host_out}) CUDA_CHECK(cudaFreeHost(pointer));
  return wrong;
}

std::size_t shared_bytes(Kernel kernel) {
  cudaFuncAttributes attributes;
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
  return attributes.sharedSizeBytes;
}

}  // namespace

int main(int argc, char** argv) {
  Shape matrix_shape{1'000, 700};
  cookbook::Options options("Use each kind of memory of a GPU");
  options.add("rows", matrix_shape.rows, "rows of the matrix", 1, 10'000);
  options.add("columns", matrix_shape.columns, "columns of the matrix", 1, 10'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const std::vector<float> in = gpu::random_numbers(1, std::size_t(matrix_shape.rows) * matrix_shape.columns);
  CUDA_CHECK(cudaMemcpyToSymbol(shape, &matrix_shape, sizeof(matrix_shape)));

  cookbook::Checks checks;
  checks.equal("bytes of shared memory per block, direct", shared_bytes(transpose_direct), 0U);
  checks.equal("bytes of shared memory per block, tiled", shared_bytes(transpose_tiled<>), 32U * 33 * 4);
  checks.equal("direct, wrong elements", wrong_on_device(transpose_direct, in, matrix_shape), 0);
  checks.equal("tiled, wrong elements", wrong_on_device(transpose_tiled<>, in, matrix_shape), 0);
  checks.equal("tiled, in the host's memory, wrong elements", wrong_in_host_memory(in, matrix_shape), 0);
  return checks.exit_code();
}
