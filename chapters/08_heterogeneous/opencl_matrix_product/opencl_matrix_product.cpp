// Matrix product in OpenCL
//
// C = A B for n x n floats, by four kernels (products.cl): one work-item per element; for GPUs tiles in local memory,
// which the work-items of a group share, and then 8 x 8 elements per work-item, in registers; for processors 8 x 32
// elements per work-item, in vectors and without local memory. The program prints how many numbers each kernel loads
// per multiply-add, from global and from local memory together, and how fast it is on this device. All four add in the
// same order, so their elements are equal to the host's.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/08_heterogeneous chapters/08_heterogeneous/opencl_matrix_product/opencl_matrix_product.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o opencl_matrix_product
// Run:     opencl_matrix_product [--size N] [--device N]

#include <cmath>
#include <limits>

#include "cookbook/options.hpp"
#include "products.hpp"
#include "shortest_time.hpp"

namespace {

/// Elements that are compared: all, or 50,000 that are spread evenly.
std::size_t compared(int n) { return std::min<std::size_t>(std::size_t(n) * n, 50'000); }
std::size_t place(std::size_t i, int n) { return i * (std::size_t(n) * n) / compared(n); }

/// These elements of the product on the host, in the order of the kernels and with their fused multiply-add, which
/// rounds once.
Matrix product_on_host(const Matrix& a, const Matrix& b, int n) {
  Matrix elements(compared(n), 0);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::size_t row = place(i, n) / n, column = place(i, n) % n;
    for (int k = 0; k < n; ++k) elements[i] = std::fma(a[row * n + k], b[std::size_t(k) * n + column], elements[i]);
  }
  return elements;
}

}  // namespace

int main(int argc, char** argv) {
  int n = 512;
  std::size_t number = 0;
  cookbook::Options options("Multiply matrices on an OpenCL device, in four steps");
  options.add("size", n, "rows and columns of the matrices", 1, 8'192);
  options.add("device", number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);
  const auto device = opencl::chosen_device(number);
  if (!device) return opencl::without_device();

  const Matrix a = random_matrix(n, 1), b = random_matrix(n, 2), expected = product_on_host(a, b, n);
  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = opencl::profiling_queue(context, *device);
  const cl::Program program = opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "products.cl")));
  const cl::Buffer device_a = buffer_of(context, a), device_b = buffer_of(context, b);

  cookbook::println("{}", opencl::name_of(*device));
  cookbook::println("n = {:<38}loads per multiply-add", n);
  int wrong = 0;
  for (const Step& step : steps) {
    Matrix c(a.size(), std::numeric_limits<float>::quiet_NaN());  // so that an element that nobody writes is noticed
    const cl::Buffer device_c = buffer_of(context, c);
    cl::Kernel kernel = CL_CHECK(cl::Kernel(program, step.kernel));
    const double seconds =
        shortest_on_device(3, [&] { return start_product(queue, kernel, step, device_a, device_b, device_c, n); });
    CL_CHECK(queue.enqueueReadBuffer(device_c, CL_TRUE, 0, c.size() * sizeof(float), c.data()));
    cookbook::println("{:<42}{:>22.3f} {:>9.1f} GFLOP/s", step.name, step.global_loads + step.local_loads,
                      2e-9 * n * n * n / seconds);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (c[place(i, n)] == expected[i]) continue;  // not so for a NaN, either
      ++wrong;
      break;
    }
  }

  cookbook::Checks checks;
  checks.equal(fmt::format("kernels with a wrong element among the {} compared", expected.size()), wrong, 0);
  return checks.exit_code();
}
