// Compiling a kernel at run time
//
// The kernel of this program is a text, which computes x to the power of an exponent modulo a number, for millions of
// x. Both numbers are known only when the program runs. It compiles the text twice with NVIDIA's run-time compiler
// (NVRTC): once so that the kernel takes the two numbers as arguments, and once with the two numbers in the text. It
// prints how long both kernels take, and how long compiling takes. A second request for the same text takes the code
// from a cache. The program itself needs no CUDA compiler: this is plain C++, and nvcc is named below only because it
// knows where CUDA's headers and libraries are.
//
// Compile: nvcc -std=c++20 -O3 -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_runtime_compilation/cuda_runtime_compilation.cpp common/cookbook/*.cpp -lnvrtc -lfmt -o cuda_runtime_compilation
// Run:     cuda_runtime_compilation [--count N] [--exponent N] [--modulus N]

#include <string>
#include <vector>

#include "code_cache.hpp"
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

/// The text with values for its two names, which may be numbers or the names of the parameters. The messages count
/// lines from the kernel's first.
std::string text_with(const std::string& exponent, const std::string& modulus) {
  return "#define EXPONENT " + exponent + "\n#define MODULUS " + modulus + "\n#line 1\n" + power_text;
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
    void* arguments[] = {&x, &result, &count, &exponent, &modulus};  // an address per parameter, no types
    const unsigned threads = 256, blocks = (count + threads - 1) / threads;
    // After the sizes: 0 bytes of extra shared memory, the default stream, the arguments, no other form of arguments.
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
  const bool device_found = gpu::device_found();
  const std::string architecture = device_found ? gpu::architecture() : "sm_80";  // the compiler needs no device

  CodeCache cache;
  const std::string general_text = text_with("exponent", "modulus");
  const std::string special_text = text_with(fmt::format("{}u", exponent), fmt::format("{}ull", modulus));
  const std::string& general_code = cache.code(general_text, "power.cu", architecture);
  const cookbook::Stopwatch first;
  const std::string& special_code = cache.code(special_text, "power.cu", architecture);
  const double compiling = first.seconds();
  const cookbook::Stopwatch second;
  const bool found = &cache.code(special_text, "power.cu", architecture) == &special_code && cache.size() == 2;
  const double finding = second.seconds();

  int wrong = 0, compared = 0;
  if (device_found) {
    std::vector<unsigned> numbers(count);
    for (unsigned i = 0; i < count; ++i) numbers[i] = 2 + i * 2654435761U;
    const gpu::DeviceArray<unsigned> x(numbers);
    gpu::DeviceArray<unsigned> result(count);
    const auto milliseconds = [&](const std::string& code) {
      const Kernel kernel(code, "power");
      result.poison();
      const double seconds = fastest([&] { kernel.launch(x.data(), result.data(), count, exponent, modulus); });
      const std::vector<unsigned> powers = result.to_host();
      for (unsigned i = 0; i < count; i += 1 + i / 1000, ++compared) {
        wrong += powers[i] != power(numbers[i], exponent, modulus);
      }
      return seconds * 1e3;
    };
    const double general = milliseconds(general_code), special = milliseconds(special_code);
    cookbook::println("x^{} modulo {}, for {} numbers x", exponent, modulus, count);
    cookbook::println("the numbers as arguments    {:9.3f} ms", general);
    cookbook::println("the numbers in the text     {:9.3f} ms  {:.1f} x", special, general / special);
  }
  cookbook::println("the text with the numbers: compiled in {:.3f} ms, found in the cache in {:.3f} ms",
                    compiling * 1e3, finding * 1e3);

  cookbook::Checks checks;
  checks.that("the second request for the text got the code of the first", found);
  std::string wrong_text = special_text, message;
  wrong_text.replace(wrong_text.find("result[i]"), 9, "resul[i]");
  try {
    cache.code(wrong_text, "power.cu", architecture);
  } catch (const gpu::CompileError& error) {
    message = error.what();
  }
  checks.equal("message about a mistake", message.substr(0, message.find('\n')),
               R"(power.cu(10): error: identifier "resul" is undefined)");
  if (!device_found) return gpu::without_device(checks);
  checks.equal(fmt::format("wrong powers among {} compared", compared), wrong, 0);
  return checks.exit_code();
}
