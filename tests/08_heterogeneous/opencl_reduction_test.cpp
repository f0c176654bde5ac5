// Reduction from inside for many lengths and groups, and the program's output.

#include "08_heterogeneous/opencl_reduction/reduction.hpp"

#include <unistd.h>

#include <cmath>
#include <numeric>
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

/// The order of reduce_in_pieces: four times 16 sums, these in pairs, the 16 lanes one after the other, then the rest.
std::vector<float> pieces_on_host(const std::vector<float>& values, std::size_t pieces) {
  std::vector<float> of_piece(pieces);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const std::size_t end = values.size() * (piece + 1) / pieces;
    std::size_t i = values.size() * piece / pieces;
    float lanes[64] = {};
    for (; i + 64 <= end; i += 64) {
      for (std::size_t k = 0; k < 64; ++k) lanes[k] += values[i + k];
    }
    float mine = 0;
    for (std::size_t k = 0; k < 16; ++k) mine += (lanes[k] + lanes[k + 16]) + (lanes[k + 32] + lanes[k + 48]);
    for (; i < end; ++i) mine += values[i];
    of_piece[piece] = mine;
  }
  return of_piece;
}

std::vector<float> random_values(std::size_t count) {
  std::mt19937 random(1);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random()) * 0x1p-32F;
  return values;
}

constexpr std::size_t lengths[] = {1, 2, 63, 64, 65, 255, 256, 257, 10'000, 100'003};

TEST(opencl_reduction_reduction, in_strides_has_the_bits_of_the_same_tree_on_the_host) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  Reduction<float> sum(*device, Form::strides, "float", "a + b", "0");
  for (const std::size_t count : lengths) {
    const std::vector<float> values = random_values(count);
    for (const std::size_t groups : {1U, 3U, 64U}) {
      for (const std::size_t items : {1U, 2U, 7U, 64U, 100U, 256U}) {
        const float expected = groups_on_host(groups_on_host(values, groups, items), 1, items)[0];
        EXPECT_EQ(sum(values, groups, items), expected) << count << ' ' << groups << ' ' << items;
        EXPECT_GT(sum.seconds(), 0);
      }
    }
  }
}

TEST(opencl_reduction_reduction, in_pieces_has_the_bits_of_the_same_order_on_the_host) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  Reduction<float> sum(*device, Form::pieces, "float", "a + b", "0");
  for (const std::size_t count : lengths) {
    const std::vector<float> values = random_values(count);
    for (const std::size_t groups : {1U, 3U, 64U, 200U}) {
      const float expected = pieces_on_host(pieces_on_host(values, groups), 1)[0];
      EXPECT_EQ(sum(values, groups, 256), expected) << count << ' ' << groups;
    }
  }
}

TEST(opencl_reduction_reduction, takes_any_associative_and_commutative_operation) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  std::vector<cl_int> values(1'000);
  for (int i = 0; i < 1'000; ++i) values[static_cast<std::size_t>(i)] = 17 * i % 1'000 - 500;
  std::vector<cl_long> twenty(20);
  std::iota(twenty.begin(), twenty.end(), 1);
  for (const Form form : {Form::strides, Form::pieces}) {
    EXPECT_EQ(Reduction<cl_int>(*device, form, "int", "min(a, b)", "INT_MAX")(values, 8, 32), -500);
    EXPECT_EQ(Reduction<cl_int>(*device, form, "int", "max(a, b)", "INT_MIN")(values, 8, 32), 499);
    EXPECT_EQ(Reduction<cl_int>(*device, form, "int", "a ^ b", "0")({5, 9, 5}, 2, 4), 9);
    EXPECT_EQ(Reduction<cl_long>(*device, form, "long", "a * b", "1")(twenty, 64, 4), 2'432'902'008'176'640'000);
  }
}

TEST(opencl_reduction_reduction, takes_values_that_are_on_the_device_and_leaves_them_there) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  std::vector<cl_uint> values(1'000);
  std::iota(values.begin(), values.end(), 0U);
  for (const Form form : {Form::strides, Form::pieces}) {
    Reduction<cl_uint> sum(*device, form, "uint", "a + b", "0");
    const cl::Buffer all(sum.context(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, 1'000 * sizeof(cl_uint),
                         values.data());
    EXPECT_EQ(sum(all, 1'000, 3, 7), 499'500U);
    EXPECT_EQ(sum(all, 999, 3, 7), 498'501U);  // without the last value
    EXPECT_EQ(sum(all, 1'000, 3, 7), 499'500U);
  }
}

TEST(opencl_reduction_reduction, a_processor_gets_pieces_and_a_gpu_strides) {
  for (const cl::Device& device : opencl::devices()) {
    const auto type = CL_CHECK(device.getInfo<CL_DEVICE_TYPE>());
    // Neither form is promised to an accelerator.
    if ((type & CL_DEVICE_TYPE_GPU) != 0) {
      EXPECT_EQ(form_for(device), Form::strides) << opencl::name_of(device);
    } else if ((type & CL_DEVICE_TYPE_CPU) != 0) {
      EXPECT_EQ(form_for(device), Form::pieces) << opencl::name_of(device);
    }
  }
}

// The size of the default run in short: the form that is meant for the device must be the faster one by far.
TEST(opencl_reduction_timing, the_form_for_the_device_is_the_faster_one) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  const auto result = run("opencl_reduction", {});
  const auto strides = result.captures("in strides.* ([0-9.]+) GB/s$"),
             pieces = result.captures("in pieces.* ([0-9.]+) GB/s$");
  ASSERT_TRUE(strides.size() == 1 && pieces.size() == 1) << result.text();
  const double ratio = std::stod(pieces[0]) / std::stod(strides[0]);
  EXPECT_GT(form_for(*device) == Form::pieces ? ratio : 1 / ratio, 3) << result.text();

  // The figure that is printed is that of four bytes per value.
  const std::vector<cl_uint> values(1 << 24, 1);
  Reduction<cl_uint> sum(*device, Form::pieces, "uint", "a + b", "0");
  double seconds = 1e9;
  for (int i = 0; i < 5; ++i) {
    sum(values, 8 * CL_CHECK(device->getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>()), 1);
    seconds = std::min(seconds, sum.seconds());
  }
  const double rate = 4e-9 * static_cast<double>(values.size()) / seconds;
  EXPECT_LT(std::abs(std::log(rate / std::stod(pieces[0]))), std::log(3.0)) << rate << '\n' << result.text();
}

// Each start of a program takes seconds where many wait for a GPU, so the starts are divided among two tests.
void expect_right_for_every_length(const std::string& items) {
  for (const std::string count : {"1", "9999", "1000003"}) {
    const auto result = run("opencl_reduction", {"--count", count, "--items", items});
    if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with(" GB/s$").size(), 3U) << result.text();
    EXPECT_TRUE(result.has_line("ok    kernels with another sum than the host: 0")) << result.text();
  }
}

TEST(opencl_reduction, is_right_for_every_length_with_31_items) { expect_right_for_every_length("31"); }
TEST(opencl_reduction, is_right_for_every_length_with_256_items) { expect_right_for_every_length("256"); }

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
  const auto result = under_oclgrind("opencl_reduction", {"--count", "1000", "--items", "6"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^Oclgrind").size(), 1U) << result.text();
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
