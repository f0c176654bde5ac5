// The program's output; compiling, and what the driver does with a kernel, from inside.

#include "06_gpu/cuda_runtime_compilation/compile.hpp"

#include <bit>
#include <cstdint>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/without_device.hpp"
#include "cookbook/cuda.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;
using testing::HasSubstr;

const std::string multiply_text = R"(extern "C" __global__ void multiply(const float* a, const float* b, float* dest) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  dest[i] = a[i] * b[i];
})";

/// A kernel that is loaded, and launched with pointers for arguments.
class Loaded {
 public:
  Loaded(const std::string& text, const char* name) {
    const std::string code = compile(text, "test.cu", gpu::architecture());
    DRIVER_CHECK(gpu::driver().cuModuleLoadData(&module_, code.data()));
    DRIVER_CHECK(gpu::driver().cuModuleGetFunction(&kernel_, module_, name));
  }
  ~Loaded() { gpu::driver().cuModuleUnload(module_); }

  template <typename... Pointers>
  void launch(unsigned blocks, unsigned threads, Pointers... pointers) {
    void* arguments[] = {&pointers...};
    DRIVER_CHECK(gpu::driver().cuLaunchKernel(kernel_, blocks, 1, 1, threads, 1, 1, 0, nullptr, arguments, nullptr));
  }

 private:
  CUmodule module_ = nullptr;
  CUfunction kernel_ = nullptr;
};

/// The rows of the output: what stands in the kernel's text.
const std::string rows[] = {"neither number", "the exponent", "the modulus", "both"};

TEST(cuda_runtime_compilation, without_a_device_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_runtime_compilation", "cuda_runtime_compilation_wrong_type"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, 77) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_runtime_compilation, every_power_is_right_for_all_numbers) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--count", "1"},
        {"--count", "255", "--exponent", "1", "--modulus", "2"},
        {"--count", "257", "--exponent", "4294967295", "--modulus", "4294967295"},
        {"--count", "256", "--exponent", "4294967291", "--modulus", "4294967291"},
        {"--count", "100001", "--exponent", "6", "--modulus", "10"}}) {
    const auto result = run("cuda_runtime_compilation", options);
    if (result.exit_code == 77) GTEST_SKIP() << result.err[0];
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("^ok    wrong powers among [1-9][0-9]* compared: 0$").size(), 1U) << result.text();
    for (const std::string& row : rows) {
      EXPECT_EQ(result.lines_with("^" + row + " +[0-9.]+ ms +[0-9.]+ ms +([0-9]+ launches|-)$").size(), 1U)
          << result.text();
    }
  }
}

TEST(cuda_runtime_compilation, a_text_has_paid_when_the_launches_have_saved_the_time_of_compiling) {
  const auto result = run("cuda_runtime_compilation");
  if (result.exit_code == 77) GTEST_SKIP() << result.err[0];
  const auto compiling = result.captures(" ([0-9.]+) ms +[0-9.]+ ms +[0-9a-z -]+$");
  const auto launch = result.captures(" ([0-9.]+) ms +([0-9]+ launches|-)$");
  const auto paid = result.captures(" ms +([0-9]+) launches$");
  ASSERT_EQ(compiling.size(), 4U) << result.text();
  ASSERT_EQ(launch.size(), 4U) << result.text();
  ASSERT_EQ(paid.size(), 3U) << result.text();  // without a number in the text nothing is saved
  for (int row = 1; row < 4; ++row) {
    const double saved = std::stod(launch[0]) - std::stod(launch[row]);
    EXPECT_NEAR(std::stod(paid[row - 1]) * saved, std::stod(compiling[row]), 0.1 * std::stod(compiling[row]) + saved);
  }
}

TEST(cuda_runtime_compilation, compiling_takes_time_and_powers_that_no_kernel_has_written_are_wrong) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const auto result = cuda_test::run_without_device("cuda_runtime_compilation", {"--count", "1000"}).result;
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.has_line("FAIL  wrong powers among 4000 compared: 4000, expected 0")) << result.text();
  const auto compiling = result.captures(" ([0-9.]+) ms +[0-9.]+ ms +[0-9a-z -]+$");
  ASSERT_EQ(compiling.size(), 4U) << result.text();
  for (const std::string& milliseconds : compiling) EXPECT_GT(std::stod(milliseconds), 0) << result.text();
}

TEST(cuda_runtime_compilation_timing, constants_in_the_text_make_it_faster_above_all_the_modulus) {
  const auto result = run("cuda_runtime_compilation");
  if (result.exit_code == 77) GTEST_SKIP() << result.err[0];
  const auto launch = result.captures(" ([0-9.]+) ms +([0-9]+ launches|-)$");
  ASSERT_EQ(launch.size(), 4U) << result.text();
  EXPECT_LT(std::stod(launch[1]), std::stod(launch[0])) << result.text();
  EXPECT_LT(2 * std::stod(launch[2]), std::stod(launch[1])) << result.text();
  EXPECT_LT(std::stod(launch[3]), std::stod(launch[2])) << result.text();
}

TEST(cuda_runtime_compilation_compile, makes_an_elf_file_with_the_kernels_name) {
  const std::string code = compile(multiply_text, "test.cu", "sm_80");
  EXPECT_TRUE(code.starts_with("\177ELF"));
  EXPECT_THAT(code, HasSubstr(std::string("multiply\0", 9)));
}

TEST(cuda_runtime_compilation_compile, changes_the_name_of_a_kernel_that_is_not_extern_c) {
  const std::string code = compile(multiply_text.substr(11), "test.cu", "sm_80");
  EXPECT_THAT(code, HasSubstr("_Z8multiplyPKfS0_Pf"));
}

TEST(cuda_runtime_compilation_compile, makes_other_code_for_another_architecture) {
  EXPECT_NE(compile(multiply_text, "test.cu", "sm_80"), compile(multiply_text, "test.cu", "sm_90"));
}

TEST(cuda_runtime_compilation_compile, takes_the_text_for_cpp_20) {
  EXPECT_THAT(compile("static_assert(__cplusplus == 202002L);\n" + multiply_text, "test.cu", "compute_80"),
              HasSubstr(".entry multiply("));
}

TEST(cuda_runtime_compilation_compile, makes_ptx_for_an_architecture_that_no_device_has) {
  const std::string code = compile(multiply_text, "test.cu", "compute_80");
  EXPECT_THAT(code, HasSubstr(".target sm_80"));
  EXPECT_THAT(code, HasSubstr(".entry multiply("));
}

TEST(cuda_runtime_compilation_architecture, is_the_devices_own_or_else_the_nearest_older_one) {
  const std::vector<int> known = {75, 80, 86, 90, 100, 120};
  EXPECT_EQ(gpu::architecture_for(90, known), "sm_90");
  EXPECT_EQ(gpu::architecture_for(75, known), "sm_75");
  EXPECT_EQ(gpu::architecture_for(89, known), "compute_86");
  EXPECT_EQ(gpu::architecture_for(130, known), "compute_120");
  EXPECT_EQ(gpu::architecture_for(70, known), "");
}

TEST(cuda_runtime_compilation_compile, does_the_same_as_the_helper_of_the_other_recipes) {
  for (const std::string architecture : {"sm_80", "compute_80"}) {
    EXPECT_EQ(compile(multiply_text, "test.cu", architecture), gpu::compile(multiply_text, "test.cu", architecture));
  }
  EXPECT_THROW(gpu::compile("no kernel", "test.cu", "sm_80"), gpu::CompileError);
}

TEST(cuda_runtime_compilation_compile, needs_no_division_for_a_divisor_that_stands_in_the_text) {
  const std::string text = R"(extern "C" __global__ void remainders(unsigned long long* x, unsigned long long modulus) {
  x[threadIdx.x] %= MODULUS;
})";
  EXPECT_THAT(compile("#define MODULUS modulus\n" + text, "test.cu", "compute_80"), HasSubstr("rem.u64"));
  const std::string special = compile("#define MODULUS 1000003ull\n" + text, "test.cu", "compute_80");
  EXPECT_THAT(special, testing::Not(HasSubstr("rem.u")));
  EXPECT_THAT(special, HasSubstr("mul.hi.u64"));
}

TEST(cuda_runtime_compilation_compile, names_each_line_with_a_mistake) {
  try {
    compile("int f() { return 1; }\nint g() { return x; }\nint h() { return y; }\n", "test.cu", "sm_80");
    FAIL() << "accepted";
  } catch (const gpu::CompileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("test.cu(2): error: identifier \"x\" is undefined"));
    EXPECT_THAT(error.what(), HasSubstr("test.cu(3): error: identifier \"y\" is undefined"));
  }
}

TEST(cuda_runtime_compilation_compile, ends_the_program_for_an_architecture_that_nobody_has) {
  EXPECT_EXIT(compile(multiply_text, "test.cu", "sm_1"), testing::ExitedWithCode(3), "nvrtc|result");
}

TEST(cuda_runtime_compilation_multiply, one_block_of_400_threads_leaves_element_401_as_it_is) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  const auto a = gpu::random_numbers(1, 401), b = gpu::random_numbers(2, 401);
  const gpu::DeviceArray<float> device_a(a), device_b(b);
  for (const bool poisoned : {false, true}) {  // what the result held before does not matter
    gpu::DeviceArray<float> dest(401);
    poisoned ? dest.poison() : dest.zero();
    Loaded(multiply_text, "multiply").launch(1, 400, device_a.data(), device_b.data(), dest.data());
    const auto product = dest.to_host();
    for (int i = 0; i < 400; ++i) EXPECT_EQ(product[i], a[i] * b[i]);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(product[400]), poisoned ? 0xFFFFFFFFU : 0U);
  }
}

TEST(cuda_runtime_compilation_multiply, a_block_of_more_than_1024_threads_is_refused) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // a forked process cannot use its parent's device
  gpu::DeviceArray<float> values(2048);
  const float* input = values.data();
  EXPECT_EXIT(Loaded(multiply_text, "multiply").launch(1, 1025, input, input, values.data()),
              testing::ExitedWithCode(3), "cuLaunchKernel.*invalid argument");
}

TEST(cuda_runtime_compilation_driver, does_not_find_a_kernel_under_its_name_in_the_text_if_it_is_not_extern_c) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(Loaded(multiply_text.substr(11), "multiply"), testing::ExitedWithCode(3),
              "cuModuleGetFunction.*not found");
}

TEST(cuda_runtime_compilation, is_clean_under_compute_sanitizer) {
  const std::vector<std::vector<std::string>> sizes = {{"--count", "257"}, {"--count", "256"}};
  cuda_test::expect_clean("cuda_runtime_compilation", sizes, {"racecheck"});
  cuda_test::expect_clean("cuda_runtime_compilation", sizes, {"memcheck"}, {"--leak-check", "full"});
}

}  // namespace
