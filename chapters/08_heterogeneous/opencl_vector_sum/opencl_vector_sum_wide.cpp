// Pitfall: integers of another width
//
// The host's vectors hold 64-bit integers, as NumPy's do by default on Linux; the kernel's int has 32 bits. Nobody
// compares the two: a buffer is bytes. The 100 work-items see the 64-bit numbers as pairs of 32-bit ones, and add the
// first 50 pairs. As the numbers are small and not negative, these 50 sums are right; the others are never computed.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_vector_sum/opencl_vector_sum_wide.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_vector_sum_wide
// Run:     opencl_vector_sum_wide
// Symptom: exit 1, prints "right sums: 50 of 100"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "five_objects.hpp"

int main() {
  const std::vector<cl::Device> devices = opencl::devices();
  if (devices.empty()) return opencl::without_device();
  FiveObjects five{devices[0], opencl::read_kernels(opencl::beside(__FILE__, "vector_sum.cl"))};

  constexpr cl_uint count = 100;
  constexpr std::size_t bytes = count * sizeof(std::int64_t);
  std::vector<std::int64_t> a(count), b(count), sum(count, -1);  // wrong: cl_int is what the kernel has
  for (cl_uint i = 0; i < count; ++i) {
    a[i] = i;
    b[i] = 99 - i;
  }
  const cl_mem_flags copy = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
  const cl::Buffer device_a = CL_CHECK(cl::Buffer(five.context, copy, bytes, a.data()));
  const cl::Buffer device_b = CL_CHECK(cl::Buffer(five.context, copy, bytes, b.data()));
  const cl::Buffer device_sum = CL_CHECK(cl::Buffer(five.context, copy, bytes, sum.data()));
  CL_CHECK(five.kernel.setArg(0, device_a));
  CL_CHECK(five.kernel.setArg(1, device_b));
  CL_CHECK(five.kernel.setArg(2, device_sum));
  CL_CHECK(five.kernel.setArg(3, count));
  CL_CHECK(five.queue.enqueueNDRangeKernel(five.kernel, cl::NullRange, cl::NDRange(count)));
  CL_CHECK(five.queue.enqueueReadBuffer(device_sum, CL_TRUE, 0, bytes, sum.data()));

  const auto right = std::count(sum.begin(), sum.end(), 99);
  cookbook::println("right sums: {} of {}; sum 49 is {}, sum 50 is {}", right, count, sum[49], sum[50]);
  return right == count ? 0 : 1;
}
