// Pitfall: the local id instead of the global one
//
// get_local_id counts the work-items of one group, and begins with 0 in each. As an index of the whole array it makes
// all groups write the same first elements. With a single group the program would be right, which is why a first test
// with few elements does not show the mistake.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_work_groups/opencl_work_groups_local_id.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_work_groups_local_id
// Run:     opencl_work_groups_local_id
// Symptom: exit 1, prints "100 elements: 10 were written"

#include <algorithm>
#include <vector>

#include "cookbook/opencl.hpp"

int main() {
  const std::vector<cl::Device> devices = opencl::devices();
  if (devices.empty()) return opencl::without_device();
  const cl::Context context = CL_CHECK(cl::Context(devices[0]));
  cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, devices[0]));
  const cl::Program program = opencl::build(context, R"(
    kernel void write(global int* elements) {
      elements[get_local_id(0)] = 1;  // wrong: get_global_id(0)
    })");
  cl::Kernel kernel = CL_CHECK(cl::Kernel(program, "write"));

  std::vector<cl_int> elements(100, 0);
  const std::size_t bytes = elements.size() * sizeof(cl_int);
  const cl::Buffer buffer =
      CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, elements.data()));
  CL_CHECK(kernel.setArg(0, buffer));
  CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(elements.size()), cl::NDRange(10)));
  CL_CHECK(queue.enqueueReadBuffer(buffer, CL_TRUE, 0, bytes, elements.data()));

  const auto written = std::count(elements.begin(), elements.end(), 1);
  cookbook::println("{} elements: {} were written", elements.size(), written);
  return written == 100 ? 0 : 1;
}
