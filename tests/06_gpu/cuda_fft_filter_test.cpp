// The program's output for sizes of all kinds, and the filter by definition.

#include "06_gpu/cuda_fft_filter/filter.hpp"

#include <numeric>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

// Rows, columns and wrong pixels of each line of the table.
TEST(cuda_fft_filter, is_right_for_sizes_of_all_kinds) {
  const std::vector<std::pair<int, int>> sizes = {{8, 8}, {9, 8}, {8, 9}, {13, 17}, {64, 100}, {101, 67}, {1000, 8}};
  for (const auto& [rows, columns] : sizes) {
    const auto result = run("cuda_fft_filter", {"--rows", std::to_string(rows), "--columns", std::to_string(columns)});
    if (result.exit_code == 77) GTEST_SKIP() << result.text();
    EXPECT_EQ(result.exit_code, 0) << result.text();
    for (const std::string check : {"wrong pixels with as many zeros as the filter reaches, or more: 0",
                                    "wrong pixels without zeros, 2 and more from the edge: 0",
                                    "pixels without zeros that differ from those of an endless pattern: 0"}) {
      EXPECT_TRUE(result.has_line("ok    " + check)) << result.text();
    }
    for (const int zeros : {0, 1, 2, 4, 8, 10}) {
      const auto size = std::to_string(rows + zeros) + " x " + std::to_string(columns + zeros);
      const auto wrong =
          result.captures("^ +" + std::to_string(zeros) + " +([0-9]+) +" + size + " +[0-9]+ +[0-9]+ us$");
      ASSERT_EQ(wrong.size(), 1U) << size << '\n' << result.text();
      EXPECT_EQ(wrong[0] == "0", zeros >= 2) << result.text();
    }
  }
}

TEST(cuda_fft_filter, wrong_pixels_are_those_whose_neighbours_at_the_opposite_edge_differ) {
  // The picture is no multiple of its own period, so nearly all pixels at the edges are wrong without zeros; one row
  // and column of zeros leave the first ones wrong.
  const auto result = run("cuda_fft_filter", {"--rows", "64", "--columns", "100"});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  const auto wrong = result.captures("^ +[01] +([0-9]+) +6[45] x 10[01] +[0-9]+ +[0-9]+ us$");
  ASSERT_EQ(wrong.size(), 2U) << result.text();
  EXPECT_LE(std::stoi(wrong[0]), 64 * 100 - 60 * 96) << result.text();
  EXPECT_GT(std::stoi(wrong[0]), (64 * 100 - 60 * 96) * 9 / 10) << result.text();
  EXPECT_LT(std::stoi(wrong[1]), std::stoi(wrong[0])) << result.text();
}

TEST(cuda_fft_filter, names_the_largest_prime_factor_of_both_lengths) {
  const auto result = run("cuda_fft_filter", {"--rows", "1024", "--columns", "25"});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  // 1024 and 25, 1025 and 26, 1026 and 27, 1028 and 29, 1032 and 33, 1034 and 35
  EXPECT_THAT(result.captures(" x [0-9]+ +([0-9]+) +[0-9]+ us$"),
              testing::ElementsAre("5", "41", "19", "257", "43", "47"))
      << result.text();
}

TEST(cuda_fft_filter_timing, a_large_prime_factor_takes_longer_than_small_ones) {
  const auto result = run("cuda_fft_filter");
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  std::vector<int> times;
  for (const std::string& value : result.captures(" ([0-9]+) us$")) times.push_back(std::stoi(value));
  ASSERT_EQ(times.size(), 6U) << result.text();  // with 0, 1, 2, 4, 8 and 10 zeros
  EXPECT_GT(times[1], 1.5 * times[2]) << result.text();
  EXPECT_GT(times[2], 1.1 * times[3]) << result.text();
  EXPECT_GT(times[4], 1.1 * times[5]) << result.text();
}

TEST(cuda_fft_filter_filter, adds_up_to_nothing_and_changes_when_it_is_turned_around) {
  std::vector<float> sums;
  bool same_upside_down = true, same_mirrored = true, same_turned = true;
  for (int j = 0; j < filter_size; ++j) {
    sums.push_back(std::accumulate(std::begin(filter[j]), std::end(filter[j]), 0.0F));
    for (int i = 0; i < filter_size; ++i) {
      const int up = filter_size - 1 - j, left = filter_size - 1 - i;
      same_upside_down = same_upside_down && filter[j][i] == filter[up][i];
      same_mirrored = same_mirrored && filter[j][i] == filter[j][left];
      same_turned = same_turned && filter[j][i] == filter[up][left];
    }
  }
  EXPECT_EQ(sums, (std::vector<float>{-10, 5, 9, 5, -9}));
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0.0F), 0);
  // Else the checks could not tell a convolution from a correlation.
  EXPECT_FALSE(same_upside_down);
  EXPECT_FALSE(same_mirrored);
  EXPECT_FALSE(same_turned);
}

TEST(cuda_fft_filter_filtered_directly, makes_the_filter_of_one_pixel_wherever_it_is) {
  // At an edge too: what the filter makes of it beyond the edge is lost, and nothing comes out at the opposite edge.
  const std::vector<std::pair<int, int>> places = {{4, 5}, {4, 0}, {4, 10}, {0, 5}, {8, 5}, {1, 0}, {8, 10}};
  for (const auto& [y, x] : places) {
    Picture picture{9, 11};
    picture.at(y, x) = 1;
    const Picture result = filtered_directly(picture);
    for (int row = 0; row < 9; ++row) {
      for (int column = 0; column < 11; ++column) {
        const int j = row - y + reach, i = column - x + reach;
        const bool reached = j >= 0 && j < filter_size && i >= 0 && i < filter_size;
        EXPECT_EQ(result.at(row, column), reached ? filter[j][i] : 0) << y << ' ' << x << ", " << row << ' ' << column;
      }
    }
  }
}

TEST(cuda_fft_filter_filtered_directly, makes_nothing_of_one_shade_but_at_the_edges) {
  const Picture picture{10, 10, std::vector<float>(100, 3)};
  const Picture result = filtered_directly(picture);
  for (int row = reach; row < 10 - reach; ++row) {
    for (int column = reach; column < 10 - reach; ++column) EXPECT_EQ(result.at(row, column), 0);
  }
  EXPECT_EQ(result.at(0, 0), 3 * (3 + 3 + 0 + 3 + 2 - 1 + 0 - 1 - 4));
}

TEST(cuda_fft_filter_filtered_directly, circular_takes_the_opposite_edge) {
  Picture corner{8, 9};
  corner.at(0, 0) = 1;
  const Picture result = filtered_directly(corner, true);
  Picture expected{8, 9};
  for (int j = 0; j < filter_size; ++j) {
    for (int i = 0; i < filter_size; ++i) expected.at((j - reach + 8) % 8, (i - reach + 9) % 9) = filter[j][i];
  }
  EXPECT_EQ(result.shades, expected.shades);
  const Picture white{8, 8, std::vector<float>(64, 255)};
  EXPECT_EQ(filtered_directly(white, true).shades, std::vector<float>(64, 0));
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
