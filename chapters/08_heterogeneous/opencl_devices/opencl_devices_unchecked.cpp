// Pitfall: a property in a variable of the wrong size
//
// The C interface of OpenCL writes a property into the variable that it is given. The size of the global memory has 64
// bits. This program offers 32 bits; the call refuses, nobody looks at its error code, and the variable stays 0. The
// C++ interface knows the type of each property, and throws an exception when a call fails.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_devices/opencl_devices_unchecked.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_devices_unchecked
// Run:     opencl_devices_unchecked
// Symptom: exit 1, prints "global memory: 0 bytes"

#include <vector>

#include "cookbook/opencl.hpp"

int main() {
  const std::vector<cl::Device> devices = opencl::devices();
  if (devices.empty()) return opencl::without_device();

  cl_uint bytes = 0;  // wrong: the property CL_DEVICE_GLOBAL_MEM_SIZE is a cl_ulong
  clGetDeviceInfo(devices[0](), CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, nullptr);  // the error code is ignored
  cookbook::println("global memory: {} bytes", bytes);
  return bytes == 0 ? 1 : 0;
}
