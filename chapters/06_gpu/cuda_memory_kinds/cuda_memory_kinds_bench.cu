// Kinds of memory, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_memory_kinds/cuda_memory_kinds_bench.cu common/cookbook/*.cpp -lfmt -lcublas -o cuda_memory_kinds_bench
// Run:     cuda_memory_kinds_bench [--tiles N] [--rounds N]

#include <cublas_v2.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "transpose.cuh"
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
  cookbook::Options options("How fast the device moves data: coalesced, strided, and from the host");
  options.add("tiles", tiles, "rows and columns of the matrix, in units of 64", 1, 512);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const unsigned n = tiles * wide_side, count = n * n;
  const std::size_t bytes = count * sizeof(float);
  cookbook::require_memory(4.0 * static_cast<double>(bytes), fmt::format("--tiles {}", tiles));

  const Shape matrix{static_cast<int>(n), static_cast<int>(n)};
  CUDA_CHECK(cudaMemcpyToSymbol(shape, &matrix, sizeof(matrix)));
  gpu::DeviceArray<float> in(count), out(count);
  gpu::fill_random(in, 1);
  cublasHandle_t cublas;
  CUBLAS_CHECK(cublasCreate(&cublas));

  const dim3 block(side, side), blocks = blocks_for(matrix);
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
      {"copy kernel", false,
       [&](cudaStream_t stream) {
         copy_wide<<<tiles * tiles, wide_threads, 0, stream>>>(reinterpret_cast<const float4*>(in.data()),
                                                               reinterpret_cast<float4*>(out.data()));
       }},
      {"direct, strided stores", true,
       [&](cudaStream_t stream) { transpose_direct<<<blocks, block, 0, stream>>>(in.data(), out.data()); }},
      {"tiled, rows of 32: bank conflicts", true,
       [&](cudaStream_t stream) { transpose_tiled<side><<<blocks, block, 0, stream>>>(in.data(), out.data()); }},
      {"tiled, rows of 33", true,
       [&](cudaStream_t stream) { transpose_tiled<><<<blocks, block, 0, stream>>>(in.data(), out.data()); }},
      {"tiled, four floats per access", true,
       [&](cudaStream_t stream) {
         transpose_wide<<<dim3(tiles, tiles), wide_threads, 0, stream>>>(in.data(), out.data(), n, n);
       }},
      {"cublasSgeam", true, [&](cudaStream_t stream) {
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
    CUDA_CHECK(cudaGetLastError());
    count_wrong<<<dim3((n + 255) / 256, n), 256>>>(in.data(), out.data(), n, way.transposes, wrong.data());
    CUDA_CHECK(cudaGetLastError());
    checks.equal(fmt::format("{}, wrong elements", way.name), wrong.to_host()[0], 0ULL);
    // A small matrix takes less time than a launch: the work is recorded and repeated without the host.
    rows.push_back(gpu::graph_row(way.name, 2.0 * static_cast<double>(bytes), way.run, 5));
  }
  cookbook::Figures figures(fmt::format("{} x {} floats, read and written once", n, n), cookbook::rate("GB/s", 1e9),
                            gpu::device());
  figures.measure(rows, rounds);
  figures.percent_of("copy kernel", "copy");
  figures.speedup_over("cublasSgeam");

  // From the host to the device: through a copy from memory that is pinned or not, and by a kernel that reads it.
  std::vector<float> pageable = in.to_host();
  float *pinned, *mapped;
  CUDA_CHECK(cudaHostAlloc(&pinned, bytes, cudaHostAllocMapped));
  CUDA_CHECK(cudaHostGetDevicePointer(&mapped, pinned, 0));
  std::copy(pageable.begin(), pageable.end(), pinned);
  const std::vector<cookbook::Benchmark> host_rows = {
      gpu::timed_row("cudaMemcpy, pageable memory", static_cast<double>(bytes),
                     [&] { CUDA_CHECK(cudaMemcpy(out.data(), pageable.data(), bytes, cudaMemcpyHostToDevice)); }),
      gpu::timed_row("cudaMemcpy, pinned memory", static_cast<double>(bytes),
                     [&] { CUDA_CHECK(cudaMemcpy(out.data(), pinned, bytes, cudaMemcpyHostToDevice)); }),
      gpu::timed_row("kernel reads pinned memory", static_cast<double>(bytes), [&] {
        copy_wide<<<tiles * tiles, wide_threads>>>(reinterpret_cast<const float4*>(mapped),
                                                   reinterpret_cast<float4*>(out.data()));
        CUDA_CHECK(cudaGetLastError());
      })};
  for (const cookbook::Benchmark& row : host_rows) {
    out.poison();
    row.run();
    checks.that(fmt::format("{}: the device has the host's numbers", row.name), out.to_host() == pageable);
  }
  cookbook::Figures from_host(fmt::format("{} MiB from the host to the device", bytes >> 20),
                              cookbook::rate("GB/s", 1e9), gpu::device());
  from_host.measure(host_rows, rounds);
  from_host.percent_of("cudaMemcpy, pinned memory", "pinned");

  figures.print(checks);
  from_host.print(checks);
  CUDA_CHECK(cudaFreeHost(pinned));
  CUBLAS_CHECK(cublasDestroy(cublas));
  return checks.exit_code();
}
