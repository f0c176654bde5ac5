// A kernel from an expression, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_elementwise/cuda_elementwise_bench.cu common/cookbook/*.cpp -lnvrtc -lfmt -o cuda_elementwise_bench
// Run:     cuda_elementwise_bench [--count N] [--rounds N]

#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#include <cub/version.cuh>
#include <cuda/std/tuple>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "elementwise.hpp"
#if CUB_VERSION >= 200800  // CUDA 12.9
#include <cub/device/device_transform.cuh>
#endif

namespace {

/// The text of a kernel whose threads work on four neighbouring elements each. It tells the compiler that each array
/// begins at a multiple of 16 bytes and that the arrays do not overlap, so that one load or store serves all four.
template <typename... Parameters>
std::string text_of_fours(const typename Elementwise<Parameters...>::Names& names, const std::string& operation) {
  std::string parameters = "size_t count", assumptions;
  std::size_t next = 0;
  const auto add = [&]<typename Parameter>(std::type_identity<Parameter>) {
    const std::string type = Elementwise<Parameters...>::template type_name<Parameter>(), name = names[next++];
    const bool is_array = std::is_pointer_v<Parameter>;
    parameters += ", " + type + (is_array ? " __restrict__ " : " ") + name;
    if (is_array) assumptions += "  " + name + " = (" + type + ")__builtin_assume_aligned(" + name + ", 16);\n";
  };
  (add(std::type_identity<Parameters>()), ...);
  return "extern \"C\" __global__ void elementwise(" + parameters + ") {\n" + assumptions +
         "  const size_t first = 4 * (size_t{blockIdx.x} * blockDim.x + threadIdx.x);\n"
         "  if (first + 4 <= count) {\n"
         "#pragma unroll\n"
         "    for (int k = 0; k < 4; ++k) { const size_t i = first + k; " +
         operation +
         "; }\n"
         "  } else {\n"
         "    for (size_t i = first; i < count; ++i) { " +
         operation +
         "; }\n"
         "  }\n"
         "}\n";
}

/// 2x + 5y for the libraries.
struct LinearCombinationOf {
  __host__ __device__ float operator()(float x, float y) const { return 2 * x + 5 * y; }
};

/// Counts the elements that are not 2x + 5y, but for rounding.
__global__ void count_wrong(const float* c, std::size_t count, unsigned long long* wrong) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const double x = gpu::random_number(1, static_cast<unsigned>(i)), y = gpu::random_number(2, static_cast<unsigned>(i));
  if (!(fabs(c[i] - (2 * x + 5 * y)) < 1e-6)) atomicAdd(wrong, 1ULL);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = std::size_t{1} << 28;
  int rounds = 21;
  cookbook::Options options("How fast kernels are that were made from an expression");
  options.add("count", count, "elements of each vector", 1, std::size_t{1} << 32);
  options.add("rounds", rounds, "measured runs of each row", 1, 1000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const unsigned blocks = static_cast<unsigned>((count + 255) / 256);
  gpu::DeviceArray<float> x(count), y(count), c(count), t(count), u(count);
  gpu::DeviceArray<unsigned long long> wrong(1);
  gpu::fill_random(x, 1);
  gpu::fill_random(y, 2);

  using LinearCombination = Elementwise<float, const float*, float, const float*, float*>;
  const LinearCombination::Names names = {"a", "x", "b", "y", "c"};
  const std::string operation = "c[i] = a * x[i] + b * y[i]";
  const LinearCombination one_each(names, operation);
  const LinearCombination four_each(text_of_fours<float, const float*, float, const float*, float*>(names, operation),
                                    4);
  const Elementwise<float, const float*, float*> times({"a", "x", "result"}, "result[i] = a * x[i]");
  const Elementwise<const float*, const float*, float*> plus({"x", "y", "result"}, "result[i] = x[i] + y[i]");
  const Elementwise<float, const float*, float*> times_four(
      text_of_fours<float, const float*, float*>({"a", "x", "result"}, "result[i] = a * x[i]"), 4);
  const Elementwise<const float*, const float*, float*> plus_four(
      text_of_fours<const float*, const float*, float*>({"x", "y", "result"}, "result[i] = x[i] + y[i]"), 4);

  std::vector<std::pair<std::string, std::function<void()>>> ways = {
      {"three kernels, an operation each",
       [&] {
         times(count, 2, x.data(), t.data());
         times(count, 5, y.data(), u.data());
         plus(count, t.data(), u.data(), c.data());
       }},
      {"three kernels, four elements per thread",
       [&] {
         times_four(count, 2, x.data(), t.data());
         times_four(count, 5, y.data(), u.data());
         plus_four(count, t.data(), u.data(), c.data());
       }},
      {"one element per thread", [&] { one_each(count, 2, x.data(), 5, y.data(), c.data()); }},
      {"four elements per thread", [&] { four_each(count, 2, x.data(), 5, y.data(), c.data()); }},
      {"thrust::transform", [&] {
         thrust::transform(thrust::cuda::par_nosync, x.data(), x.data() + count, y.data(), c.data(),
                           LinearCombinationOf());
       }}};
#if CUB_VERSION >= 200800
  const std::string library = "cub::DeviceTransform";
  ways.emplace_back(library, [&] {
    CUDA_CHECK(cub::DeviceTransform::Transform(
        cuda::std::make_tuple(static_cast<const float*>(x.data()), static_cast<const float*>(y.data())), c.data(),
        count, LinearCombinationOf()));
  });
#else
  const std::string library = "thrust::transform";
#endif

  cookbook::Checks checks;
  const double bytes = static_cast<double>(count) * sizeof(float);
  std::vector<cookbook::Benchmark> rows = {gpu::timed_row("copy", 2 * bytes, [&] {
    CUDA_CHECK(cudaMemcpyAsync(c.data(), x.data(), count * sizeof(float), cudaMemcpyDeviceToDevice));
  })};
  for (const auto& [name, work] : ways) {
    c.poison();
    wrong.zero();
    work();
    count_wrong<<<blocks, 256>>>(c.data(), count, wrong.data());
    CUDA_CHECK(cudaGetLastError());
    checks.equal("wrong results: " + name, wrong.to_host()[0], 0U);
    rows.push_back(gpu::timed_row(name, 3 * bytes, work));  // what the job needs: x and y read, c written
  }

  cookbook::Figures figures(fmt::format("2x + 5y, {} floats", count), cookbook::rate("GB/s", 1e9), gpu::device());
  figures.percent_of("copy");
  figures.speedup_over(library, library.starts_with("cub") ? "CUB" : "Thrust");
  figures.measure(rows, rounds);
  figures.print(checks);
  return checks.exit_code();
}
