// Compiling a kernel at run time
//
// The kernel of this program is a text, which computes x to the power of an exponent modulo a number, for millions of
// x. Both numbers are known only when the program runs. It compiles the text four times with NVIDIA's run-time compiler
// (NVRTC): with neither number in the text, so that the kernel takes both as arguments, with one of them, with the
// other one, and with both. It prints how long compiling and the kernel take, and after how many launches a number in
// the text has paid for compiling. The program itself needs no CUDA compiler: this is plain C++, and nvcc is named
// below only because it knows where CUDA's headers and libraries are.
//
// Compile: nvcc -std=c++20 -O3 -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_runtime_compilation/cuda_runtime_compilation.cpp common/cookbook/*.cpp -lnvrtc -lfmt -o cuda_runtime_compilation
// Run:     cuda_runtime_compilation [--count N] [--exponent N] [--modulus N]

#include <cmath>
#include <string>
#include <vector>

#include "compile.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"

namespace {

const std::string power_text = R"(extern "C" __global__
void power(const unsigned* x, unsigned* result, unsigned count, unsigned exponent, unsigned modulus) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned long long square = x[i] % MODULUS, product = 1;
  for (unsigned bits = EXPONENT; bits > 0; bits /= 2) {  // by squaring: x^5 = x^4 * x
    if (bits % 2 == 1) product = product * square % MODULUS;
    square = square * square % MODULUS;
  }
  result[i] = product;
}
)";

/// The text with values for its two names, which may be numbers or the names of the parameters.
std::string text_with(const std::string& exponent, const std::string& modulus) {
  return "#define EXPONENT " + exponent + "\n#define MODULUS " + modulus + "\n" + power_text;
}

/// x^exponent modulo `modulus`, by the processor.
unsigned power(unsigned long long x, unsigned exponent, unsigned modulus) {
  unsigned long long product = 1;
  for (x %= modulus; exponent > 0; exponent /= 2, x = x * x % modulus) {
    if (exponent % 2 == 1) product = product * x % modulus;
  }
  return static_cast<unsigned>(product);
}

/// A kernel that was loaded from machine code.
class Kernel {
 public:
  Kernel(const std::string& code, const char* name) {
    DRIVER_CHECK(gpu::driver().cuModuleLoadData(&module_, code.data()));
    DRIVER_CHECK(gpu::driver().cuModuleGetFunction(&kernel_, module_, name));
  }
  ~Kernel() { gpu::driver().cuModuleUnload(module_); }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  void launch(const unsigned* x, unsigned* result, unsigned count, unsigned exponent, unsigned modulus) const {
    // After the sizes, cuLaunchKernel gets: 0 bytes of extra shared memory, the default stream, the arguments, no other
    // form of arguments.
    void* arguments[] = {&x, &result, &count, &exponent, &modulus};  // an address per parameter, no types
    const unsigned threads = 256, blocks = (count + threads - 1) / threads;
    DRIVER_CHECK(gpu::driver().cuLaunchKernel(kernel_, blocks, 1, 1, threads, 1, 1, 0, nullptr, arguments, nullptr));
  }

 private:
  CUmodule module_ = nullptr;
  CUfunction kernel_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  unsigned count = 10'000'000, exponent = 65'537, modulus = 1'000'003;
  cookbook::Options options("Compile a kernel while the program runs, for numbers that are known only then");
  options.add("count", count, "numbers to raise to a power", 1, 100'000'000);
  options.add("exponent", exponent, "the power", 1, 4'294'967'295);
  options.add("modulus", modulus, "what the power is divided by, to keep the remainder", 2, 4'294'967'295);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  std::vector<unsigned> numbers(count);
  for (unsigned i = 0; i < count; ++i) numbers[i] = 2 + i * 2654435761U;
  const gpu::DeviceArray<unsigned> x(numbers);
  gpu::DeviceArray<unsigned> result(count);

  const std::string architecture = gpu::architecture();
  int wrong = 0, compared = 0;
  double general = 0;  // how long the kernel takes that has neither number in its text, in milliseconds
  const auto show = [&](const char* in_the_text, const std::string& text) {
    const cookbook::Stopwatch watch;
    const std::string code = compile(text, "power.cu", architecture);
    const double compiling = watch.seconds() * 1e3;
    const Kernel kernel(code, "power");
    result.poison();
    const double launch = fastest([&] { kernel.launch(x.data(), result.data(), count, exponent, modulus); }) * 1e3;
    const std::vector<unsigned> powers = result.to_host();
    for (unsigned i = 0; i < count; i += 1 + i / 1000, ++compared) {
      wrong += powers[i] != power(numbers[i], exponent, modulus);
    }
    if (general == 0) general = launch;
    const std::string paid =
        launch < general ? fmt::format("{:.0f} launches", std::ceil(compiling / (general - launch))) : "-";
    cookbook::println("{:<22}{:8.1f} ms{:12.3f} ms{:>18}", in_the_text, compiling, launch, paid);
  };

  const std::string exponent_text = fmt::format("{}u", exponent), modulus_text = fmt::format("{}ull", modulus);
  compile(text_with("1u", "1u"), "power.cu", architecture);  // the first call takes longer: it loads the compiler
  cookbook::println("x^{} modulo {}, for {} numbers x", exponent, modulus, count);
  cookbook::println("{:<22}{:>11}{:>15}{:>18}", "in the kernel's text", "compiling", "a launch", "has paid after");
  show("neither number", text_with("exponent", "modulus"));
  show("the exponent", text_with(exponent_text, "modulus"));
  show("the modulus", text_with("exponent", modulus_text));
  show("both", text_with(exponent_text, modulus_text));

  cookbook::Checks checks;
  checks.equal(fmt::format("wrong powers among {} compared", compared), wrong, 0);
  return checks.exit_code();
}
