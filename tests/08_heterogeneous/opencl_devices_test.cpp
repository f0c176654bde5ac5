// The report of platforms and devices. Catalogue: 6.12, 8.5.

#include "08_heterogeneous/opencl_devices/device_report.hpp"

#include <string>
#include <utility>
#include <vector>

#include "support/run.hpp"

namespace {

using test_support::run;

/// What the C interface answers, as a number of the type Value.
template <typename Value>
Value number_of(cl_device_id device, cl_device_info property) {
  Value value = 0;
  EXPECT_EQ(clGetDeviceInfo(device, property, sizeof value, &value, nullptr), CL_SUCCESS) << property;
  return value;
}

std::string text_of(cl_device_id device, cl_device_info property) {
  char text[1024] = "";
  EXPECT_EQ(clGetDeviceInfo(device, property, sizeof text, text, nullptr), CL_SUCCESS) << property;
  return text;
}

TEST(opencl_devices, prints_what_the_devices_say_side_by_side) {
  const auto result = run("opencl_devices");
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();

  std::vector<std::pair<std::string, cl_device_id>> all;  // name of the platform, and device
  cl_platform_id platforms[64];
  cl_uint platform_count = 0;
  ASSERT_EQ(clGetPlatformIDs(64, platforms, &platform_count), CL_SUCCESS);
  for (cl_uint i = 0; i < platform_count; ++i) {
    char name[1024] = "";
    ASSERT_EQ(clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, nullptr), CL_SUCCESS);
    cl_device_id devices[64];
    cl_uint count = 0;
    ASSERT_EQ(clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 64, devices, &count), CL_SUCCESS);
    for (cl_uint k = 0; k < count; ++k) all.emplace_back(name, devices[k]);
  }
  const std::vector<cl::Device> numbered = opencl::devices();
  ASSERT_EQ(all.size(), numbered.size());

  std::vector<std::vector<std::string>> columns(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const cl_device_id device = all[i].second;
    std::size_t number = 0;
    while (numbered[number]() != device) ++number;
    const auto local = number_of<cl_device_local_mem_type>(device, CL_DEVICE_LOCAL_MEM_TYPE);
    columns[i] = {std::to_string(number),
                  text_of(device, CL_DEVICE_NAME),
                  all[i].first,
                  text_of(device, CL_DEVICE_VERSION).substr(0, 10),
                  type_text(number_of<cl_device_type>(device, CL_DEVICE_TYPE)),
                  std::to_string(number_of<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS)),
                  local == CL_LOCAL ? "on chip" : "in global memory",
                  number_of<cl_bool>(device, CL_DEVICE_HOST_UNIFIED_MEMORY) ? "yes" : "no",
                  size_text(number_of<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE)),
                  size_text(number_of<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE)),
                  size_text(number_of<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE)),
                  size_text(number_of<cl_ulong>(device, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE)),
                  std::to_string(number_of<std::size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE)),
                  fmt::format("{} MHz", number_of<cl_uint>(device, CL_DEVICE_MAX_CLOCK_FREQUENCY)),
                  number_of<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE) ? "yes" : "no"};
  }
  const std::vector<std::string> labels{"device",
                                        "name",
                                        "platform",
                                        "version",
                                        "type",
                                        "compute units",
                                        "local memory is",
                                        "host has same memory",
                                        "largest buffer",
                                        "global memory",
                                        "local memory",
                                        "constant memory",
                                        "largest work-group",
                                        "highest clock",
                                        "compiles kernels"};
  ASSERT_EQ(result.out.size(), labels.size() + 1) << result.text();
  for (std::size_t row = 0; row < labels.size(); ++row) {
    std::string expected = labels[row];  // and the blanks that the line has between the columns
    for (const auto& column : columns) {
      const std::size_t end = result.out[row].find_first_not_of(' ', expected.size());
      ASSERT_NE(end, std::string::npos) << result.text();
      EXPECT_GE(end, expected.size() + 3) << result.out[row];
      expected.resize(end, ' ');
      expected += column[row];
    }
    EXPECT_EQ(result.out[row], expected) << result.text();
  }
  EXPECT_EQ(result.out.back(), "ok    devices with a largest buffer above their memory: 0");
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
    const cl::Platform platform(device.getInfo<CL_DEVICE_PLATFORM>());
    const DeviceFacts facts = facts_of(platform, device);
    EXPECT_GT(facts.compute_units, 0U) << facts.name;
    EXPECT_GT(facts.local_bytes, 0U) << facts.name;
    EXPECT_GT(facts.constant_bytes, 0U) << facts.name;
    EXPECT_GT(facts.group_size, 0U) << facts.name;
    EXPECT_GT(facts.buffer_bytes, 0U) << facts.name;
    EXPECT_LE(facts.buffer_bytes, facts.global_bytes) << facts.name;
  }
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

TEST(opencl_devices_device_report, names_the_kind_of_the_local_memory) {
  EXPECT_EQ(local_type_text(CL_LOCAL), "on chip");
  EXPECT_EQ(local_type_text(CL_GLOBAL), "in global memory");
  EXPECT_EQ(local_type_text(CL_NONE), "none");
}

TEST(opencl_devices_device_report, has_the_devices_that_the_book_shows) {
  const DeviceFacts gpu{.number = 0,
                        .name = "GeForce 840M",
                        .platform = "NVIDIA CUDA",
                        .version = "OpenCL 1.2 CUDA",
                        .type = CL_DEVICE_TYPE_GPU,
                        .compute_units = 3,
                        .local_type = CL_LOCAL,
                        .host_unified = CL_FALSE,
                        .buffer_bytes = 512 << 20,
                        .global_bytes = 2ULL << 30,
                        .local_bytes = 48 << 10,
                        .constant_bytes = 64 << 10,
                        .group_size = 1024,
                        .clock_mhz = 1124,
                        .has_compiler = CL_TRUE};
  const DeviceFacts processor{.number = 1,
                              .name = "Core i7-5500U",
                              .platform = "Intel(R) OpenCL",
                              .version = "OpenCL 2.0",
                              .type = CL_DEVICE_TYPE_CPU,
                              .compute_units = 4,
                              .local_type = CL_GLOBAL,
                              .host_unified = CL_TRUE,
                              .buffer_bytes = 2026ULL << 20,
                              .global_bytes = 8ULL << 30,
                              .local_bytes = 32 << 10,
                              .constant_bytes = 128 << 10,
                              .group_size = 8192,
                              .clock_mhz = 2400,
                              .has_compiler = CL_FALSE};
  EXPECT_EQ(side_by_side({gpu, processor}),
            (std::vector<std::string>{"device                 0              1",                 //
                                      "name                   GeForce 840M   Core i7-5500U",     //
                                      "platform               NVIDIA CUDA    Intel(R) OpenCL",   //
                                      "version                OpenCL 1.2     OpenCL 2.0",        //
                                      "type                   GPU            CPU",               //
                                      "compute units          3              4",                 //
                                      "local memory is        on chip        in global memory",  //
                                      "host has same memory   no             yes",               //
                                      "largest buffer         512 MB         2 GB",              //
                                      "global memory          2 GB           8 GB",              //
                                      "local memory           48 KB          32 KB",             //
                                      "constant memory        64 KB          128 KB",            //
                                      "largest work-group     1024           8192",              //
                                      "highest clock          1124 MHz       2400 MHz",          //
                                      "compiles kernels       yes            no"}));
  EXPECT_TRUE(side_by_side({}).empty());
}

}  // namespace
