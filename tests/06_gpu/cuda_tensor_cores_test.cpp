// The program seen from outside.

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

TEST(cuda_tensor_cores, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_tensor_cores", "cuda_tensor_cores_half_sums"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

const std::string ways[] = {"float, one thread per element",
                            "bfloat16, one warp per tile",
                            "bfloat16, tiles in shared memory",
                            "cuBLAS, float",
                            "cuBLAS, TF32",
                            "cuBLAS, bfloat16"};

TEST(cuda_tensor_cores, products_are_right_at_every_size_and_only_rounded_factors_cost_precision) {
  for (const std::string size : {"1", "129", "384", "1024"}) {
    const auto result = run("cuda_tensor_cores", {"--size", size});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    ASSERT_EQ(result.out.size(), std::size(ways) + 2) << result.text();
    const auto percent = [&](const std::string& way) {
      const auto found = result.captures("^" + way + " +[0-9.]+ TFLOP/s, error ([0-9.]+) %$");
      return found.size() == 1 ? std::stod(found[0]) : -1;
    };
    for (const std::string& way : ways) {
      // The factors' errors are up to 2^-9 with 8 binary digits, 2^-12 (or 2^-11, if they are cut off) with 11.
      const bool floats = way.find("float, one") == 0 || way == "cuBLAS, float", tf32 = way == "cuBLAS, TF32";
      EXPECT_GE(percent(way), floats ? 0 : tf32 ? 0.005 : 0.1) << way << '\n' << result.text();
      EXPECT_LT(percent(way), floats ? 0.001 : tf32 ? 0.1 : 0.4) << way << '\n' << result.text();
    }
    EXPECT_TRUE(result.has_line("ok    products of whole numbers with an element other than that of cuBLAS, float: 0"))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    bfloat16, products of the rounded factors with an error above 0.002 %: 0"))
        << result.text();
  }
}

TEST(cuda_tensor_cores_timing, tensor_cores_pay_off_only_when_they_are_fed) {
  const auto result = run("cuda_tensor_cores");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto speeds = result.captures(" ([0-9.]+) TFLOP/s,");
  ASSERT_EQ(speeds.size(), std::size(ways)) << result.text();
  EXPECT_GT(std::stod(speeds[1]), std::stod(speeds[0]));
  EXPECT_LT(std::stod(speeds[1]), std::stod(speeds[3])) << "the page says that cuBLAS in plain float is faster";
  EXPECT_GT(std::stod(speeds[2]), std::stod(speeds[3]));
}

TEST(cuda_tensor_cores, sums_of_16_bits_stay_where_a_further_term_is_rounded_away) {
  const auto result = run("cuda_tensor_cores_half_sums");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_EQ(result.out, std::vector<std::string>{"the sum is 2048, expected 2175.97"});
}

TEST(cuda_tensor_cores, is_clean_under_compute_sanitizer) {
  // Under racecheck cuBLAS's kernel for bfloat16 fails: "failed to handle a hardware exception".
  cuda_test::expect_clean("cuda_tensor_cores", {{"--size", "384"}, {"--size", "512"}}, {"memcheck", "synccheck"});
}

}  // namespace
