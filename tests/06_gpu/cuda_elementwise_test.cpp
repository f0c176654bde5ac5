// The program's output; the text of a kernel, its messages and its types, from inside.

#define main main_of_the_program  // its count of wrong elements is called from here
#include "06_gpu/cuda_elementwise/cuda_elementwise.cpp"
#undef main

#include <cmath>
#include <regex>
#include <type_traits>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "cookbook/cuda.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;
using testing::HasSubstr;

/// The vectors that the book prints, with eight digits.
const std::vector<float> printed_a = {
    0.73191601F, 0.7004351F,  0.87159222F, 0.49621502F, 0.19640177F, 0.75579387F, 0.35208538F, 0.97497243F, 0.36948711F,
    0.34328628F, 0.06811771F, 0.04270195F, 0.15690483F, 0.39899695F, 0.2927697F,  0.36201504F, 0.09503061F, 0.45646626F,
    0.35608584F, 0.01598917F, 0.75943208F, 0.49343511F, 0.79146844F, 0.33111155F, 0.18454118F, 0.83971804F, 0.01466237F,
    0.77959627F, 0.54659295F, 0.4575595F,  0.55539894F, 0.23285247F, 0.14676388F, 0.72028935F, 0.87861985F, 0.13928016F,
    0.18071586F, 0.8029055F,  0.05551658F, 0.49400434F, 0.40941685F, 0.55373788F, 0.07541087F, 0.55443048F, 0.19723719F,
    0.72457349F, 0.46491891F, 0.65380263F, 0.93845034F, 0.27472526F};
const std::vector<float> printed_b = {
    0.29464501F, 0.21645674F, 0.93407696F, 0.48678038F, 0.71135205F, 0.0588627F,  0.99216938F, 0.879906F,   0.07517455F,
    0.84360296F, 0.57358545F, 0.73907417F, 0.06841258F, 0.1816148F,  0.53327322F, 0.30980903F, 0.96774238F, 0.90884209F,
    0.39139062F, 0.97678316F, 0.41284555F, 0.17893282F, 0.47421032F, 0.13706622F, 0.62038481F, 0.22524452F, 0.67131585F,
    0.06617502F, 0.02492006F, 0.99894243F, 0.28288943F, 0.55505407F, 0.14323047F, 0.54854101F, 0.2742492F,  0.01146096F,
    0.45902726F, 0.03561942F, 0.78358203F, 0.32014725F, 0.13187674F, 0.42909116F, 0.2633251F,  0.07679776F, 0.80823648F,
    0.57373965F, 0.40740359F, 0.26024994F, 0.61452144F, 0.46388686F};
const std::vector<float> printed_c = {
    2.93705702F, 2.48315382F, 6.41356945F, 3.42633176F, 3.94956398F, 1.80590129F, 5.6650176F,  6.34947491F, 1.11484694F,
    4.90458727F, 3.00416279F, 3.78077483F, 0.65587258F, 1.70606792F, 3.25190544F, 2.2730751F,  5.02877283F, 5.45714283F,
    2.6691246F,  4.91589403F, 3.58309197F, 1.88153434F, 3.95398855F, 1.34755421F, 3.47100639F, 2.80565882F, 3.38590407F,
    1.89006758F, 1.21778619F, 5.90983152F, 2.52524495F, 3.24097538F, 1.00968003F, 4.18328381F, 3.12848568F, 0.33586511F,
    2.65656805F, 1.78390813F, 4.02894306F, 2.58874488F, 1.47821736F, 3.25293159F, 1.46744728F, 1.49284983F, 4.43565702F,
    4.31784534F, 2.96685553F, 2.60885501F, 4.94950771F, 2.86888456F};

std::string messages_about(const std::string& wrong) {
  try {
    gpu::compile(LinearCombination::text(names, wrong), "elementwise.cu", "sm_80");
  } catch (const gpu::CompileError& error) {
    return error.what();
  }
  return "accepted";
}

/// The kernel in the driver's assembly language, PTX.
std::string ptx_of(const std::string& text) {
  nvrtcProgram program;
  NVRTC_CHECK(nvrtcCreateProgram(&program, text.c_str(), "elementwise.cu", 0, nullptr, nullptr));
  const char* options[] = {"--gpu-architecture=compute_80"};
  NVRTC_CHECK(nvrtcCompileProgram(program, 1, options));
  std::size_t size = 0;
  NVRTC_CHECK(nvrtcGetPTXSize(program, &size));
  std::string ptx(size, '\0');
  NVRTC_CHECK(nvrtcGetPTX(program, ptx.data()));
  NVRTC_CHECK(nvrtcDestroyProgram(&program));
  return ptx;
}

TEST(cuda_elementwise, without_a_device_shows_text_and_messages_and_is_skipped) {
  const auto result = run("cuda_elementwise", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, 77) << result.text();
  EXPECT_TRUE(result.has_line("c[i] = a * x[i] + b * y[i];")) << result.text();
  EXPECT_TRUE(result.has_line("z instead of y: operation(1): error: identifier \"z\" is undefined")) << result.text();
  EXPECT_TRUE(result.has_line("x[i] = a:       operation(1): error: expression must be a modifiable lvalue"))
      << result.text();
}

TEST(cuda_elementwise, every_element_is_right_at_every_count) {
  for (const std::string count : {"1", "50", "255", "256", "257", "100001"}) {
    const auto result = run("cuda_elementwise", {"--count", count});
    if (result.exit_code == 77) GTEST_SKIP() << result.err[0];
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    elements of c that are not 2x + 5y: 0"));
    EXPECT_EQ(result.lines_with("kernel.*: +[0-9.]+ ms$").size(), 3U) << result.text();
  }
}

TEST(cuda_elementwise, wrong_elements_are_counted_and_all_are_wrong_before_the_next_kernel) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  const std::vector<float> x = {1, 2, 3}, y = {4, 5, 6};
  gpu::DeviceArray<float> c(std::vector<float>{22, 29, 35});  // the last one should be 36
  EXPECT_EQ(wrong_elements(c, x, y), 1U);
  EXPECT_EQ(wrong_elements(c, x, y), 3U) << "a kernel that does nothing would pass";
}

TEST(cuda_elementwise_timing, one_kernel_is_faster_than_three) {
  const auto result = run("cuda_elementwise");
  if (result.exit_code == 77) GTEST_SKIP() << result.err[0];
  const auto three = result.captures("^three kernels, an operation each: +([0-9.]+) ms$");
  const auto one = result.captures("^one kernel, the whole expression: +([0-9.]+) ms$");
  ASSERT_EQ(three.size(), 1U) << result.text();
  ASSERT_EQ(one.size(), 1U) << result.text();
  EXPECT_LT(std::stod(one[0]), std::stod(three[0]));
}

TEST(cuda_elementwise_elementwise, reads_each_input_once_and_writes_each_output_once) {
  const std::string ptx = ptx_of(LinearCombination::text(names, operation));
  EXPECT_EQ(test_support::count(ptx, "ld.global"), 2) << ptx;
  EXPECT_EQ(test_support::count(ptx, "st.global"), 1) << ptx;
}

TEST(cuda_elementwise_elementwise, computes_the_index_in_64_bits) {
  const std::string ptx = ptx_of(Elementwise<float*>::text({"c"}, "c[i] = 1"));
  EXPECT_THAT(ptx, HasSubstr("mul.wide.u32")) << "block * threads per block";
  EXPECT_EQ(test_support::count(ptx, "mad.lo.s32"), 0) << ptx;
}

TEST(cuda_elementwise_elementwise, computes_in_double_precision_where_a_constant_is_no_float) {
  const auto ptx = [](const char* product) {
    return ptx_of(Elementwise<const float*, float*>::text({"x", "c"}, product));
  };
  EXPECT_THAT(ptx("c[i] = 0.1 * x[i]"), HasSubstr("mul.f64"));
  EXPECT_THAT(ptx("c[i] = 0.1F * x[i]"), testing::Not(HasSubstr("f64")));
}

TEST(cuda_elementwise_elementwise, counts_the_lines_of_an_operation_of_several) {
  EXPECT_THAT(messages_about("float t = a * x[i];\nc[i] = t + z"), HasSubstr("operation(2): error: identifier \"z\""));
  EXPECT_EQ(messages_about("float t = a * x[i];\nc[i] = t"), "accepted");
}

TEST(cuda_elementwise_elementwise, checks_the_types_of_an_operation) {
  EXPECT_THAT(messages_about("x[i] = 0"), HasSubstr("operation(1): error: expression must be a modifiable lvalue"));
  EXPECT_THAT(messages_about("c = a"), HasSubstr("operation(1): error: "));
  EXPECT_THAT(messages_about("c[i] = a * x"), HasSubstr("operation(1): error: "));
  EXPECT_THAT(messages_about("c[i] = a *"), HasSubstr("operation(1): error: "));
}

TEST(cuda_elementwise_elementwise, has_the_names_that_its_text_uses_for_itself) {
  const std::string text = Elementwise<float, float*>::text({"i", "c"}, "c[i] = 1");
  EXPECT_THROW(gpu::compile(text, "elementwise.cu", "sm_80"), gpu::CompileError);
}

TEST(cuda_elementwise_elementwise, checks_the_types_of_the_arguments_when_the_program_is_compiled) {
  using Call = const LinearCombination&;
  static_assert(std::is_invocable_v<Call, std::size_t, int, float*, int, const float*, float*>);
  static_assert(!std::is_invocable_v<Call, std::size_t, int, double*, int, const float*, float*>);
  static_assert(!std::is_invocable_v<Call, std::size_t, int, float*, int, const float*, const float*>);
  static_assert(!std::is_invocable_v<Call, std::size_t, float*, float*, int, float*, float*>);
  static_assert(!std::is_invocable_v<Call, std::size_t, int, float*, int, float*>);
}

TEST(cuda_elementwise_elementwise, names_types_as_cuda_does) {
  using Kernel = Elementwise<const double*, long long, unsigned char*>;
  const std::string text = Kernel::text({"p", "n", "bytes"}, "bytes[i] = p[i] > n");
  EXPECT_THAT(text, HasSubstr("(size_t count, double const* p, long long n, unsigned char* bytes)"));
  EXPECT_FALSE(gpu::compile(text, "elementwise.cu", "sm_80").empty());
}

TEST(cuda_elementwise_elementwise, computes_the_vectors_that_the_book_prints) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  const gpu::DeviceArray<float> x(printed_a), y(printed_b);
  // Rounded after each operation, and as the compiler likes: it may round a product and a sum once.
  for (const std::string text : {"c[i] = __fadd_rn(__fmul_rn(a, x[i]), __fmul_rn(b, y[i]))", operation.c_str()}) {
    gpu::DeviceArray<float> c(50);
    c.poison();
    LinearCombination(names, text)(50, 2, x.data(), 5, y.data(), c.data());
    const auto result = c.to_host();
    double squares = 0;
    for (std::size_t i = 0; i < 50; ++i) {
      if (text != operation) {
        EXPECT_EQ(result[i], printed_c[i]) << i;
      }
      EXPECT_NEAR(result[i], printed_c[i], 1e-6) << i;
      squares += std::pow(result[i] - (2.0 * printed_a[i] + 5.0 * printed_b[i]), 2);
    }
    EXPECT_LT(std::sqrt(squares), 1e-5);
  }
}

TEST(cuda_elementwise_elementwise, adds_vectors_of_integers) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  std::vector<int> a(100), b(100);
  for (int i = 0; i < 100; ++i) {
    a[i] = i * 37 % 100;
    b[i] = i * 53 % 100;
  }
  const gpu::DeviceArray<int> device_a(a), device_b(b);
  gpu::DeviceArray<int> device_c(100);
  device_c.poison();
  Elementwise<const int*, const int*, int*>({"a", "b", "c"}, "c[i] = a[i] + b[i]")(100, device_a.data(),
                                                                                   device_b.data(), device_c.data());
  const auto c = device_c.to_host();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(c[i], a[i] + b[i]);
}

TEST(cuda_elementwise_elementwise, works_once_on_each_of_so_many_elements_and_on_no_more) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  const Elementwise<float*> count_up({"c"}, "atomicAdd(c + i, 1.0F)");
  for (const std::size_t count : {0U, 1U, 255U, 256U, 257U, 999U}) {
    gpu::DeviceArray<float> c(1000);
    c.zero();
    count_up(count, c.data());
    const auto result = c.to_host();
    for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(result[i], i < count ? 1 : 0) << i << " of " << count;
  }
}

TEST(cuda_elementwise, is_clean_under_compute_sanitizer) {
  const std::vector<std::vector<std::string>> sizes = {{"--count", "257"}, {"--count", "256"}};
  cuda_test::expect_clean("cuda_elementwise", sizes, {"racecheck"});
  cuda_test::expect_clean("cuda_elementwise", sizes, {"memcheck"}, {"--leak-check", "full"});
}

}  // namespace
