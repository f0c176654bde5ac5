// The program's output for many sizes, and the kernels' attribute.

#include "08_heterogeneous/opencl_matrix_product/products.hpp"

#include <unistd.h>

#include <cmath>

#include "support/run.hpp"

namespace {

using test_support::bin;
using test_support::run;

const std::string folder = std::string(__FILE__).substr(0, std::string(__FILE__).rfind("/tests/")) +
                           "/chapters/08_heterogeneous/opencl_matrix_product/";

TEST(opencl_matrix_product, every_step_has_the_bits_of_the_processor_at_every_size) {
  // Multiples of the tiles, one more, one less, smaller than any tile.
  for (const int size : {1, 16, 31, 127, 128, 203}) {
    const auto result = run("opencl_matrix_product", {"--size", std::to_string(size)});
    if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    const auto loads = result.captures("^step [1-4]: .* ([0-9.]+) +[0-9.]+ GFLOP/s$");
    ASSERT_EQ(loads.size(), 4U) << result.text();
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(std::stod(loads[i]), steps[i].global_loads + steps[i].local_loads, 5.1e-4) << result.text();
    }
    EXPECT_TRUE(
        result.has_line("ok    kernels with a wrong element among the " + std::to_string(size * size) + " compared: 0"))
        << result.text();
  }
}

// The two parts of the column that the program prints, counted anew from the shape of the blocks.
TEST(opencl_matrix_product_products, the_loads_are_those_of_the_blocks) {
  for (const Step& step : steps) {
    const double group = 1.0 * step.rows * step.columns;  // multiply-adds of a group per k
    const bool has_tiles = step.local_loads > 0;
    const double items = 1.0 * step.items * step.items, block = group / items;
    if (has_tiles) {
      EXPECT_DOUBLE_EQ(step.global_loads, (step.rows + step.columns) / group) << step.name;
      EXPECT_DOUBLE_EQ(step.local_loads, 2 * std::sqrt(block) / block) << step.name;  // a square block of elements
    } else {
      const double rows = block == 1 ? 1 : step.rows, columns = block == 1 ? 1 : step.columns;
      EXPECT_DOUBLE_EQ(step.global_loads, (rows + columns) / block) << step.name;
    }
  }
}

TEST(opencl_matrix_product_products, small_whole_numbers_are_exact) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, *device));
  const cl::Program program = opencl::build(context, opencl::read_kernels(folder + "products.cl"));
  const int n = 130;
  Matrix a(n * n), b(n * n), expected(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = static_cast<float>(i % 17 - 8);
    b[i] = static_cast<float>(i % 13 - 6);
  }
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) {
      for (int k = 0; k < n; ++k) expected[row * n + column] += a[row * n + k] * b[k * n + column];
    }
  }
  const cl::Buffer device_a = buffer_of(context, a), device_b = buffer_of(context, b), device_c = buffer_of(context, c);
  for (const Step& step : steps) {
    cl::Kernel kernel = CL_CHECK(cl::Kernel(program, step.kernel));
    start_product(queue, kernel, step, device_a, device_b, device_c, n);
    CL_CHECK(queue.enqueueReadBuffer(device_c, CL_TRUE, 0, c.size() * sizeof(float), c.data()));
    EXPECT_EQ(c, expected) << step.name;
    std::fill(c.begin(), c.end(), 0.0F);
    CL_CHECK(queue.enqueueWriteBuffer(device_c, CL_TRUE, 0, c.size() * sizeof(float), c.data()));
  }
}

// A compiler may fuse a * b + c, so that it has the bits of an fma by luck. Where it is told not to, the text itself
// must ask for fma.
TEST(opencl_matrix_product_products, each_step_rounds_once_whatever_the_compiler_would_fuse) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, *device));
  const cl::Program program =
      opencl::build(context, "#pragma OPENCL FP_CONTRACT OFF\n" + opencl::read_kernels(folder + "products.cl"));
  const int n = 75;
  const Matrix a = random_matrix(n, 1), b = random_matrix(n, 2);
  Matrix expected(n * n), c(n * n);
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) {
      float& sum = expected[row * n + column];
      for (int k = 0; k < n; ++k) sum = std::fma(a[row * n + k], b[k * n + column], sum);
    }
  }
  const cl::Buffer device_a = buffer_of(context, a), device_b = buffer_of(context, b), device_c = buffer_of(context, c);
  for (const Step& step : steps) {
    cl::Kernel kernel = CL_CHECK(cl::Kernel(program, step.kernel));
    start_product(queue, kernel, step, device_a, device_b, device_c, n);
    CL_CHECK(queue.enqueueReadBuffer(device_c, CL_TRUE, 0, c.size() * sizeof(float), c.data()));
    EXPECT_EQ(c, expected) << step.name;
  }
}

TEST(opencl_matrix_product_products, groups_of_another_size_are_refused) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, *device));
  const cl::Program program = opencl::build(context, opencl::read_kernels(folder + "products.cl"));
  const cl::Buffer matrix = buffer_of(context, Matrix(32 * 32));
  for (const Step& step : steps) {
    if (step.items != 16) continue;  // uses no tiles
    cl::Kernel kernel = CL_CHECK(cl::Kernel(program, step.kernel));
    for (const cl_uint index : {0U, 1U, 2U}) CL_CHECK(kernel.setArg(index, matrix));
    CL_CHECK(kernel.setArg(3, 32));
    try {
      queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(32, 32), cl::NDRange(8, 8));
      ADD_FAILURE() << step.name << " was started with groups of 8 x 8";
    } catch (const cl::Error& error) {
      EXPECT_EQ(error.err(), CL_INVALID_WORK_GROUP_SIZE) << step.name;
    }
  }
}

// What the page says of both kinds of device; and the figure that is printed is that of 2 n^3 operations.
TEST(opencl_matrix_product_timing, each_kind_of_device_has_its_fastest_step) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  const bool is_processor = (CL_CHECK(device->getInfo<CL_DEVICE_TYPE>()) & CL_DEVICE_TYPE_CPU) != 0;
  const int n = is_processor ? 512 : 2'048;
  const auto result = run("opencl_matrix_product", {"--size", std::to_string(n)});
  const auto rates = result.captures("^step [1-4]: .* ([0-9.]+) GFLOP/s$");
  ASSERT_EQ(rates.size(), 4U) << result.text();
  const double first = std::stod(rates[0]), best = std::stod(rates[is_processor ? 3 : 2]);
  EXPECT_GT(best, 2 * first) << result.text();
  EXPECT_LT(std::stod(rates[is_processor ? 2 : 3]), best / 10) << "the other device's fastest\n" << result.text();
  for (const std::string& rate : rates) EXPECT_LE(std::stod(rate), best) << result.text();

  const cl::Context context = CL_CHECK(cl::Context(*device));
  cl::CommandQueue queue = opencl::profiling_queue(context, *device);
  const cl::Program program = opencl::build(context, opencl::read_kernels(folder + "products.cl"));
  const Matrix matrix = random_matrix(n, 1);
  const cl::Buffer a = buffer_of(context, matrix), b = buffer_of(context, matrix), c = buffer_of(context, matrix);
  cl::Kernel kernel = CL_CHECK(cl::Kernel(program, "naive"));
  double seconds = 1e9;
  for (int i = 0; i < 3; ++i) {
    seconds = std::min(seconds, opencl::seconds_of(start_product(queue, kernel, steps[0], a, b, c, n)));
  }
  const double rate = 2e-9 * n * n * n / seconds;
  EXPECT_LT(std::abs(std::log(rate / first)), std::log(3.0)) << rate << '\n' << result.text();
}

TEST(opencl_matrix_product, without_a_device_it_is_skipped_with_a_reason) {
  const auto result = run("opencl_matrix_product", {},
                          {.environment = {{"OCL_ICD_VENDORS", "/nonexistent"}, {"OCL_ICD_FILENAMES", ""}}});
  EXPECT_EQ(result.exit_code, opencl::skipped) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("opencl_matrix_product: skipped, no OpenCL device: "));
}

TEST(opencl_matrix_product, is_clean_under_oclgrind) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "not in a sanitizer's build: Oclgrind has faults of its own, which end the program";
#endif
  if (access("/usr/bin/oclgrind", X_OK) != 0)
    GTEST_SKIP() << "no oclgrind; scripts/setup --with-test-dependencies installs it";
  const auto result = run("/usr/bin/oclgrind", {"--data-races", bin() + "/opencl_matrix_product", "--size", "19"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^Oclgrind").size(), 1U) << result.text();
  EXPECT_EQ(result.lines_with("^ok ").size(), 1U) << result.text();
  EXPECT_THAT(result.err, testing::IsEmpty());
}

}  // namespace
