// The formulas for devices whose data sheet is known, and the program seen from outside. Catalogue: 6.C1, 6.1, 8.C1,
// 8.C2, 8.1.

#include "06_gpu/cuda_devices/device_facts.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "06_gpu/without_device.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

constexpr int skipped = 77;

DeviceFacts facts(std::string name, int major, int minor, std::size_t memory_bytes) {
  return {.name = std::move(name),
          .major = major,
          .minor = minor,
          .memory_bytes = memory_bytes,
          .multiprocessors = 12,
          .threads_per_multiprocessor = 1024,
          .clock_khz = 1'340'000,
          .memory_clock_khz = 900'000,
          .memory_bus_bits = 128};
}

TEST(cuda_devices, a_report_begins_with_name_capability_and_whole_kilobytes) {
  const auto lines = report(0, facts("GeForce GT 240", 1, 2, 1'073'741'824));
  ASSERT_GE(lines.size(), 3U);
  EXPECT_EQ(lines[0], "Device #0: GeForce GT 240");
  EXPECT_EQ(lines[1], "Compute Capability: 1.2");
  EXPECT_EQ(lines[2], "Total Memory: 1048576 KB");
}

TEST(cuda_devices, kilobytes_are_rounded_down_and_a_zero_is_printed) {
  const auto lines = report(7, facts("another", 8, 0, 1'073'741'823));
  EXPECT_EQ(lines[0], "Device #7: another");
  EXPECT_EQ(lines[1], "Compute Capability: 8.0");
  EXPECT_EQ(lines[2], "Total Memory: 1048575 KB");
}

TEST(cuda_devices, a_report_multiplies_what_it_shows) {
  const auto lines = report(0, facts("another", 9, 0, 1024));
  EXPECT_EQ(lines[3], "Threads: 12 multiprocessors x 1024 = 12288 held at once");
  EXPECT_EQ(lines[4], "Arithmetic: 12 multiprocessors x 128 cores x 2 x 1340 MHz = 4.1 TFLOP/s");
  EXPECT_EQ(lines[5], "Bandwidth: 128 bits / 8 x 2 x 900 MHz = 29 GB/s");
}

TEST(cuda_devices, peaks_are_those_of_the_data_sheets) {
  struct Known {
    DeviceFacts facts;
    double teraflops, gigabytes_per_second;
  };
  const std::vector<Known> sheets = {
      {{"Tesla P100", 6, 0, 0, 56, 2048, 1'480'000, 715'000, 4096}, 10.6, 732},
      {{"Tesla V100", 7, 0, 0, 80, 2048, 1'530'000, 877'000, 4096}, 15.7, 900},
      {{"Tesla T4", 7, 5, 0, 40, 1024, 1'590'000, 5'001'000, 256}, 8.1, 320},
      {{"A100", 8, 0, 0, 108, 2048, 1'410'000, 1'215'000, 5120}, 19.5, 1555},
      {{"GeForce RTX 3090", 8, 6, 0, 82, 1536, 1'695'000, 9'751'000, 384}, 35.6, 936},
      {{"H100 SXM5", 9, 0, 0, 132, 2048, 1'980'000, 2'619'000, 5120}, 66.9, 3352},
      {{"GeForce RTX 4090", 8, 9, 0, 128, 1536, 2'520'000, 10'501'000, 384}, 82.6, 1008},
      {{"GeForce RTX 5090", 12, 0, 0, 170, 1536, 2'407'000, 14'001'000, 512}, 104.8, 1792},
  };
  for (const Known& known : sheets) {
    EXPECT_NEAR(peak_arithmetic(known.facts) / 1e12, known.teraflops, known.teraflops * 0.01) << known.facts.name;
    EXPECT_NEAR(peak_bandwidth(known.facts) / 1e9, known.gigabytes_per_second, known.gigabytes_per_second * 0.01)
        << known.facts.name;
  }
}

TEST(cuda_devices, without_a_device_says_why_it_stops) {
  const auto result = run("cuda_devices", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, skipped) << result.text();
  EXPECT_TRUE(result.out.empty()) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("cuda_devices: skipped, no CUDA device: "));
}

TEST(cuda_devices, reports_every_device_once) {
  const auto result = run("cuda_devices");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const auto found = result.captures("^(\\d+) device\\(s\\) found\\.$");
  ASSERT_EQ(found.size(), 1U) << result.text();
  const std::size_t count = std::stoul(found[0]);
  ASSERT_GE(count, 1U);
  const auto numbers = result.captures("^Device #(\\d+): .+$");
  ASSERT_EQ(numbers.size(), count);
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(numbers[i], std::to_string(i));
  for (const std::string line :
       {"^Compute Capability: \\d+\\.\\d+$", "^Total Memory: [1-9]\\d* KB$", "^Threads: .* = [1-9]\\d* held at once$",
        "^Arithmetic: .* TFLOP/s$", "^Bandwidth: .* GB/s$",
        "^Reached: \\d+\\.\\d TFLOP/s by \\d+ threads per multiprocessor, one number each$",
        "^Reached: \\d+\\.\\d TFLOP/s by \\d+ threads per multiprocessor, eight numbers each$",
        "^Reached: [1-9]\\d* GB/s by a copy, read and written$", "^Reached: [1-9]\\d* GB/s by a fill, written$"}) {
    const std::size_t times = line.find("multiprocessor") == std::string::npos ? 1 : 2;
    EXPECT_EQ(result.lines_with(line).size(), times * count) << line << '\n' << result.text();
  }
}

TEST(cuda_devices, reports_what_each_device_says_of_itself) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const auto [result, record] = cuda_test::run_without_device("cuda_devices", {}, {{"COOKBOOK_CUDA_DEVICES", "2"}});
  // What is reached there means nothing: no kernel is run, and any work takes a millisecond.
  for (const std::string line :
       {"Compute Capability: 9.0", "Total Memory: 67108864 KB", "Threads: 2 multiprocessors x 2048 = 4096 held at once",
        "Arithmetic: 2 multiprocessors x 128 cores x 2 x 1500 MHz = 0.8 TFLOP/s",
        "Bandwidth: 4096 bits / 8 x 2 x 2500 MHz = 2560 GB/s"}) {
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), line), 2) << line << '\n' << result.text();
  }
}

TEST(cuda_devices, measures_each_device_itself) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  // The second one has no memory left, so its report ends before what is reached.
  const auto [result, record] =
      cuda_test::run_without_device("cuda_devices", {}, {{"COOKBOOK_CUDA_DEVICES", "2"}, {"COOKBOOK_CUDA_FULL", "1"}});
  EXPECT_EQ(result.exit_code, 3) << result.text();
  EXPECT_EQ(result.lines_with("^Bandwidth: ").size(), 2U) << result.text();
  EXPECT_EQ(result.lines_with("^Reached: ").size(), 6U) << result.text();
}

TEST(cuda_devices, structure_and_single_attributes_give_the_same_compute_capability) {
  if (!gpu::device_found()) GTEST_SKIP() << "no device";
  int count = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  for (int device = 0; device < count; ++device) {
    int major = 0, minor = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    EXPECT_EQ(facts_of(device).major, major) << device;
    EXPECT_EQ(facts_of(device).minor, minor) << device;
  }
}

TEST(cuda_devices, one_visible_device_is_device_0) {
  const auto result = run("cuda_devices", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", "0"}}});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("1 device(s) found.")) << result.text();
}

TEST(cuda_devices_timing, what_is_reached_is_near_the_peaks_unless_threads_are_few) {
  const auto result = run("cuda_devices", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", "0"}}});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_TRUE(result.has_line("ok    rates above their peak: 0")) << result.text();
  const auto numbers = [&](const std::string& pattern, std::size_t count) {
    std::vector<double> found;
    for (const std::string& text : result.captures(pattern)) found.push_back(std::stod(text));
    EXPECT_EQ(found.size(), count) << pattern << '\n' << result.text();
    found.resize(count);
    return found;
  };
  const double arithmetic = numbers(" = ([0-9.]+) TFLOP/s$", 1)[0], bandwidth = numbers(" = ([0-9.]+) GB/s$", 1)[0];
  const auto computed = numbers("^Reached: ([0-9.]+) TFLOP/s", 4);
  EXPECT_GT(computed[0], 0.8 * arithmetic) << result.text();   // the part of the loop that multiplies and adds
  EXPECT_GT(computed[1], 0.8 * computed[0]) << result.text();  // others compute while a warp waits
  EXPECT_GT(computed[2], 2 * computed[3]) << result.text();    // a step need not wait for the one before it
  EXPECT_LT(computed[3], 0.3 * arithmetic) << result.text();   // each step waits: a quarter at most
  const auto moved = numbers("^Reached: ([0-9.]+) GB/s", 2);
  EXPECT_GT(moved[0], 0.5 * bandwidth) << result.text();
  EXPECT_GT(moved[1], 0.5 * bandwidth) << result.text();
  EXPECT_LT(moved[1], 1.5 * moved[0]) << result.text();  // a fill counts its bytes once
}

TEST(cuda_devices, the_driver_refuses_a_question_before_it_is_initialised) {
  if (std::getenv("COOKBOOK_NEW_PROCESS") == nullptr) {  // another test may have initialised it in this one
    const auto result = run("cuda_devices_test", {"--gtest_filter=cuda_devices.the_driver_refuses*"},
                            {.environment = {{"COOKBOOK_NEW_PROCESS", "1"}}});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    if (!result.lines_with("SKIPPED").empty()) GTEST_SKIP() << "no NVIDIA driver is installed";
    return;
  }
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY);  // stays open: the driver is not made to be closed
  if (driver == nullptr) GTEST_SKIP() << "no NVIDIA driver is installed";
  const auto count_devices = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  ASSERT_NE(count_devices, nullptr);
  int count = 0;
  EXPECT_EQ(count_devices(&count), 3);  // CUDA_ERROR_NOT_INITIALIZED
}

TEST(cuda_devices_unchecked, lists_one_device_too_many) {
  const auto result = run("cuda_devices_unchecked");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto found = result.captures("^(\\d+) device\\(s\\) found");
  const auto listed = result.captures("(\\d+) listed: .+$");
  ASSERT_EQ(found.size() + listed.size(), 2U) << result.text();
  EXPECT_EQ(std::stoi(listed[0]), std::stoi(found[0]) + 1);
}

}  // namespace
