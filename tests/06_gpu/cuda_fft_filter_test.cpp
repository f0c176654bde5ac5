// The program's output for sizes of all kinds, and the filter by definition.

#include "06_gpu/cuda_fft_filter/filter.hpp"

#include <numeric>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

TEST(cuda_fft_filter, is_right_for_sizes_of_all_kinds) {
  const std::vector<std::pair<int, int>> sizes = {{8, 8}, {9, 8}, {8, 9}, {13, 17}, {64, 100}, {101, 67}, {1000, 8}};
  for (const auto& [rows, columns] : sizes) {
    const auto result = run("cuda_fft_filter", {"--rows", std::to_string(rows), "--columns", std::to_string(columns)});
    if (result.exit_code == 77) GTEST_SKIP() << result.text();
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    with a border of zeros, every pixel is right: yes")) << result.text();
  }
}

TEST(cuda_fft_filter, has_blocks_for_every_pixel) {
  const auto result = run("cuda_fft_filter", {"--rows", "513", "--columns", "500"});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("16 x 65 blocks of 32 x 8 threads for 513 rows and 500 columns")) << result.text();
}

TEST(cuda_fft_filter, writes_both_pictures) {
  const test_support::TemporaryDirectory folder;
  const std::string file = (folder.path / "both.png").string();
  const auto result = run("cuda_fft_filter", {"--rows", "20", "--columns", "30", "--png", file});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  const std::string text = test_support::text_of(file);  // width and height: four bytes each, from byte 16 on
  ASSERT_GT(text.size(), 24U);
  EXPECT_EQ(text.substr(1, 3), "PNG");
  EXPECT_EQ(text[19], 60);
  EXPECT_EQ(text[23], 20);
}

TEST(cuda_fft_filter, a_file_that_cannot_be_written_gives_exit_code_3) {
  const auto result = run("cuda_fft_filter", {"--rows", "8", "--columns", "8", "--png", "/no/such/folder/both.png"});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 3) << result.text();
}

TEST(cuda_fft_filter_filter, is_symmetric_and_adds_up_to_nothing) {
  std::vector<float> sums;
  float all = 0, magnitudes = 0;
  for (int j = 0; j < filter_size; ++j) {
    sums.push_back(std::accumulate(std::begin(filter[j]), std::end(filter[j]), 0.0F));
    all += sums.back();
    for (int i = 0; i < filter_size; ++i) {
      magnitudes += std::abs(filter[j][i]);
      EXPECT_EQ(filter[j][i], filter[i][j]);
      EXPECT_EQ(filter[j][i], filter[filter_size - 1 - j][i]);
      EXPECT_EQ(filter[j][i], filter[j][filter_size - 1 - i]);
    }
  }
  EXPECT_EQ(sums, (std::vector<float>{-10, 5, 10, 5, -10}));
  EXPECT_EQ(all, 0);
  EXPECT_EQ(magnitudes, 48);
}

TEST(cuda_fft_filter_filtered_directly, makes_the_filter_of_one_pixel) {
  Picture picture{9, 11};
  picture.at(4, 5) = 1;
  const Picture result = filtered_directly(picture);
  for (int row = 0; row < 9; ++row) {
    for (int column = 0; column < 11; ++column) {
      const int j = row - 4 + reach, i = column - 5 + reach;
      const bool reached = j >= 0 && j < filter_size && i >= 0 && i < filter_size;
      EXPECT_EQ(result.at(row, column), reached ? filter[j][i] : 0) << row << ' ' << column;
    }
  }
}

TEST(cuda_fft_filter_filtered_directly, makes_nothing_of_one_shade_but_at_the_edges) {
  const Picture picture{10, 10, std::vector<float>(100, 3)};
  const Picture result = filtered_directly(picture);
  for (int row = reach; row < 10 - reach; ++row) {
    for (int column = reach; column < 10 - reach; ++column) EXPECT_EQ(result.at(row, column), 0);
  }
  EXPECT_EQ(result.at(0, 0), 3 * (4 + 3 + 0 + 3 + 2 - 1 + 0 - 1 - 4));
}

TEST(cuda_fft_filter_rings, have_whole_shades_from_0_to_255) {
  const Picture picture = rings(50, 70);
  for (const float shade : picture.shades) {
    EXPECT_EQ(shade, std::round(shade));
    EXPECT_GE(shade, 0);
    EXPECT_LE(shade, 255);
  }
  EXPECT_EQ(picture.at(25, 35), 255);
}

TEST(cuda_fft_filter, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_fft_filter", {{"--rows", "67", "--columns", "45"}, {"--rows", "64", "--columns", "64"}},
                          {"memcheck"});
}

}  // namespace
