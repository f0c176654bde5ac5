// CUDA and OpenCL side by side, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/08_heterogeneous chapters/08_heterogeneous/cuda_and_opencl/cuda_and_opencl_bench.cu common/cookbook/*.cpp -lOpenCL -lfmt -o cuda_and_opencl_bench
// Run:     cuda_and_opencl_bench [--count N] [--rounds N]

#include <algorithm>
#include <random>

#include "check_cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "opencl_timer.hpp"

#include "kernels.cl"  // last: its macros are meant for the kernels alone

namespace {

using Values = std::vector<float>;
using CudaKernel = void(const float* a, const float* b, float* result, int count);

/// A copy of the values in the device's memory. It is not freed: the program needs it to its end.
float* on_device(const Values& values) {
  float* memory = nullptr;
  CHECK_CUDA(cudaMalloc(&memory, values.size() * sizeof(float)));
  CHECK_CUDA(cudaMemcpy(memory, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
  return memory;
}

/// How long the device takes for the kernels that `start` starts, in seconds.
template <typename Start>
double cuda_seconds(Start start) {
  static cudaEvent_t begin = nullptr, end = nullptr;
  if (begin == nullptr) {
    CHECK_CUDA(cudaEventCreate(&begin));
    CHECK_CUDA(cudaEventCreate(&end));
  }
  CHECK_CUDA(cudaEventRecord(begin));
  start();
  CHECK_CUDA(cudaEventRecord(end));
  CHECK_CUDA(cudaEventSynchronize(end));
  float milliseconds = 0;
  CHECK_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
  return milliseconds * 1e-3;
}

/// The OpenCL device that is CUDA's device 0: a GPU of the same name. Nothing if there is none.
std::optional<cl::Device> same_device() {
  cudaDeviceProp properties;
  CHECK_CUDA(cudaGetDeviceProperties(&properties, 0));
  for (const cl::Device& device : opencl::devices()) {
    if (CHECK_CL(device.getInfo<CL_DEVICE_NAME>()) == properties.name) return device;
  }
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 1 << 28, rounds = 21;
  cookbook::Options options("The same three kernels by CUDA and by OpenCL on one GPU");
  options.add("count", count, "elements", 1 << 16, 1 << 30);
  options.add("rounds", rounds, "measured runs of each kernel", 1, 1'000);
  options.parse(argc, argv);
  if (!cuda_device_found()) return opencl::skipped;
  const auto device = same_device();
  if (!device) {
    cookbook::print_error("skipped, no OpenCL device is the GPU that CUDA has: is nvidia.icd in /etc/OpenCL/vendors?");
    return opencl::skipped;
  }
  const std::size_t bytes = count * sizeof(float);
  cookbook::require_memory(5.0 * static_cast<double>(bytes), fmt::format("--count {}", count));

  std::mt19937 random(8);
  Values a(count), b(count), by_cuda(count), by_opencl(count);
  for (float& value : a) value = static_cast<float>((random() >> 8) + 1) * 0x1p-25F;
  for (float& value : b) value = static_cast<float>(random() >> 8) * 0x1p-24F;

  float *const cuda_a = on_device(a), *const cuda_b = on_device(b), *const cuda_result = on_device(by_cuda);

  const cl::Context context = CHECK_CL(cl::Context(*device));
  const cl::CommandQueue queue = opencl::profiling_queue(context, *device);
  const cl::Program program = opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "kernels.cl")));
  const auto buffer_of = [&](Values& values) {
    return CHECK_CL(cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, values.data()));
  };
  const cl::Buffer cl_a = buffer_of(a), cl_b = buffer_of(b), cl_result = buffer_of(by_opencl);

  struct Pair {
    std::string name;
    CudaKernel* kernel;
    int groups;
    double amount;  ///< bytes or steps, as `unit` says
    cookbook::Unit unit;
  };
  int multiprocessors = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  const int groups = (count + group_items - 1) / group_items;
  const std::vector<Pair> pairs = {
      {"add", add, groups, 3.0 * static_cast<double>(bytes), cookbook::rate("GB/s", 1e9)},
      {"dot_product", dot_product, std::min(groups, 8 * multiprocessors), 2.0 * static_cast<double>(bytes),
       cookbook::rate("GB/s", 1e9)},
      {"iterate", iterate, groups, 1.0 * count * int{iterations}, cookbook::rate("G steps/s", 1e9)}};

  cookbook::Checks checks;
  for (const Pair& pair : pairs) {
    cl::Kernel kernel = CHECK_CL(cl::Kernel(program, pair.name.c_str()));
    CHECK_CL(kernel.setArg(0, cl_a));
    CHECK_CL(kernel.setArg(1, cl_b));
    CHECK_CL(kernel.setArg(2, cl_result));
    CHECK_CL(kernel.setArg(3, count));
    const auto run_cuda = [&] {
      pair.kernel<<<pair.groups, group_items>>>(cuda_a, cuda_b, cuda_result, count);
      CHECK_CUDA(cudaGetLastError());
    };
    const auto run_opencl = [&] {
      cl::Event done;
      CHECK_CL(queue.enqueueNDRangeKernel(kernel, cl::NullRange,
                                          cl::NDRange(static_cast<std::size_t>(pair.groups) * group_items),
                                          cl::NDRange(group_items), nullptr, &done));
      return done;
    };

    CHECK_CUDA(cudaMemset(cuda_result, 0xFF, bytes));  // NaN, so that an element that nobody writes is noticed
    run_cuda();
    CHECK_CUDA(cudaMemcpy(by_cuda.data(), cuda_result, bytes, cudaMemcpyDeviceToHost));
    run_opencl();
    CHECK_CL(queue.enqueueReadBuffer(cl_result, CL_TRUE, 0, bytes, by_opencl.data()));
    const int written = pair.kernel == dot_product ? pair.groups : count;
    checks.that(pair.name + ", the same bits by both",
                std::equal(by_cuda.begin(), by_cuda.begin() + written, by_opencl.begin()));

    cookbook::Figures figures(fmt::format("{}, {} elements", pair.name, count), pair.unit, opencl::name_of(*device));
    figures.measure({{"CUDA", pair.amount, [&] { return cuda_seconds(run_cuda); }},
                     opencl::timed_row("OpenCL", pair.amount, run_opencl)},
                    rounds);
    figures.speedup_over("CUDA");
    figures.print(checks);
  }
  return checks.exit_code();
}
