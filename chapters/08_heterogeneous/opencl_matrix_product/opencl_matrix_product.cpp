// Matrix product in OpenCL
//
// C = A B for n x n floats, by four kernels (products.cl): one work-item per element; tiles in local memory, which the
// work-items of a group share; 8 x 8 elements per work-item, in registers; and a form for processors, without local
// memory. Each of the others loads fewer numbers from global memory per multiplication than the first one. The bits of
// all four are those of the processor's product.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_matrix_product/opencl_matrix_product.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o opencl_matrix_product
// Run:     opencl_matrix_product [--size N] [--device N]

#include <cmath>
#include <limits>

#include "cookbook/options.hpp"
#include "products.hpp"

namespace {

/// Multiplies on the processor, in the order of the kernels and with their fused multiply-add, which rounds once.
/// Counts in `far` the elements that are further from the product in double precision than 1e-5 of the sum of the
/// terms' magnitudes.
Matrix product_on_host(const Matrix& a, const Matrix& b, int n, int& far) {
  Matrix c(a.size());
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) {
      float sum = 0;
      double exact = 0, magnitude = 0;
      for (int k = 0; k < n; ++k) {
        const float x = a[row * n + k], y = b[k * n + column];
        sum = std::fma(x, y, sum);
        exact += double{x} * y;
        magnitude += std::abs(double{x} * y);
      }
      c[row * n + column] = sum;
      far += !(std::abs(sum - exact) <= 1e-5 * magnitude);  // counts a NaN, too
    }
  }
  return c;
}

}  // namespace

int main(int argc, char** argv) {
  int n = 203;  // a multiple of no tile
  std::size_t number = 0;
  cookbook::Options options("Multiply matrices on an OpenCL device, in four steps");
  options.add("size", n, "rows and columns of the matrices", 1, 1'024);
  options.add("device", number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);

  cookbook::Checks checks;
  int far = 0;
  const Matrix a = random_matrix(n, 1), b = random_matrix(n, 2), expected = product_on_host(a, b, n, far);
  checks.equal("processor, elements that are far from the exact ones", far, 0);
  const auto device = opencl::chosen_device(number);
  if (!device) return opencl::without_device(checks);
  cookbook::println("on {}", opencl::name_of(*device));

  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, *device));
  const cl::Program program = opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "products.cl")));
  const cl::Buffer device_a = buffer_of(context, a), device_b = buffer_of(context, b);
  for (const Step& step : steps) {
    Matrix c(a.size(), std::numeric_limits<float>::quiet_NaN());  // so that an element that nobody writes is noticed
    const cl::Buffer device_c = buffer_of(context, c);
    cl::Kernel kernel = CL_CHECK(cl::Kernel(program, step.kernel));
    start_product(queue, kernel, step, device_a, device_b, device_c, n);
    CL_CHECK(queue.enqueueReadBuffer(device_c, CL_TRUE, 0, c.size() * sizeof(float), c.data()));
    int wrong = 0;
    for (std::size_t i = 0; i < c.size(); ++i) wrong += !(c[i] == expected[i]);  // counts a NaN, too
    checks.equal(fmt::format("{}, elements of {} that differ from the processor's", step.name, c.size()), wrong, 0);
  }
  return checks.exit_code();
}
