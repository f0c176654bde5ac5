// Matrix product in OpenCL, measured
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/08_heterogeneous/opencl_matrix_product/opencl_matrix_product_bench.cpp common/cookbook/*.cpp -lclblast -lOpenCL -lopenblas -lfmt -o opencl_matrix_product_bench
// Run:     opencl_matrix_product_bench [--size N] [--rounds N] [--device N]

#include <cblas.h>

#include <cmath>

#include "cookbook/figures.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "products.hpp"

// After cookbook/opencl.hpp, which says which version of OpenCL is meant.
#include <clblast.h>

namespace {

/// How many of 1000 elements are farther than 1e-5 of the sum of the terms' magnitudes from the product in double
/// precision.
int far_from_exact(const Matrix& c, const Matrix& a, const Matrix& b, int n) {
  int far = 0;
  for (unsigned sample = 0; sample < 1'000; ++sample) {
    const int row = static_cast<int>(sample * 7'919U % n), column = static_cast<int>(sample * 104'729U % n);
    double exact = 0, magnitude = 0;
    for (int k = 0; k < n; ++k) {
      const double term = double{a[row * n + k]} * b[k * n + column];
      exact += term;
      magnitude += std::abs(term);
    }
    far += !(std::abs(c[row * n + column] - exact) <= 1e-5 * magnitude);
  }
  return far;
}

}  // namespace

int main(int argc, char** argv) {
  int n = 512, rounds = 5;
  std::size_t device_number = 0;
  cookbook::Options options("The four steps beside the device's arithmetic, CLBlast and OpenBLAS");
  options.add("size", n, "rows and columns of the matrices", 16, 16'384);
  options.add("rounds", rounds, "measured runs of each way", 1, 1'000);
  options.add("device", device_number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);
  const auto device = opencl::chosen_device(device_number);
  if (!device) return opencl::without_device();
  cookbook::require_memory(8.0 * n * n * sizeof(float), fmt::format("--size {}", n));

  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = opencl::profiling_queue(context, *device);
  const cl::Program program =
      opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "products.cl")) +
                                 opencl::read_kernels(opencl::beside(__FILE__, "multiply_add.cl")));
  const Matrix a = random_matrix(n, 1), b = random_matrix(n, 2), unwritten(a.size(), std::nanf(""));
  const cl::Buffer device_a = buffer_of(context, a), device_b = buffer_of(context, b),
                   device_c = buffer_of(context, unwritten);

  const std::size_t limit_items = 256 * 64 * CL_CHECK(device->getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>());
  const cl::Buffer sums = CL_CHECK(cl::Buffer(context, CL_MEM_WRITE_ONLY, 16 * limit_items * sizeof(float)));
  const bool is_processor = (CL_CHECK(device->getInfo<CL_DEVICE_TYPE>()) & CL_DEVICE_TYPE_CPU) != 0;
  cl::Kernel limit = CL_CHECK(cl::Kernel(program, is_processor ? "multiply_add_16" : "multiply_add_4"));
  constexpr int limit_steps = 1'024;
  CL_CHECK(limit.setArg(0, sums));
  CL_CHECK(limit.setArg(1, 0.5F));
  CL_CHECK(limit.setArg(2, limit_steps));

  // CLBlast may start several kernels, so its time is that of the whole call, on the host's clock.
  const auto by_clblast = [&] {
    cl_event done = nullptr;
    const auto status =
        clblast::Gemm(clblast::Layout::kRowMajor, clblast::Transpose::kNo, clblast::Transpose::kNo, n, n, n, 1.0F,
                      device_a(), 0, n, device_b(), 0, n, 0.0F, device_c(), 0, n, &queue(), &done);
    if (status != clblast::StatusCode::kSuccess) {
      cookbook::print_error(fmt::format("clblast::Gemm: status {}", static_cast<int>(status)));
      std::exit(3);
    }
    CL_CHECK(cl::Event(done).wait());
  };
  Matrix by_openblas = unwritten;
  const auto on_host = [&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n, 0, by_openblas.data(),
                n);
  };

  cookbook::Checks checks;
  const auto check = [&](const std::string& name, auto multiply) {
    Matrix c = unwritten;
    CL_CHECK(queue.enqueueWriteBuffer(device_c, CL_TRUE, 0, c.size() * sizeof(float), c.data()));
    multiply();
    CL_CHECK(queue.enqueueReadBuffer(device_c, CL_TRUE, 0, c.size() * sizeof(float), c.data()));
    checks.equal(fmt::format("{}, elements of 1000 that are not right", name), far_from_exact(c, a, b, n), 0);
  };
  const double operations = 2.0 * n * n * n;
  std::vector<cookbook::Benchmark> rows = {opencl::timed_row(
      "multiply-add alone", 2.0 * 8 * (is_processor ? 16 : 4) * limit_steps * static_cast<double>(limit_items), [&] {
        cl::Event done;
        CL_CHECK(queue.enqueueNDRangeKernel(limit, cl::NullRange, cl::NDRange(limit_items), cl::NDRange(256), nullptr,
                                            &done));
        return done;
      })};
  for (const Step& step : steps) {
    auto start = [&, kernel = CL_CHECK(cl::Kernel(program, step.kernel))]() mutable {
      return start_product(queue, kernel, step, device_a, device_b, device_c, n);
    };
    check(step.name, start);
    rows.push_back(opencl::timed_row(step.name, operations, start));
  }
  check("CLBlast", by_clblast);
  rows.emplace_back("CLBlast", operations, by_clblast);
  on_host();
  checks.equal("OpenBLAS, elements of 1000 that are not right", far_from_exact(by_openblas, a, b, n), 0);
  rows.emplace_back("OpenBLAS on the host", operations, on_host);

  cookbook::Figures figures(fmt::format("n = {}", n), cookbook::rate("GFLOP/s", 1e9),
                            fmt::format("{}; {}", opencl::name_of(*device), cookbook::machine()));
  figures.measure(rows, rounds);
  figures.percent_of("multiply-add alone", "multiply-add");
  figures.speedup_over("CLBlast");
  figures.print(checks);
  return checks.exit_code();
}
