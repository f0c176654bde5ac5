// Pitfall: a tree without barriers
//
// Each of 4 work-groups adds up 256 integers in local memory. No barrier separates the levels of the tree, so a
// work-item adds what it finds in another one's place, whether that one has been there or not. No call fails.
// Most of the work-items are made late here. On a GPU the sum would otherwise often be right by luck.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_reduction/opencl_reduction_no_barrier.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o opencl_reduction_no_barrier
// Run:     opencl_reduction_no_barrier
// Symptom: exit 1, prints "the sum is wrong"

#include <numeric>

#include "cookbook/opencl.hpp"

int main() {
  constexpr std::size_t items = 256, groups = 4, count = items * groups;
  const auto device = opencl::chosen_device(0);
  if (!device) return opencl::without_device();
  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, *device));
  const cl::Program program = opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "no_barrier.cl")));
  cl::Kernel kernel = CL_CHECK(cl::Kernel(program, "sum_without_barriers"));

  std::vector<cl_int> values(count), of_group(groups);
  std::iota(values.begin(), values.end(), 0);
  const cl::Buffer device_values =
      CL_CHECK(cl::Buffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, count * sizeof(cl_int), values.data()));
  const cl::Buffer device_sums = CL_CHECK(cl::Buffer(context, CL_MEM_WRITE_ONLY, groups * sizeof(cl_int)));
  CL_CHECK(kernel.setArg(0, device_values));
  CL_CHECK(kernel.setArg(1, cl::Local(items * sizeof(cl_int))));
  CL_CHECK(kernel.setArg(2, device_sums));
  CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(count), cl::NDRange(items)));
  CL_CHECK(queue.enqueueReadBuffer(device_sums, CL_TRUE, 0, groups * sizeof(cl_int), of_group.data()));

  const long sum = std::accumulate(of_group.begin(), of_group.end(), 0L), expected = count * (count - 1) / 2;
  cookbook::println("sum {}, expected {}", sum, expected);
  if (sum == expected) return 0;
  cookbook::println("the sum is wrong");
  return 1;
}
