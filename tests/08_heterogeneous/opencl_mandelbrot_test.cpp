// The program's output, the picture as the host computes it, and the file.

#include "08_heterogeneous/opencl_mandelbrot/mandelbrot.hpp"

#include <unistd.h>

#include <array>
#include <cstdint>

#include "08_heterogeneous/opencl_mandelbrot/write_pgm.hpp"
#include "cookbook/opencl.hpp"
#include "support/files.hpp"
#include "support/mandelbrot_picture.hpp"
#include "support/run.hpp"

namespace {

using test_support::bin;
using test_support::run;

TEST(opencl_mandelbrot, all_checks_hold_for_any_number_of_steps) {
  for (const std::string steps : {"1", "20", "100"}) {
    const auto result = run("opencl_mandelbrot", {"--steps", steps});
    if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.text();
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("^device, .* work-item.* ms, differs in 0 pixels$").size(), 3U) << result.text();
    EXPECT_TRUE(result.has_line("ok    pixels that differ where both round in the same places: 0")) << result.text();
    EXPECT_EQ(result.has_line("ok    sum of all pixels: 13198317"), steps == "20") << result.text();
  }
}

// The lesson's last row: with another rounding some pixels differ, and not many.
TEST(opencl_mandelbrot, another_rounding_changes_pixels_at_the_border) {
  const auto result = run("opencl_mandelbrot", {});
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.text();
  const auto pixels = result.captures("rounded twice .* differs in ([0-9]+) pixels$");
  ASSERT_EQ(pixels.size(), 1U) << result.text();
  EXPECT_GT(std::stoi(pixels[0]), 0);
  EXPECT_LT(std::stoi(pixels[0]), 1536 * 1024 / 100);
}

TEST(opencl_mandelbrot, writes_the_picture) {
  const test_support::TemporaryDirectory folder;
  const auto file = folder.path / "mandelbrot.pgm";
  const auto result = run("opencl_mandelbrot", {"--pgm", file.string()});
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  const std::string text = test_support::text_of(file), head = "P5\n1536 1024\n255\n";
  ASSERT_EQ(text.size(), head.size() + 1536 * 1024);
  EXPECT_EQ(text.substr(0, head.size()), head);
  EXPECT_EQ(text[head.size() + 512 * 1536 + 1024], '\0');  // c = 0 is in the set
  EXPECT_EQ(text[head.size()], '\x37');                    // c = -2 - i is out of it at once: shade 55
}

TEST(opencl_mandelbrot, a_file_that_cannot_be_written_gives_exit_code_3) {
  const auto result = run("opencl_mandelbrot", {"--pgm", "/no/such/folder/mandelbrot.pgm"});
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 3) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre(testing::HasSubstr("/no/such/folder/mandelbrot.pgm")));
}

TEST(opencl_mandelbrot, without_a_device_it_is_skipped_with_a_reason) {
  const auto result =
      run("opencl_mandelbrot", {}, {.environment = {{"OCL_ICD_VENDORS", "/nonexistent"}, {"OCL_ICD_FILENAMES", ""}}});
  EXPECT_EQ(result.exit_code, opencl::skipped) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("opencl_mandelbrot: skipped, no OpenCL device: "));
}

/// The kernel for a picture of 96 x 64 pixels, the upper left corner of the whole one.
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
  cl::Kernel kernel = CL_CHECK(cl::Kernel(opencl::build(context, text), "draw"));
  std::vector<unsigned char> expected;
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < 96; ++column) expected.push_back(pixel(column, row, 20));
  }
  expected.push_back(255);  // behind the picture
  for (const auto& [columns, rows] : {std::pair{96, 64}, {7, 3}, {1, 1}, {130, 70}}) {
    std::vector<unsigned char> picture(expected.size(), 255);
    const cl::Buffer buffer =
        CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, picture.size(), picture.data()));
    CL_CHECK(kernel.setArg(0, buffer));
    CL_CHECK(kernel.setArg(1, 20));
    CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(columns, rows)));
    CL_CHECK(queue.enqueueReadBuffer(buffer, CL_TRUE, 0, picture.size(), picture.data()));
    EXPECT_EQ(picture, expected) << columns << " x " << rows << " work-items";
  }
}

TEST(opencl_mandelbrot, its_kernel_is_clean_under_oclgrind) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "not in a sanitizer's build: Oclgrind has faults of its own, which end the program";
#endif
  if (access("/usr/bin/oclgrind", X_OK) != 0)
    GTEST_SKIP() << "no oclgrind; scripts/setup --with-test-dependencies installs it";
  // The whole picture would take long, so this program runs the test above again, on the simulated device.
  const auto result = run("/usr/bin/oclgrind", {"--data-races", "--uninitialized", bin() + "/opencl_mandelbrot_test",
                                                "--gtest_filter=opencl_mandelbrot_draw.*"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("PASSED.* 1 test").size(), 1U) << result.text();
  EXPECT_THAT(result.err, testing::IsEmpty());
}

TEST(opencl_mandelbrot_mandelbrot, is_the_known_picture) {
  test_support::expect_the_known_picture([](int column, int row) { return pixel(column, row, 20); });
}

}  // namespace
