// Pitfall: the number of blocks is taken for the global range
//
// In CUDA one starts a kernel with the number of blocks and the number of threads per block, add<<<1024, 256>>>. In
// OpenCL the first of the two numbers counts all work-items. Taken over as it is, it starts 1024 work-items in 4 groups
// instead of 262,144 in 1024. No call fails.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/cuda_and_opencl/cuda_and_opencl_range.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o cuda_and_opencl_range
// Run:     cuda_and_opencl_range
// Symptom: exit 1, prints "261120 of 262144 sums are missing"

#include <algorithm>

#include "cookbook/opencl.hpp"

int main() {
  constexpr std::size_t blocks = 1'024, threads_per_block = 256;
  const auto device = opencl::chosen_device(0);
  if (!device) return opencl::without_device();
  const cl::Context context = CL_CHECK(cl::Context(*device));
  const cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, *device));
  const cl::Program program = opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "kernels.cl")));
  cl::Kernel kernel = CL_CHECK(cl::Kernel(program, "add"));

  std::vector<float> ones(blocks * threads_per_block, 1), sums(ones.size(), -1);
  const std::size_t bytes = ones.size() * sizeof(float);
  const cl::Buffer device_ones =
      CL_CHECK(cl::Buffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, ones.data()));
  const cl::Buffer device_sums =
      CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, sums.data()));
  CL_CHECK(kernel.setArg(0, device_ones));
  CL_CHECK(kernel.setArg(1, device_ones));
  CL_CHECK(kernel.setArg(2, device_sums));
  CL_CHECK(kernel.setArg(3, static_cast<cl_int>(ones.size())));
  CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(blocks),  // wrong: blocks * threads_per_block
                                      cl::NDRange(threads_per_block)));
  CL_CHECK(queue.enqueueReadBuffer(device_sums, CL_TRUE, 0, bytes, sums.data()));

  const auto missing = std::count(sums.begin(), sums.end(), -1.0F);
  cookbook::println("{} of {} sums are missing", missing, sums.size());
  return missing > 0 ? 1 : 0;
}
