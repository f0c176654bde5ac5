// Pitfall: a benchmark of nothing
//
// The loop of this kernel computes one sum 10,000,000 times, and keeps the last one. The compiler sees that the
// others are useless, and removes the loop. One work-item then seems to make more additions per second than any
// processor can.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_benchmark/opencl_benchmark_nothing.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_benchmark_nothing
// Run:     opencl_benchmark_nothing
// Symptom: exit 1, prints "the loop was removed"

#include <vector>

#include "cookbook/opencl.hpp"

int main() {
  const std::vector<cl::Device> devices = opencl::devices();
  if (devices.empty()) return opencl::without_device();
  const cl::Context context = CL_CHECK(cl::Context(devices[0]));
  cl::CommandQueue queue = opencl::profiling_queue(context, devices[0]);
  const cl::Program program = opencl::build(context, R"(
    kernel void repeated_sum(global float* numbers, uint repeats) {
      float sum = 0;
      for (uint r = 0; r < repeats; ++r) sum = numbers[0] + numbers[1];  // missing: volatile numbers
      numbers[2] = sum;
    })");
  cl::Kernel kernel = CL_CHECK(cl::Kernel(program, "repeated_sum"));
  const cl::Buffer numbers = CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE, 3 * sizeof(float)));
  CL_CHECK(queue.enqueueFillBuffer(numbers, 1.0F, 0, 3 * sizeof(float)));
  constexpr cl_uint repeats = 10'000'000;
  CL_CHECK(kernel.setArg(0, numbers));
  CL_CHECK(kernel.setArg(1, repeats));
  cl::Event event;
  CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1), cl::NullRange, nullptr, &event));

  const double seconds = opencl::seconds_of(event);
  cookbook::println("{} additions by one work-item: {:.3f} ms", repeats, seconds * 1e3);
  if (repeats / seconds < 40e9) return 0;  // ten per clock cycle at 4 GHz: the loop of one work-item makes less
  cookbook::println("the loop was removed");
  return 1;
}
