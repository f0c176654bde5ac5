// Pitfall: a number of the wrong type
//
// The kernel's parameter is a float, and the host passes 2, an int. Both have four bytes, and setArg compares sizes
// alone. So the kernel takes the bits of the integer 2 for those of a float: 2.8e-45. C++ does not convert the number,
// since it does not know the kernel's parameters.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_elementwise/opencl_elementwise_wrong_type.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_elementwise_wrong_type
// Run:     opencl_elementwise_wrong_type
// Symptom: exit 1, prints "2 times 10 is 0.0"

#include <vector>

#include "elementwise.hpp"

int main() {
  const std::vector<cl::Device> devices = opencl::devices();
  if (devices.empty()) return opencl::without_device();
  const cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(CL_CHECK(cl::Context(devices[0])), devices[0]));
  const DeviceVector<cl_float> x(queue, {10});

  Elementwise scale(queue, "scale", "float factor, global float* x", "x[i] = factor * x[i]");
  scale(2, x);  // right: 2.0F
  const float result = x.to_host()[0];
  cookbook::println("2 times 10 is {:.1f}", result);
  return result == 20 ? 0 : 1;
}
