// The program's output, and the picture as the host computes it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/cuda_mandelbrot/mandelbrot.hpp"
#include "06_gpu/write_png.hpp"
#include "support/files.hpp"
#include "support/mandelbrot_picture.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

std::vector<unsigned char> picture_of(int steps) {
  std::vector<unsigned char> picture;
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) picture.push_back(pixel(column, row, steps));
  }
  return picture;
}

TEST(cuda_mandelbrot, every_grid_is_right_for_any_number_of_steps) {
  for (const std::string steps : {"1", "2", "20", "254"}) {
    const auto result = run("cuda_mandelbrot", {"--steps", steps});
    if (result.exit_code == 77) GTEST_SKIP() << result.text();
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    grids with the processor's picture: 4")) << result.text();
    for (const std::string grid : {"1 x 1 +6144", "8 x 8 +96", "32 x 16 +12", "48 x 128 +1"}) {
      EXPECT_EQ(result.lines_with("^ +" + grid + " +[0-9]+ +[0-9.]+ ms +[0-9]+ ns$").size(), 1U) << grid << '\n'
                                                                                                 << result.text();
    }
  }
}

/// The steps of the slowest warp of a grid, thread by thread as the kernel goes over the picture.
int steps_of_slowest_warp(int blocks_x, int blocks_y, int steps) {
  const std::vector<unsigned char> picture = picture_of(steps);
  int slowest_warp = 0;
  for (int first_row = 0; first_row < std::min(height, blocks_y * 8); ++first_row) {
    for (int block = 0; block < blocks_x; ++block) {
      int all = 0;
      for (int row = first_row; row < height; row += blocks_y * 8) {
        for (int first = block * 32; first < width; first += blocks_x * 32) {
          int slowest = 0;
          for (int lane = 0; lane < 32; ++lane) {
            const int value = picture[static_cast<std::size_t>(row * width + first + lane)];
            slowest = std::max(slowest, value == steps ? steps : value + 1);
          }
          all += slowest;
        }
      }
      slowest_warp = std::max(slowest_warp, all);
    }
  }
  return slowest_warp;
}

TEST(cuda_mandelbrot, the_slowest_warp_has_as_many_steps_as_the_slowest_pixel_of_each_of_its_rounds) {
  for (const int steps : {20, 254}) {
    const auto result = run("cuda_mandelbrot", {"--steps", std::to_string(steps)});
    if (result.exit_code == 77) GTEST_SKIP() << result.text();
    for (const auto& [x, y] : std::vector<std::pair<int, int>>{{1, 1}, {8, 8}, {32, 16}, {48, 128}}) {
      const auto slowest = result.captures(fmt::format("^ +{} x {} +[0-9]+ +([0-9]+) ", x, y));
      EXPECT_THAT(slowest, testing::ElementsAre(std::to_string(steps_of_slowest_warp(x, y, steps)))) << result.text();
    }
  }
}

TEST(cuda_mandelbrot_timing, more_blocks_are_faster_and_the_slowest_warp_gives_the_time_of_few) {
  const auto result = run("cuda_mandelbrot");
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  std::vector<double> times, per_step;
  for (const std::string& value : result.captures(" ([0-9.]+) ms ")) times.push_back(std::stod(value));
  for (const std::string& value : result.captures(" ([0-9]+) ns$")) per_step.push_back(std::stod(value));
  ASSERT_EQ(times.size(), 4U) << result.text();
  ASSERT_EQ(per_step.size(), 4U) << result.text();
  EXPECT_GT(times[0], 5 * times[1]) << result.text();
  EXPECT_GT(times[1], times[2]) << result.text();
  EXPECT_GT(times[2], times[3]) << result.text();
  EXPECT_LT(per_step[1], 1.5 * per_step[0]) << result.text();
  EXPECT_GT(per_step[3], 3 * per_step[0]) << result.text();
}

TEST(cuda_mandelbrot, writes_the_picture_as_a_png) {
  const test_support::TemporaryDirectory folder;
  const auto file = folder.path / "mandelbrot.png";
  const auto result = run("cuda_mandelbrot", {"--png", file.string()});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_TRUE(png_image_begin_read_from_file(&image, file.c_str())) << image.message;
  EXPECT_EQ(image.width, 1536U);
  EXPECT_EQ(image.height, 1024U);
  png_image_free(&image);
}

TEST(cuda_mandelbrot, a_file_that_cannot_be_written_gives_exit_code_3) {
  const auto result = run("cuda_mandelbrot", {"--png", "/no/such/folder/mandelbrot.png"});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 3) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre(testing::HasSubstr("/no/such/folder/mandelbrot.png")));
}

TEST(cuda_mandelbrot_mandelbrot, is_the_known_picture) {
  test_support::expect_the_known_picture([](int column, int row) { return pixel(column, row, 20); });
}

TEST(cuda_mandelbrot_mandelbrot, is_symmetric_and_within_the_limit) {
  for (const int steps : {1, 20, 100}) {
    const std::vector<unsigned char> picture = picture_of(steps);
    for (int row = 1; row < height; ++row) {
      for (int column = 0; column < width; ++column) {
        const int value = picture[static_cast<std::size_t>(row * width + column)];
        ASSERT_LE(value, steps);
        ASSERT_EQ(value, picture[static_cast<std::size_t>((height - row) * width + column)]) << row << ' ' << column;
      }
    }
  }
}

TEST(cuda_mandelbrot_write_png, keeps_every_shade) {
  const test_support::TemporaryDirectory folder;
  const std::string file = (folder.path / "shades.png").string();
  const std::vector<unsigned char> shades = {0, 1, 2, 253, 254, 255};
  write_png(file, shades, 3);
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_TRUE(png_image_begin_read_from_file(&image, file.c_str())) << image.message;
  image.format = PNG_FORMAT_GRAY;
  std::vector<unsigned char> read(6);
  ASSERT_EQ(PNG_IMAGE_SIZE(image), read.size());
  ASSERT_TRUE(png_image_finish_read(&image, nullptr, read.data(), 0, nullptr)) << image.message;
  EXPECT_EQ(image.width, 3U);
  EXPECT_EQ(read, shades);
}

TEST(cuda_mandelbrot, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_mandelbrot", {{"--steps", "5"}});
}

}  // namespace
