// Opening libraries in the process, and the program seen from outside. Catalogue: 6.C4, 6.9, 8.C15, 8.10.

#include "06_gpu/cuda_self_check/library.hpp"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/without_device.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

constexpr int skipped = 77;

TEST(cuda_self_check, a_library_that_is_there_is_opened_and_known_by_its_file) {
  const Handle library = open_library("cudart");  // this test is linked with it
  ASSERT_TRUE(library);
  EXPECT_TRUE(std::filesystem::exists(file_of(library))) << file_of(library);
  EXPECT_THAT(file_of(library), testing::HasSubstr("libcudart.so"));
  EXPECT_NE((function_of<int(int*)>(library, "cudaGetDeviceCount")), nullptr);
  EXPECT_EQ(function_of<int(int*)>(library, "noSuchFunction"), nullptr);
}

TEST(cuda_self_check, a_name_that_ends_in_the_major_version_is_found) {
  const Handle library = open_library("c");  // glibc: libc.so is no library but a text for the linker, if it is there
  ASSERT_TRUE(library);
  EXPECT_THAT(file_of(library), testing::HasSubstr("libc.so.6"));
}

TEST(cuda_self_check, of_several_versions_the_newest_is_opened) {
  const test_support::TemporaryDirectory folder;
  for (const std::string version : {"9", "11", "20"}) {  // copies, since the loader knows a library by its file
    std::filesystem::copy_file(file_of(open_library("m")), folder.path / ("libcookbook_copy.so." + version));
  }
  const char* before = std::getenv("LD_LIBRARY_PATH");
  const std::string folders = folder.path.string() + (before != nullptr ? std::string(":") + before : "");
  const auto result = run("cuda_self_check", {"--libraries", "cookbook_copy"},
                          {.environment = {{"CUDA_VISIBLE_DEVICES", ""}, {"LD_LIBRARY_PATH", folders}}});
  EXPECT_TRUE(result.has_line("ok    libcookbook_copy can be opened: yes")) << result.text();
  EXPECT_EQ(result.lines_with("version unknown, .*/libcookbook_copy\\.so\\.20$").size(), 1U) << result.text();
}

TEST(cuda_self_check, a_library_that_is_not_there_gives_null) {
  EXPECT_FALSE(open_library("no_such_library"));
  EXPECT_FALSE(open_library(""));
}

TEST(cuda_self_check, of_a_library_that_is_there_but_cannot_be_opened_the_loader_says_why) {
  const test_support::TemporaryDirectory folder;
  std::ofstream(folder.path / "libcookbook_broken.so.7") << "a text";
  const char* before = std::getenv("LD_LIBRARY_PATH");
  const std::string folders = folder.path.string() + (before != nullptr ? std::string(":") + before : "");
  const auto result = run("cuda_self_check", {"--libraries", "cookbook_broken no_such_library"},
                          {.environment = {{"CUDA_VISIBLE_DEVICES", ""}, {"LD_LIBRARY_PATH", folders}}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_EQ(result.lines_with("^      .*libcookbook_broken\\.so\\.7: ").size(), 1U) << result.text();
  EXPECT_TRUE(result.lines_with("cannot open shared object file").empty()) << result.text();
}

TEST(cuda_self_check, a_library_without_a_version_function_is_of_unknown_version) {
  const Handle library = open_library("cudart");
  ASSERT_TRUE(library);
  EXPECT_EQ(version_of(library, "cudart"), "unknown");
}

TEST(cuda_self_check, versions_are_what_the_library_says) {
  const Handle curand = open_library("curand"), nvrtc = open_library("nvrtc");
  if (!curand || !nvrtc) GTEST_SKIP() << "libcurand or libnvrtc is not installed";
  const auto property = function_of<int(libraryPropertyType, int*)>(curand, "curandGetProperty");
  ASSERT_NE(property, nullptr);
  int major = 0, minor = 0, patch = 0;
  ASSERT_EQ(property(MAJOR_VERSION, &major) + property(MINOR_VERSION, &minor) + property(PATCH_LEVEL, &patch), 0);
  EXPECT_EQ(version_of(curand, "curand"),
            std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch));
  const auto version = function_of<int(int*, int*)>(nvrtc, "nvrtcVersion");
  ASSERT_NE(version, nullptr);
  ASSERT_EQ(version(&major, &minor), 0);
  EXPECT_EQ(version_of(nvrtc, "nvrtc"), std::to_string(major) + "." + std::to_string(minor));
}

TEST(cuda_self_check, a_closed_library_is_gone_however_often_it_is_opened) {
  for (int round = 0; round < 20; ++round) {
    std::string file;
    {
      const Handle library = open_library("nvrtc");
      if (!library) GTEST_SKIP() << "libnvrtc is not installed";
      file = file_of(library);
      EXPECT_NE(Handle(dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD)), nullptr) << file;  // only if it is open already
    }
    ASSERT_EQ(dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD), nullptr) << file;
  }
}

TEST(cuda_self_check, looks_for_the_five_libraries_in_order) {
  const auto result = run("cuda_self_check");
  const std::vector<std::string> names = {"cublas", "cusparse", "cufft", "curand", "nvrtc"};
  EXPECT_EQ(result.captures("lib(\\w+) can be opened: "), names) << result.text();
}

TEST(cuda_self_check, a_missing_library_is_named_and_makes_it_fail_with_or_without_a_device) {
  const auto result = run("cuda_self_check", {"--libraries", "curand no_such_library nvrtc"});
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.has_line("FAIL  libno_such_library can be opened: no, expected yes")) << result.text();
  EXPECT_EQ(result.lines_with("add the library's folder to LD_LIBRARY_PATH$").size(), 1U) << result.text();
  EXPECT_EQ(result.captures("lib(\\w+) can be opened: ").size(), 3U) << result.text();
  EXPECT_FALSE(result.has_line("PASSED")) << result.text();
}

TEST(cuda_self_check, without_a_device_it_has_not_passed) {
  const auto result = run("cuda_self_check", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_FALSE(result.has_line("PASSED")) << result.text();
  EXPECT_TRUE(result.has_line("no kernel was run")) << result.text();
  if (result.lines_with("^FAIL").empty()) {
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("cuda_self_check: skipped, no CUDA device: "));
  } else {
    EXPECT_EQ(result.exit_code, 1) << result.text();
  }
}

TEST(cuda_self_check, without_a_device_a_driver_is_only_worth_a_line_if_it_is_too_old) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const auto with_driver = [](const std::string& version) {
    return cuda_test::run_without_device("cuda_self_check", {"--libraries", "c"},
                                         {{"COOKBOOK_CUDA_DEVICES", "0"}, {"COOKBOOK_CUDA_DRIVER", version}})
        .result;
  };
  // No driver, one of the program's major version (and perhaps a smaller minor one), and a new one.
  for (const std::string& version :
       {std::string("0"), std::to_string(CUDART_VERSION / 1000 * 1000), std::string("99000")}) {
    const auto result = with_driver(version);
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.has_line("no kernel was run")) << result.text();
    for (const std::string& line : result.out) EXPECT_THAT(line, testing::Not(testing::HasSubstr("driver"))) << version;
  }
  const auto result = with_driver("1010");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.has_line("FAIL  the driver is new enough: no, expected yes")) << result.text();
  EXPECT_EQ(result.lines_with("^      driver for CUDA 1\\.1, program made with CUDA \\d+\\.\\d+$").size(), 1U)
      << result.text();
  EXPECT_TRUE(result.has_line("no kernel was run")) << result.text();
}

TEST(cuda_self_check, devices_that_cannot_be_used_are_no_skip) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  for (const cudaError_t error : {cudaErrorSystemNotReady, cudaErrorSystemDriverMismatch, cudaErrorUnknown}) {
    const auto result = cuda_test::run_without_device("cuda_self_check", {"--libraries", "c"},
                                                      {{"COOKBOOK_CUDA_ERROR", std::to_string(error)}})
                            .result;
    EXPECT_EQ(result.exit_code, 3) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr(cudaGetErrorString(error)));
    EXPECT_FALSE(result.has_line("PASSED")) << result.text();
  }
}

TEST(cuda_self_check, the_summary_agrees_with_the_list_and_the_exit_code_with_the_summary) {
  const auto result = run("cuda_self_check", {"--libraries", "nvrtc"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto running = result.captures("^(\\d+)/\\d+ devices run a kernel$");
  const auto found = result.captures("^\\d+/(\\d+) devices run a kernel$");
  ASSERT_EQ(running.size() + found.size(), 2U) << result.text();
  EXPECT_EQ(result.lines_with("^      device #\\d+: .*compute capability \\d+\\.\\d+").size(), std::stoul(found[0]));
  EXPECT_EQ(result.lines_with(", runs a kernel$").size(), std::stoul(running[0])) << result.text();
  EXPECT_EQ(result.exit_code == 0, result.has_line("PASSED")) << result.text();
  EXPECT_TRUE(result.has_line("ok    devices that run a kernel: " + found[0])) << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
}

TEST(cuda_self_check, each_device_is_blamed_for_its_own_error_alone) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const std::string library = "nvrtc";
  const auto problems = [&](const std::map<std::string, std::string>& settings) {
    const auto result = cuda_test::run_without_device("cuda_self_check", {"--libraries", library}, settings).result;
    EXPECT_EQ(result.exit_code, 1) << result.text();
    EXPECT_TRUE(result.has_line("FAILED")) << result.text();
    return result.captures("^ +device #\\d+: .* PCI bus \\d+ device \\d+, (.*)$");
  };
  // No kernel is run, so nobody writes the result.
  EXPECT_EQ(problems({{"COOKBOOK_CUDA_DEVICES", "3"}, {"COOKBOOK_CUDA_FULL", "1"}}),
            (std::vector<std::string>{"wrong result", "out of memory", "wrong result"}));
  EXPECT_EQ(problems({{"COOKBOOK_CUDA_REFUSED", "1"}}),
            std::vector<std::string>{"too many resources requested for launch"});
  EXPECT_EQ(problems({{"COOKBOOK_CUDA_POISON", "42"}}), std::vector<std::string>{"wrong result"})
      << "what was in the memory before is no result of the kernel";
}

TEST(cuda_self_check, is_clean_under_compute_sanitizer) { cuda_test::expect_clean("cuda_self_check", {{}}); }

}  // namespace
