// CUDA and OpenCL side by side, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/08_heterogeneous/cuda_and_opencl/cuda_and_opencl_bench.cu common/cookbook/*.cpp -lOpenCL -lfmt -o cuda_and_opencl_bench
// Run:     cuda_and_opencl_bench [--count N] [--rounds N]

#include <algorithm>
#include <random>

#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"

#include "kernels.cl"  // last: its macros are meant for the kernels alone

namespace {

using Values = std::vector<float>;
using CudaKernel = void(const float* a, const float* b, float* result, int count);

/// The OpenCL device that is CUDA's device 0: the one at the same place of the PCI bus. Nothing if there is none.
std::optional<cl::Device> same_device() {
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
  for (const cl::Device& device : opencl::devices()) {
    if (CL_CHECK(device.getInfo<CL_DEVICE_EXTENSIONS>()).find("cl_khr_pci_bus_info") == std::string::npos) continue;
    cl_device_pci_bus_info_khr place = {};
    CL_CHECK(device.getInfo(CL_DEVICE_PCI_BUS_INFO_KHR, &place));
    if (static_cast<int>(place.pci_domain) == properties.pciDomainID &&
        static_cast<int>(place.pci_bus) == properties.pciBusID &&
        static_cast<int>(place.pci_device) == properties.pciDeviceID) {
      return device;
    }
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
  if (!gpu::device_found()) return gpu::skipped;
  const auto device = same_device();
  if (!device) {
    cookbook::print_error("skipped, no OpenCL device is the GPU that CUDA has: is nvidia.icd in /etc/OpenCL/vendors?");
    return opencl::skipped;
  }
  const std::size_t bytes = count * sizeof(float);
  cookbook::require_memory(5.0 * static_cast<double>(bytes), fmt::format("--count {}", count));

  std::mt19937 random(8);
  Values a(count), b(count), by_opencl(count);
  for (float& value : a) value = static_cast<float>((random() >> 8) + 1) * 0x1p-25F;
  for (float& value : b) value = static_cast<float>(random() >> 8) * 0x1p-24F;

  const gpu::DeviceArray<float> cuda_a(a), cuda_b(b);
  gpu::DeviceArray<float> cuda_result(count);

  const cl::Context context = CL_CHECK(cl::Context(*device));
  const cl::CommandQueue queue = opencl::profiling_queue(context, *device);
  const cl::Program program = opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "kernels.cl")));
  const auto buffer_of = [&](Values& values) {
    return CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, values.data()));
  };
  const cl::Buffer cl_a = buffer_of(a), cl_b = buffer_of(b), cl_result = buffer_of(by_opencl);

  struct Pair {
    std::string name;
    CudaKernel* kernel;
    int groups;
    double amount;  ///< bytes or steps, as `unit` says
    cookbook::Unit unit;
  };
  const int groups = (count + group_items - 1) / group_items;
  const std::vector<Pair> pairs = {
      {"add", add, groups, 3.0 * static_cast<double>(bytes), cookbook::rate("GB/s", 1e9)},
      {"dot_product", dot_product, std::min(groups, 8 * gpu::multiprocessors()), 2.0 * static_cast<double>(bytes),
       cookbook::rate("GB/s", 1e9)},
      {"iterate", iterate, groups, 1.0 * count * int{iterations}, cookbook::rate("G steps/s", 1e9)}};

  cookbook::Checks checks;
  for (const Pair& pair : pairs) {
    cl::Kernel kernel = CL_CHECK(cl::Kernel(program, pair.name.c_str()));
    CL_CHECK(kernel.setArg(0, cl_a));
    CL_CHECK(kernel.setArg(1, cl_b));
    CL_CHECK(kernel.setArg(2, cl_result));
    CL_CHECK(kernel.setArg(3, count));
    const auto run_cuda = [&] {
      pair.kernel<<<pair.groups, group_items>>>(cuda_a.data(), cuda_b.data(), cuda_result.data(), count);
      CUDA_CHECK(cudaGetLastError());
    };
    const auto run_opencl = [&] {
      cl::Event done;
      CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange,
                                          cl::NDRange(static_cast<std::size_t>(pair.groups) * group_items),
                                          cl::NDRange(group_items), nullptr, &done));
      return done;
    };

    cuda_result.poison();  // so that an element that nobody writes is noticed
    run_cuda();
    const Values by_cuda = cuda_result.to_host();
    run_opencl();
    CL_CHECK(queue.enqueueReadBuffer(cl_result, CL_TRUE, 0, bytes, by_opencl.data()));
    const int written = pair.kernel == dot_product ? pair.groups : count;
    checks.that(pair.name + ", the same values by both",
                std::equal(by_cuda.begin(), by_cuda.begin() + written, by_opencl.begin()));

    cookbook::Figures figures(fmt::format("{}, {} elements", pair.name, count), pair.unit, opencl::name_of(*device));
    figures.measure(
        {gpu::timed_row("CUDA", pair.amount, run_cuda), opencl::timed_row("OpenCL", pair.amount, run_opencl)}, rounds);
    figures.speedup_over("CUDA");
    figures.print(checks);
  }
  return checks.exit_code();
}
