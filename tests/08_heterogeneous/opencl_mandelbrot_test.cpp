// The program's output, and the picture as the host computes it.

#include "08_heterogeneous/opencl_mandelbrot/mandelbrot.hpp"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <numeric>

#include "cookbook/opencl.hpp"
#include "support/mandelbrot_picture.hpp"
#include "support/run.hpp"

namespace {

using test_support::bin;
using test_support::run;

TEST(opencl_mandelbrot, all_checks_hold_for_any_number_of_steps) {
  for (const auto& [steps, rows] : {std::pair{"1", 2U}, {"20", 2U}, {"70", 4U}, {"254", 7U}}) {
    const auto result = run("opencl_mandelbrot", {"--steps", steps});
    if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.text();
    EXPECT_EQ(result.exit_code, 0) << result.text();
    const auto pixels = result.captures("^in .* ([0-9]+) +0 +[0-9]+ +[0-9.]+ % +0$");
    EXPECT_EQ(pixels.size(), rows) << result.text();
    int all = 0;
    for (const std::string& some : pixels) all += std::stoi(some);
    EXPECT_EQ(all, width * height) << result.text();  // each in one row
    EXPECT_TRUE(result.has_line("ok    pixels that are those of the host with fma: 1572864")) << result.text();
  }
}

// Whatever the compilers fuse, with fma host and device draw this picture.
TEST(opencl_mandelbrot, the_picture_with_fma_is_always_the_same) {
  const auto result = run("opencl_mandelbrot", {});
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.captures("^in .* ([0-9]+) +0 +[0-9]+ +[0-9.]+ % +0$"),
            (std::vector<std::string>{"1119204", "37182", "10911", "3528", "1718", "1140", "399181"}))
      << result.text();
}

// The lesson: the host does not fuse the plain formula, and most compilers of devices do; then few pixels differ, and
// the more, the later they escape. None differs if the device may not fuse either, as the other tests look for.
TEST(opencl_mandelbrot, the_plain_formula_differs_most_in_pixels_that_escape_late) {
  const auto result = run("opencl_mandelbrot", {});
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.text();
  const auto numbers = [&](const std::string& pattern) {
    std::vector<double> found;
    for (const std::string& some : result.captures(pattern)) found.push_back(std::stod(some));
    return found;
  };
  const auto pixels = numbers("^in .* ([0-9]+) +0 +[0-9]+ +[0-9.]+ % +0$");
  const auto differ = numbers("^in .* [0-9]+ +0 +([0-9]+) +[0-9.]+ % +0$");
  const auto shares = numbers("^in .* ([0-9.]+) % +0$");
  ASSERT_TRUE(pixels.size() == 7 && differ.size() == 7 && shares.size() == 7) << result.text();
  const double sum = std::accumulate(differ.begin(), differ.end(), 0.0);
  EXPECT_GT(sum, 0) << result.text();
  EXPECT_LT(sum, width * height / 100) << result.text();
  for (int row = 0; row < 7; ++row) EXPECT_NEAR(shares[row], 100 * differ[row] / pixels[row], 0.0051) << row;
  for (int row = 1; row < 6; ++row) EXPECT_GT(shares[row], shares[row - 1]) << row;
}

TEST(opencl_mandelbrot, without_a_device_it_is_skipped_with_a_reason) {
  const auto result =
      run("opencl_mandelbrot", {}, {.environment = {{"OCL_ICD_VENDORS", "/nonexistent"}, {"OCL_ICD_FILENAMES", ""}}});
  EXPECT_EQ(result.exit_code, opencl::skipped) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("opencl_mandelbrot: skipped, no OpenCL device: "));
}

/// Each kernel for a picture of 96 x 64 pixels, the upper left corner of the whole one. There the points escape so
/// early that no rounding moves a pixel.
TEST(opencl_mandelbrot_draw, writes_each_pixel_of_a_small_picture_and_nothing_else) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  const std::string here = __FILE__,
                    folder = here.substr(0, here.rfind("/tests/")) + "/chapters/08_heterogeneous/opencl_mandelbrot/";
  std::string text = opencl::read_kernels(folder + "mandelbrot.hpp") + opencl::read_kernels(folder + "draw.cl");
  const std::string sizes = "width = 1536, height = 1024";
  ASSERT_NE(text.find(sizes), std::string::npos);
  text.replace(text.find(sizes), sizes.size(), "width = 96, height = 64");

  const cl::Context context = CL_CHECK(cl::Context(*device));
  const cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, *device));
  const cl::Program program = opencl::build(context, text);
  std::vector<unsigned char> expected;
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < 96; ++column) expected.push_back(pixel(column, row, 20));
  }
  expected.push_back(255);  // behind the picture
  for (const char* name : {"draw", "draw_plain"}) {
    std::vector<unsigned char> picture(expected.size(), 255);
    const cl::Buffer buffer =
        CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, picture.size(), picture.data()));
    cl::Kernel kernel = CL_CHECK(cl::Kernel(program, name));
    CL_CHECK(kernel.setArg(0, buffer));
    CL_CHECK(kernel.setArg(1, 20));
    CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(96, 64)));
    CL_CHECK(queue.enqueueReadBuffer(buffer, CL_TRUE, 0, picture.size(), picture.data()));
    EXPECT_EQ(picture, expected) << name;
  }
}

/// The picture of a kernel, by a compiler that is told not to fuse.
std::vector<unsigned char> unfused_by_device(const cl::Device& device, const char* name) {
  const std::string here = __FILE__,
                    folder = here.substr(0, here.rfind("/tests/")) + "/chapters/08_heterogeneous/opencl_mandelbrot/";
  const cl::Context context = CL_CHECK(cl::Context(device));
  const cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, device));
  const cl::Program program =
      opencl::build(context, "#pragma OPENCL FP_CONTRACT OFF\n" + opencl::read_kernels(folder + "mandelbrot.hpp") +
                                 opencl::read_kernels(folder + "draw.cl"));
  cl::Kernel kernel = CL_CHECK(cl::Kernel(program, name));
  std::vector<unsigned char> picture(width * height, 255);
  const cl::Buffer buffer =
      CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, picture.size(), picture.data()));
  CL_CHECK(kernel.setArg(0, buffer));
  CL_CHECK(kernel.setArg(1, 254));
  CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(width, height)));
  CL_CHECK(queue.enqueueReadBuffer(buffer, CL_TRUE, 0, picture.size(), picture.data()));
  return picture;
}

// The host's compiler may fuse a * b + c; the device's is told not to. So they agree only if the text asks for fma.
TEST(opencl_mandelbrot_draw, rounds_as_the_host_does_whatever_a_compiler_would_fuse) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  const auto picture = unfused_by_device(*device, "draw");
  int wrong = 0;
  for (int i = 0; i < width * height; ++i) wrong += picture[i] != pixel(i % width, i / width, 254);
  EXPECT_EQ(wrong, 0);
}

/// plain_escape_step() with each product and each sum rounded: a volatile number is not fused with what follows.
int rounded_twice(float cx, float cy) {
  volatile float x = 0, y = 0;
  for (int step = 0; step < 254; ++step) {
    volatile float xx = x * x, yy = y * y, difference = xx - yy, xy = 2 * x * y;
    x = difference + cx;
    y = xy + cy;
    xx = x * x;
    yy = y * y;
    if (xx + yy >= 4) return step;
  }
  return 254;
}

TEST(opencl_mandelbrot_draw, rounds_the_plain_formula_twice_if_it_may_not_fuse) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  const auto picture = unfused_by_device(*device, "draw_plain");
  int wrong = 0;
  for (int i = 0; i < width * height; i += 7) wrong += picture[i] != rounded_twice(x_of(i % width), y_of(i / width));
  EXPECT_EQ(wrong, 0);
}

TEST(opencl_mandelbrot, its_kernel_is_clean_under_oclgrind) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "not in a sanitizer's build: Oclgrind has faults of its own, which end the program";
#endif
  if (access("/usr/bin/oclgrind", X_OK) != 0)
    GTEST_SKIP() << "no oclgrind; scripts/setup --with-test-dependencies installs it";
  // The whole picture would take long, so this program runs the test above again, on the simulated device.
  const auto result = run("/usr/bin/oclgrind", {"--data-races", "--uninitialized", bin() + "/opencl_mandelbrot_test",
                                                "--gtest_filter=opencl_mandelbrot_draw.writes*"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("PASSED.* 1 test").size(), 1U) << result.text();
  EXPECT_THAT(result.err, testing::IsEmpty());
}

// The example of the page, for x = 1.0001 and y = 1.
TEST(opencl_mandelbrot_mandelbrot, a_second_rounding_changes_the_fifth_digit_of_a_small_difference) {
  volatile float x = 1.0001F, product = x * x;  // volatile: rounded, and not fused with what follows
  EXPECT_EQ(fmt::format("{:.9f}", std::fma(x, x, -1.0F)), "0.000200043");
  EXPECT_EQ(fmt::format("{:.9f}", product - 1), "0.000200033");
}

TEST(opencl_mandelbrot_mandelbrot, is_the_known_picture) {
  test_support::expect_the_known_picture([](int column, int row) { return pixel(column, row, 20); });
}

}  // namespace
