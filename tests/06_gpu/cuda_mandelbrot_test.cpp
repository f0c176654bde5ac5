// The program's output, and the picture as the host computes it.

#include <array>
#include <cstdint>

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
    EXPECT_TRUE(result.has_line("ok    grids with another picture than the processor's: 0")) << result.text();
    EXPECT_EQ(result.has_line("ok    sum of all pixels: 13198317"), steps == "20") << result.text();
    for (const std::string grid : {"1 x 1 +6144", "8 x 8 +96", "32 x 16 +12", "48 x 128 +1"}) {
      EXPECT_EQ(result.lines_with("^ +" + grid + " +[0-9.]+ ms$").size(), 1U) << grid << '\n' << result.text();
    }
  }
}

TEST(cuda_mandelbrot_timing, more_blocks_are_faster_than_one) {
  const auto result = run("cuda_mandelbrot");
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  const auto one = result.captures("^ +1 x 1 .* ([0-9.]+) ms$"), many = result.captures("^ +48 x 128 .* ([0-9.]+) ms$");
  ASSERT_EQ(one.size(), 1U) << result.text();
  ASSERT_EQ(many.size(), 1U) << result.text();
  EXPECT_GT(std::stod(one[0]), 5 * std::stod(many[0])) << result.text();
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
