// The report of platforms and devices. Catalogue: 6.12, 8.5.

#include "08_heterogeneous/opencl_devices/device_report.hpp"

#include <set>

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(opencl_devices, reports_nine_properties_and_more_of_every_device) {
  const auto result = run("opencl_devices");
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();

  std::vector<cl::Platform> found;
  cl::Platform::get(&found);
  const std::size_t platforms = found.size();
  EXPECT_EQ(result.lines_with("^={60}$").size(), platforms) << result.text();
  for (const char* line : {"Name: +.+", "Vendor: +.+", "Version: +OpenCL .+", "Profile: +(FULL|EMBEDDED)_PROFILE"}) {
    EXPECT_EQ(result.lines_with(fmt::format("^Platform - {}$", line)).size(), platforms) << result.text();
  }

  const std::size_t devices = opencl::devices().size();
  EXPECT_EQ(result.lines_with("^ {4}-{56}$").size(), devices) << result.text();
  for (const char* line :
       {"Device [0-9]+ - Name: +.+", "Device - Type: +(GPU|CPU|ACCELERATOR|CUSTOM)",
        "Device - Max Clock Speed: +[0-9]+ MHz", "Device - Compute Units: +[1-9][0-9]*",
        "Device - Local Memory: +[1-9][0-9]* [KMG]B", "Device - Local Memory Is: +(on chip|global memory)",
        "Device - Constant Memory: +[1-9][0-9]* [KMG]B", "Device - Global Memory: +[1-9][0-9]* [KMG]B",
        "Device - Max Buffer Size: +[1-9][0-9]* [KMG]B", "Device - Max Work Group Size: +[1-9][0-9]*",
        "Device - Shares Host Memory: +(yes|no)"}) {
    EXPECT_EQ(result.lines_with(fmt::format("^ {{4}}{}$", line)).size(), devices) << line << "\n" << result.text();
  }
  EXPECT_TRUE(result.has_line(
      fmt::format("ok    devices that are available and have a compiler for kernels, of {}: {}", devices, devices)))
      << result.text();
  const auto numbers = result.captures("^ {4}Device ([0-9]+) - Name");
  EXPECT_EQ(std::set(numbers.begin(), numbers.end()).size(), devices) << "two devices have the same number";
}

TEST(opencl_devices, prints_what_the_devices_say) {
  const auto devices = opencl::devices();
  for (std::size_t number = 0; number < devices.size(); ++number) {
    const auto result = run("opencl_devices", {"--device", std::to_string(number)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with(" - Name: ").size(), 2U) << "one platform and one device\n" << result.text();
    const auto has = [&](const std::string& label, const std::string& value) {
      EXPECT_TRUE(result.has_line("    " + line(label, value))) << value << "\n" << result.text();
    };
    const auto text_of = [&](cl_device_info property) {
      char text[1024] = "";
      clGetDeviceInfo(devices[number](), property, sizeof text, text, nullptr);
      return std::string(text);
    };
    has(fmt::format("Device {} - Name:", number), text_of(CL_DEVICE_NAME));
    cl_device_type type = 0;
    cl_bool unified = 2;
    clGetDeviceInfo(devices[number](), CL_DEVICE_TYPE, sizeof type, &type, nullptr);
    clGetDeviceInfo(devices[number](), CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, nullptr);
    has("Device - Type:", type_text(type));
    has("Device - Shares Host Memory:", unified ? "yes" : "no");
    cl_ulong global = 0, buffer = 0, local = 0, constant = 0;
    cl_uint clock = 0, units = 0;
    std::size_t group = 0;
    clGetDeviceInfo(devices[number](), CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof clock, &clock, nullptr);
    clGetDeviceInfo(devices[number](), CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, nullptr);
    clGetDeviceInfo(devices[number](), CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, sizeof constant, &constant, nullptr);
    clGetDeviceInfo(devices[number](), CL_DEVICE_GLOBAL_MEM_SIZE, sizeof global, &global, nullptr);
    clGetDeviceInfo(devices[number](), CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof buffer, &buffer, nullptr);
    clGetDeviceInfo(devices[number](), CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, nullptr);
    clGetDeviceInfo(devices[number](), CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group, nullptr);
    has("Device - Max Clock Speed:", fmt::format("{} MHz", clock));
    has("Device - Compute Units:", std::to_string(units));
    has("Device - Constant Memory:", size_text(constant));
    has("Device - Global Memory:", size_text(global));
    has("Device - Max Buffer Size:", size_text(buffer));
    has("Device - Local Memory:", size_text(local));
    has("Device - Max Work Group Size:", std::to_string(group));
  }
}

TEST(opencl_devices, gpus_come_first) {
  bool gpus_are_over = false;
  for (const cl::Device& device : opencl::devices()) {
    const bool gpu = type_text(device.getInfo<CL_DEVICE_TYPE>()) == "GPU";
    EXPECT_FALSE(gpu && gpus_are_over);
    gpus_are_over = !gpu;
  }
}

TEST(opencl_devices, without_a_driver_it_says_so_and_is_skipped) {
  const auto result =
      run("opencl_devices", {}, {.environment = {{"OCL_ICD_VENDORS", "/nonexistent"}, {"OCL_ICD_FILENAMES", ""}}});
  EXPECT_EQ(result.exit_code, opencl::skipped) << result.text();
  EXPECT_TRUE(result.out.empty()) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("opencl_devices: skipped, no OpenCL device: "));
}

TEST(opencl_devices_device_report, no_limit_is_0_and_no_buffer_is_larger_than_the_memory) {
  for (const cl::Device& device : opencl::devices()) {
    const DeviceFacts facts = facts_of(device);
    EXPECT_GT(facts.compute_units, 0U) << facts.name;
    EXPECT_GT(facts.local_bytes, 0U) << facts.name;
    EXPECT_GT(facts.constant_bytes, 0U) << facts.name;
    EXPECT_GT(facts.group_size, 0U) << facts.name;
    EXPECT_GT(facts.buffer_bytes, 0U) << facts.name;
    EXPECT_LE(facts.buffer_bytes, facts.global_bytes) << facts.name;
  }
}

TEST(opencl_devices, says_whether_local_memory_is_ordinary_memory) {
  const auto devices = opencl::devices();
  for (std::size_t number = 0; number < devices.size(); ++number) {
    cl_device_local_mem_type type = 0;
    clGetDeviceInfo(devices[number](), CL_DEVICE_LOCAL_MEM_TYPE, sizeof type, &type, nullptr);
    const auto result = run("opencl_devices", {"--device", std::to_string(number)});
    EXPECT_EQ(result.has_line("    " + line("Device - Local Memory Is:", "global memory")), type == CL_GLOBAL)
        << result.text();
  }
}

TEST(opencl_devices, a_device_that_is_not_there_is_refused) {
  const auto result = run("opencl_devices", {"--device", "63"});
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 2) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::ContainsRegex("--device 63: there are [0-9]+, numbered from 0"));
}

TEST(opencl_devices_device_report, sizes_are_whole_numbers_of_the_largest_unit) {
  EXPECT_EQ(size_text(16'384), "16 KB");
  EXPECT_EQ(size_text(49'152), "48 KB");
  EXPECT_EQ(size_text(268'435'456), "256 MB");
  EXPECT_EQ(size_text(1'073'741'824), "1 GB");
  EXPECT_EQ(size_text(2'147'483'648), "2 GB");
  EXPECT_EQ(size_text(536'870'912), "512 MB");  // the book's program would print 0 GB for some less
  EXPECT_EQ(size_text(1'073'741'823), "1024 MB");
  EXPECT_EQ(size_text(150'754'820'096), "140 GB");
}

TEST(opencl_devices_device_report, names_the_type_whatever_bits_come_with_it) {
  EXPECT_EQ(type_text(CL_DEVICE_TYPE_CPU), "CPU");
  EXPECT_EQ(type_text(CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT), "GPU");
  EXPECT_EQ(type_text(CL_DEVICE_TYPE_ACCELERATOR), "ACCELERATOR");
  EXPECT_EQ(type_text(CL_DEVICE_TYPE_CUSTOM), "CUSTOM");
}

TEST(opencl_devices_device_report, has_the_devices_that_the_book_shows) {
  const auto lines = report(0, {.name = "GeForce 840M",
                                .type = CL_DEVICE_TYPE_GPU,
                                .clock_mhz = 1124,
                                .compute_units = 3,
                                .local_bytes = 48 << 10,
                                .constant_bytes = 64 << 10,
                                .global_bytes = 2ULL << 30,
                                .buffer_bytes = 512 << 20,
                                .group_size = 1024,
                                .local_type = CL_LOCAL,
                                .host_unified = CL_FALSE});
  EXPECT_EQ(lines[1], "Device 0 - Name:                GeForce 840M");
  EXPECT_EQ(lines[2], "Device - Type:                  GPU");
  EXPECT_EQ(lines[3], "Device - Max Clock Speed:       1124 MHz");
  EXPECT_EQ(lines[4], "Device - Compute Units:         3");
  EXPECT_EQ(lines[5], "Device - Local Memory:          48 KB");
  EXPECT_EQ(lines[6], "Device - Local Memory Is:       on chip");
  EXPECT_EQ(lines[7], "Device - Constant Memory:       64 KB");
  EXPECT_EQ(lines[8], "Device - Global Memory:         2 GB");
  EXPECT_EQ(lines[9], "Device - Shares Host Memory:    no");
  EXPECT_EQ(lines[10], "Device - Max Buffer Size:       512 MB");
  EXPECT_EQ(lines[11], "Device - Max Work Group Size:   1024");
}

}  // namespace
