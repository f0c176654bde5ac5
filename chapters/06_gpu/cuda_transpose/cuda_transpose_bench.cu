// Transposition, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_transpose/cuda_transpose_bench.cu common/cookbook/*.cpp -lfmt -lcublas -o cuda_transpose_bench
// Run:     cuda_transpose_bench [--tiles N] [--rounds N]

#include <cublas_v2.h>

#include <functional>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "transpose_wide.cuh"

namespace {

__global__ void count_wrong(const float* in, const float* out, unsigned n, bool transposed, unsigned long long* wrong) {
  const unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column >= n) return;
  const float actual = transposed ? out[std::size_t(column) * n + row] : out[std::size_t(row) * n + column];
  if (!(actual == in[std::size_t(row) * n + column])) atomicAdd(wrong, 1ULL);
}

}  // namespace

int main(int argc, char** argv) {
  int tiles = 256, rounds = 15;
  cookbook::Options options("How fast a matrix is transposed with four elements per access, and by cuBLAS");
  options.add("tiles", tiles, "rows and columns of the matrix, in units of 64", 1, 512);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const unsigned n = tiles * wide_side;
  const std::size_t count = std::size_t(n) * n, bytes = count * sizeof(float);
  gpu::DeviceArray<float> in(count), out(count);
  gpu::fill_random(in, 1);
  cublasHandle_t cublas;
  CUBLAS_CHECK(cublasCreate(&cublas));

  const float one = 1, zero = 0;
  struct Way {
    const char* name;
    bool transposes;
    std::function<void(cudaStream_t)> run;
  };
  const std::vector<Way> ways = {
      {"cudaMemcpy", false,
       [&](cudaStream_t stream) {
         CUDA_CHECK(cudaMemcpyAsync(out.data(), in.data(), bytes, cudaMemcpyDeviceToDevice, stream));
       }},
      {"copy, four elements per access", false,
       [&](cudaStream_t stream) {
         copy_wide<<<tiles * tiles, wide_threads, 0, stream>>>(reinterpret_cast<const float4*>(in.data()),
                                                               reinterpret_cast<float4*>(out.data()));
         CUDA_CHECK(cudaGetLastError());
       }},
      {"transposed, four elements per access", true,
       [&](cudaStream_t stream) {
         transpose_wide<<<dim3(tiles, tiles), wide_threads, 0, stream>>>(in.data(), out.data(), n, n);
         CUDA_CHECK(cudaGetLastError());
       }},
      {"transposed by cublasSgeam", true, [&](cudaStream_t stream) {
         CUBLAS_CHECK(cublasSetStream(cublas, stream));
         CUBLAS_CHECK(cublasSgeam(cublas, CUBLAS_OP_T, CUBLAS_OP_N, n, n, &one, in.data(), n, &zero, in.data(), n,
                                  out.data(), n));
       }}};

  cookbook::Checks checks;
  std::vector<cookbook::Benchmark> rows;
  for (const Way& way : ways) {
    gpu::DeviceArray<unsigned long long> wrong(1);
    wrong.zero();
    out.poison();
    way.run(nullptr);
    count_wrong<<<dim3((n + 255) / 256, n), 256>>>(in.data(), out.data(), n, way.transposes, wrong.data());
    CUDA_CHECK(cudaGetLastError());
    checks.equal(fmt::format("{}, wrong elements", way.name), wrong.to_host()[0], 0ULL);
    // A small matrix takes less time than a launch: the work is recorded and repeated without the host.
    rows.push_back(gpu::graph_row(way.name, 2.0 * static_cast<double>(bytes), way.run, 5));
  }
  cookbook::Figures figures(fmt::format("{} x {} floats, read and written once", n, n), cookbook::rate("GB/s", 1e9),
                            gpu::device());
  figures.percent_of("copy, four elements per access", "copy");
  figures.speedup_over("transposed by cublasSgeam", "cuBLAS");
  figures.measure(rows, rounds);
  figures.print(checks);
  CUBLAS_CHECK(cublasDestroy(cublas));
  return checks.exit_code();
}
