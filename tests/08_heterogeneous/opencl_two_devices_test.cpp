// The shares, a worker from inside, and the program's output.

#include <cmath>

#include "08_heterogeneous/opencl_two_devices/two_devices.hpp"
#include "08_heterogeneous/opencl_two_devices/worker.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

TEST(opencl_two_devices_share_of_first, is_in_proportion_to_the_speeds) {
  EXPECT_EQ(share_of_first(1'000, 1, 1), 500U);
  EXPECT_EQ(share_of_first(1'000, 3, 1), 750U);
  EXPECT_EQ(share_of_first(1'000, 1, 3), 250U);
  EXPECT_EQ(share_of_first(10, 2, 1), 7U);  // 6.67, rounded
}

TEST(opencl_two_devices_share_of_first, leaves_at_least_one_element_for_each) {
  EXPECT_EQ(share_of_first(2, 1, 1), 1U);
  EXPECT_EQ(share_of_first(100, 1, 1e9), 1U);
  EXPECT_EQ(share_of_first(100, 1e9, 1), 99U);
}

TEST(opencl_two_devices_worker, computes_its_part_and_nothing_else) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  constexpr std::size_t elements = 1'000;
  Worker worker(*device, elements, 3);
  std::vector<float> values(elements, -1);
  worker.start(300, 200);
  worker.fetch(values.data() + 300);
  for (std::size_t i = 0; i < elements; ++i) {
    float x = (static_cast<float>(i) + 0.5F) * (1.0F / elements);
    for (int k = 0; k < 3; ++k) x = std::fma(-3.75F * x, x, 3.75F * x);
    EXPECT_EQ(values[i], 300 <= i && i < 500 ? x : -1) << i;
  }
}

TEST(opencl_two_devices_worker, does_not_wait_for_its_device) {
  const auto device = opencl::chosen_device(0);
  if (!device) GTEST_SKIP() << "no OpenCL device";
  const bool gpu = (CL_CHECK(device->getInfo<CL_DEVICE_TYPE>()) & CL_DEVICE_TYPE_GPU) != 0;
  std::vector<float> values(100'000, -1);
  Worker worker(*device, values.size(), gpu ? 10'000'000 : 5'000);  // a tenth of a second, more or less
  const cookbook::Stopwatch watch;
  worker.start(0, values.size());
  const double seconds_to_start = watch.seconds();
  worker.fetch(values.data());
  EXPECT_LT(seconds_to_start, watch.seconds() / 2);
  EXPECT_GE(values.back(), 0);
}

TEST(opencl_two_devices, the_shared_job_has_the_values_of_the_host) {
  for (const std::string elements : {"2", "3", "1000", "100001"}) {
    const auto result = run("opencl_two_devices", {"--elements", elements});
    if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.text();
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    elements that differ from the host's: 0")) << result.text();
    EXPECT_EQ(result.lines_with("^(first|second) device: .* gets [0-9]+ %$").size(), 2U) << result.text();
  }
}

TEST(opencl_two_devices, each_gets_its_share) {
  const auto result = run("opencl_two_devices", {"--elements", "200000"});
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.text();
  const auto percent = result.captures("gets ([0-9]+) %$"), speed = result.captures(" ([0-9.]+) M elements/s");
  ASSERT_EQ(percent.size(), 2U) << result.text();
  ASSERT_EQ(speed.size(), 2U) << result.text();
  EXPECT_NEAR(std::stod(percent[0]) + std::stod(percent[1]), 100, 1) << result.text();
  const double first = std::stod(speed[0]), second = std::stod(speed[1]);
  EXPECT_NEAR(std::stod(percent[0]), 100 * first / (first + second), 2) << result.text();
}

TEST(opencl_two_devices, without_a_device_it_is_skipped_with_a_reason) {
  const auto result =
      run("opencl_two_devices", {}, {.environment = {{"OCL_ICD_VENDORS", "/nonexistent"}, {"OCL_ICD_FILENAMES", ""}}});
  EXPECT_EQ(result.exit_code, opencl::skipped) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("opencl_two_devices: skipped, no OpenCL device: "));
}

}  // namespace
