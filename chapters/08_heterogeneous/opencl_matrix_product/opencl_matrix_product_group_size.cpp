// Pitfall: the host starts a kernel with groups of another size
//
// The kernel's tiles are 16 x 16, one number of each per work-item. The host starts it with groups of 8 x 8. So only a
// quarter of each tile is filled, and the kernel reads half of it. No call fails. With the attribute
// reqd_work_group_size(16, 16, 1), the call would fail with CL_INVALID_WORK_GROUP_SIZE.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_matrix_product/opencl_matrix_product_group_size.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o opencl_matrix_product_group_size
// Run:     opencl_matrix_product_group_size
// Symptom: exit 1, prints "elements are wrong"

#include "products.hpp"

int main() {
  constexpr int n = 128;
  const Matrix a(n * n, 1), b(n * n, 1);  // so each element of the product is n
  Matrix c(n * n);
  const auto device = opencl::chosen_device(0);
  if (!device) return opencl::without_device();
  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, *device));
  const cl::Program program = opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "any_group.cl")));
  cl::Kernel kernel = CL_CHECK(cl::Kernel(program, "tiled"));

  const cl::Buffer device_a = buffer_of(context, a), device_b = buffer_of(context, b), device_c = buffer_of(context, c);
  CL_CHECK(kernel.setArg(0, device_a));
  CL_CHECK(kernel.setArg(1, device_b));
  CL_CHECK(kernel.setArg(2, device_c));
  CL_CHECK(kernel.setArg(3, cl_int{n}));
  CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(n, n), cl::NDRange(8, 8)));  // wrong: 16, 16
  CL_CHECK(queue.enqueueReadBuffer(device_c, CL_TRUE, 0, c.size() * sizeof(float), c.data()));

  int wrong = 0;
  for (const float element : c) wrong += !(element == n);
  if (wrong > 0) {
    cookbook::println("{} of {} elements are wrong", wrong, c.size());
    return 1;
  }
  cookbook::println("all of {} elements are right", c.size());
}
