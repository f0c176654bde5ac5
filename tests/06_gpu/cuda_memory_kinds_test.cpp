// The program seen from outside.

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

#include <utility>

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

TEST(cuda_memory_kinds, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_memory_kinds", "cuda_memory_kinds_no_wait"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_memory_kinds, every_shape_is_transposed_in_every_memory) {
  // Multiples of the tile, one more, one less, a row, a column.
  const std::pair<int, int> shapes[] = {{1, 1},   {32, 32},  {31, 33},  {33, 31},
                                        {64, 96}, {1, 1000}, {1000, 1}, {257, 129}};
  for (const auto& [rows, columns] : shapes) {
    const auto result =
        run("cuda_memory_kinds", {"--rows", std::to_string(rows), "--columns", std::to_string(columns)});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << rows << " x " << columns << '\n' << result.text();
    for (const std::string way : {"direct", "tiled", "tiled, in the host's memory"}) {
      EXPECT_TRUE(result.has_line("ok    " + way + ", wrong elements: 0")) << result.text();
    }
  }
}

TEST(cuda_memory_kinds, only_the_tiled_kernel_uses_shared_memory) {
  const auto result = run("cuda_memory_kinds");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_TRUE(result.has_line("ok    bytes of shared memory per block, direct: 0")) << result.text();
  EXPECT_TRUE(result.has_line("ok    bytes of shared memory per block, tiled: 4224")) << result.text();
}

TEST(cuda_memory_kinds, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_memory_kinds",
                          {{"--rows", "101", "--columns", "45"}, {"--rows", "96", "--columns", "64"}},
                          {"memcheck", "racecheck", "initcheck", "synccheck"});
}

}  // namespace
