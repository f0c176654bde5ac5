// Reduction from inside for many lengths and groups, and the program's output.

#include "08_heterogeneous/opencl_reduction/reduction.hpp"

#include <unistd.h>

#include <random>

#include "support/run.hpp"

namespace {

using test_support::bin;
using test_support::run;

/// The order of reduction.cl: work-items in strides, the tree of each group, and the same again for the groups.
std::vector<float> groups_on_host(const std::vector<float>& values, std::size_t groups, std::size_t items) {
  std::vector<float> of_group(groups);
  for (std::size_t group = 0; group < groups; ++group) {
    std::vector<float> scratch(items, 0);
    for (std::size_t item = 0; item < items; ++item) {
      for (std::size_t i = group * items + item; i < values.size(); i += groups * items) scratch[item] += values[i];
    }
    for (std::size_t left = items; left > 1; left = (left + 1) / 2) {
      for (std::size_t item = 0; item + (left + 1) / 2 < left; ++item) scratch[item] += scratch[item + (left + 1) / 2];
    }
    of_group[group] = scratch[0];
  }
  return of_group;
}

TEST(opencl_reduction_reduction, has_the_bits_of_the_same_tree_on_the_host) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  Reduction<float> sum(*device, "float", "a + b", "0");
  std::mt19937 random(1);
  for (const std::size_t count : {1U, 2U, 255U, 256U, 257U, 10'000U, 100'003U}) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(random()) * 0x1p-32F;
    for (const std::size_t groups : {1U, 3U, 64U}) {
      for (const std::size_t items : {1U, 2U, 7U, 64U, 100U, 256U}) {
        const float expected = groups_on_host(groups_on_host(values, groups, items), 1, items)[0];
        EXPECT_EQ(sum(values, groups, items), expected) << count << ' ' << groups << ' ' << items;
      }
    }
  }
}

TEST(opencl_reduction_reduction, takes_any_associative_and_commutative_operation) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  std::vector<cl_int> values(1'000);
  for (int i = 0; i < 1'000; ++i) values[static_cast<std::size_t>(i)] = 17 * i % 1'000 - 500;
  EXPECT_EQ(Reduction<cl_int>(*device, "int", "min(a, b)", "INT_MAX")(values, 8, 32), -500);
  EXPECT_EQ(Reduction<cl_int>(*device, "int", "a ^ b", "0")({5, 9, 5}, 2, 4), 9);
}

// Each start of a program takes seconds where many wait for a GPU, so the starts are divided among two tests.
void expect_exact_for_every_length(const std::string& items) {
  for (const auto& [count, sum] :
       {std::pair<std::string, std::string>{"1", "1"}, {"9999", "49995000"}, {"1000003", "500003500006"}}) {
    const auto result = run("opencl_reduction", {"--count", count, "--items", items});
    if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    sum of the integers: " + sum)) << result.text();
    EXPECT_TRUE(result.has_line("ok    the largest of them: " + count)) << result.text();
    EXPECT_TRUE(result.has_line("ok    product of 1 to 20: 2432902008176640000")) << result.text();
    EXPECT_TRUE(result.has_line("ok    different sums of random floats in 20 runs: 1")) << result.text();
  }
}

TEST(opencl_reduction, is_exact_for_every_length_with_31_items) { expect_exact_for_every_length("31"); }
TEST(opencl_reduction, is_exact_for_every_length_with_256_items) { expect_exact_for_every_length("256"); }

TEST(opencl_reduction, without_a_device_it_is_skipped_with_a_reason) {
  const auto result =
      run("opencl_reduction", {}, {.environment = {{"OCL_ICD_VENDORS", "/nonexistent"}, {"OCL_ICD_FILENAMES", ""}}});
  EXPECT_EQ(result.exit_code, opencl::skipped) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("opencl_reduction: skipped, no OpenCL device: "));
}

TEST(opencl_reduction, a_device_that_is_not_there_is_refused) {
  const auto result = run("opencl_reduction", {"--device", "63"});
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 2) << result.text();
}

/// Runs a program on Oclgrind's simulated device.
test_support::Result under_oclgrind(const std::string& name, const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {"--data-races", "--uninitialized", bin() + "/" + name};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run("/usr/bin/oclgrind", all);
}

TEST(opencl_reduction, is_clean_under_oclgrind) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "not in a sanitizer's build: Oclgrind has faults of its own, which end the program";
#endif
  if (access("/usr/bin/oclgrind", X_OK) != 0)
    GTEST_SKIP() << "no oclgrind; scripts/setup --with-test-dependencies installs it";
  const auto result = under_oclgrind("opencl_reduction", {"--count", "100", "--items", "6"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^on Oclgrind").size(), 1U) << result.text();
  EXPECT_THAT(result.err, testing::IsEmpty());
}

TEST(opencl_reduction, oclgrind_finds_the_missing_barriers) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "not in a sanitizer's build: Oclgrind has faults of its own, which end the program";
#endif
  if (access("/usr/bin/oclgrind", X_OK) != 0)
    GTEST_SKIP() << "no oclgrind; scripts/setup --with-test-dependencies installs it";
  const auto result = under_oclgrind("opencl_reduction_no_barrier", {});
  EXPECT_THAT(result.err, testing::Contains(testing::ContainsRegex("data race"))) << result.text();
}

}  // namespace
