// CUDA and OpenCL side by side
//
// Three kernels, written once (kernels.cl), run by CUDA and by OpenCL. The kernels differ in a few words only, which
// macros replace; the two functions of the host, by_cuda and by_opencl, show where the two systems are less alike. The
// program prints how long each kernel takes by both, and how long OpenCL compiles the kernels before. Both results must
// have the same values. Without a CUDA device, OpenCL is compared with the host alone.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/08_heterogeneous chapters/08_heterogeneous/cuda_and_opencl/cuda_and_opencl.cu common/cookbook/*.cpp -lOpenCL -lfmt -o cuda_and_opencl
// Run:     cuda_and_opencl [--count N] [--device N]

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "cookbook/cuda.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"

#include "kernels.cl"  // last: its macros are meant for the kernels alone

namespace {

using Values = std::vector<float>;
using CudaKernel = void(const float* a, const float* b, float* result, int count);

constexpr int runs = 10;  // that are timed, one directly after the other; one run before them is not

struct Run {
  Values result;
  double seconds;  ///< that the device took per run: from the beginning of the first to the end of the last, by `runs`
};

/// The kernel was compiled with this program; a launch takes the number of groups, and its arguments in parentheses.
Run by_cuda(CudaKernel* kernel, const Values& a, const Values& b, int groups) {
  const std::size_t bytes = a.size() * sizeof(float);
  Values result(a.size(), std::numeric_limits<float>::quiet_NaN());  // so that an unwritten element is noticed
  float *device_a = nullptr, *device_b = nullptr, *device_result = nullptr;
  CUDA_CHECK(cudaMalloc(&device_a, bytes));
  CUDA_CHECK(cudaMalloc(&device_b, bytes));
  CUDA_CHECK(cudaMalloc(&device_result, bytes));
  CUDA_CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(device_result, result.data(), bytes, cudaMemcpyHostToDevice));
  gpu::EventTimer timer;
  for (int run = 0; run <= runs; ++run) {
    if (run == 1) timer.start();
    kernel<<<groups, group_items>>>(device_a, device_b, device_result, static_cast<int>(a.size()));
    CUDA_CHECK(cudaGetLastError());
  }
  const double seconds = timer.stop() / runs;
  CUDA_CHECK(cudaMemcpy(result.data(), device_result, bytes, cudaMemcpyDeviceToHost));
  for (float* memory : {device_a, device_b, device_result}) CUDA_CHECK(cudaFree(memory));
  return {result, seconds};
}

/// What OpenCL needs before the first kernel; CUDA has it all from the start.
struct OpenCl {
  explicit OpenCl(const cl::Device& device)
      : context(CL_CHECK(cl::Context(device))), queue(opencl::profiling_queue(context, device)) {
    const std::string text = opencl::read_kernels(opencl::beside(__FILE__, "kernels.cl"));
    const cookbook::Stopwatch watch;
    program = opencl::build(context, text);
    seconds_to_compile = watch.seconds();
  }
  cl::Context context;
  cl::CommandQueue queue;
  cl::Program program;  ///< compiled now, for this device, of whatever maker
  double seconds_to_compile = 0;
};

/// A kernel is found by its name, and its arguments are set one by one. The global range is the number of work-items,
/// in all groups together.
Run by_opencl(const OpenCl& cl, const char* name, const Values& a, const Values& b, int groups) {
  const std::size_t bytes = a.size() * sizeof(float);
  cl::Kernel kernel = CL_CHECK(cl::Kernel(cl.program, name));
  Values result(a.size(), std::numeric_limits<float>::quiet_NaN());
  const auto buffer_of = [&](const Values& values) {  // the values are only read, but the call wants no const
    return CL_CHECK(
        cl::Buffer(cl.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, const_cast<float*>(values.data())));
  };
  const cl::Buffer device_a = buffer_of(a), device_b = buffer_of(b), device_result = buffer_of(result);
  CL_CHECK(kernel.setArg(0, device_a));
  CL_CHECK(kernel.setArg(1, device_b));
  CL_CHECK(kernel.setArg(2, device_result));
  CL_CHECK(kernel.setArg(3, static_cast<cl_int>(a.size())));
  std::vector<cl::Event> done(runs + 1);
  for (cl::Event& event : done) {
    CL_CHECK(cl.queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(groups * group_items),
                                           cl::NDRange(group_items), nullptr, &event));
  }
  CL_CHECK(cl.queue.enqueueReadBuffer(device_result, CL_TRUE, 0, bytes, result.data()));
  return {result, opencl::seconds_between(done[1], done.back()) / runs};
}

/// How many of the first `count` elements are not the same; a NaN is equal to nothing.
int different(const Values& one, const Values& other, std::size_t count) {
  int found = 0;
  for (std::size_t i = 0; i < count; ++i) found += !(one[i] == other[i]);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("CUDA_CACHE_DISABLE", "1", 0);  // else NVIDIA's driver may take what it has compiled in an earlier run
  int count = 1'000'000;
  std::size_t number = 0;
  cookbook::Options options("Run the same three kernels by CUDA and by OpenCL");
  options.add("count", count, "elements", 1, 10'000'000);
  options.add("device", number, "number of the OpenCL device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);
  const auto device = opencl::chosen_device(number);
  if (!device) return opencl::without_device();

  Values a(count), b(count), sums(count), iterated(count);
  double exact = 0;
  for (int i = 0; i < count; ++i) {
    a[i] = (static_cast<float>(i) + 0.5F) / static_cast<float>(count);
    b[i] = a[i] * a[i];
    sums[i] = a[i] + b[i];
    exact += double{a[i]} * b[i];
  }
  const int distance = count / 1'000'001 + 1;  // the host computes a million at most, since it needs seconds for more
  for (int i = 0; i < count; i += distance) {
    iterated[i] = a[i];
    for (int k = 0; k < iterations; ++k) {
      iterated[i] = std::fma(-(3 + b[i]) * iterated[i], iterated[i], (3 + b[i]) * iterated[i]);
    }
  }

  const int groups = (count + group_items - 1) / group_items;  // one work-item per element
  const int dot_groups = std::min(groups, 1'024);              // for the sums: each work-item takes several elements
  cookbook::println("OpenCL: {}", opencl::name_of(*device));
  const OpenCl cl(*device);
  const Run cl_add = by_opencl(cl, "add", a, b, groups), cl_dot = by_opencl(cl, "dot_product", a, b, dot_groups),
            cl_iterate = by_opencl(cl, "iterate", a, b, groups);
  cookbook::Checks checks;
  const double dot = std::accumulate(cl_dot.result.begin(), cl_dot.result.begin() + dot_groups, 0.0);
  int wrong = different(cl_add.result, sums, count);
  for (int i = 0; i < count; i += distance) wrong += !(cl_iterate.result[i] == iterated[i]);

  const bool cuda = gpu::device_found();
  Run cuda_add{}, cuda_dot{}, cuda_iterate{};
  if (cuda) {
    cookbook::println("CUDA:   {}", gpu::device());
    cuda_add = by_cuda(add, a, b, groups);
    cuda_dot = by_cuda(dot_product, a, b, dot_groups);
    cuda_iterate = by_cuda(iterate, a, b, groups);
  }
  const auto print = [&](const char* name, const Run& by_opencl, const Run& by_cuda) {
    const std::string of_cuda = cuda ? fmt::format("{:9.3f} ms", by_cuda.seconds * 1e3) : "-";
    cookbook::println("{:<24}{:9.3f} ms{:>16}", name, by_opencl.seconds * 1e3, of_cuda);
  };
  cookbook::println("{:<24}{:>12}{:>16}", "", "OpenCL", "CUDA");
  cookbook::println("{:<24}{:9.3f} ms{:>16}", "compile the kernels", cl.seconds_to_compile * 1e3, "by nvcc");
  print("add", cl_add, cuda_add);
  print("dot_product", cl_dot, cuda_dot);
  print("iterate", cl_iterate, cuda_iterate);

  checks.equal("OpenCL: values that differ from the host's", wrong, 0);
  checks.that("OpenCL: the dot product is near the exact one", std::abs(dot - exact) <= 1e-6 * exact);
  if (!cuda) return gpu::without_device(checks);
  checks.equal("CUDA: values that differ from OpenCL's",
               different(cuda_add.result, cl_add.result, count) +
                   different(cuda_dot.result, cl_dot.result, dot_groups) +
                   different(cuda_iterate.result, cl_iterate.result, count),
               0);
  return checks.exit_code();
}
