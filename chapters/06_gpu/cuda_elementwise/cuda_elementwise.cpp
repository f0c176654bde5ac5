// A kernel from an expression
//
// The program has no kernel. It has an expression, c[i] = a * x[i] + b * y[i], and the types of a, x, b, y and c. From
// these it writes the text of a kernel, and compiles it while it runs. So 2x + 5y is computed in one pass over the
// memory. The types are checked twice: by the C++ compiler where the kernel is called, and by the run-time compiler in
// the expression, whose messages are shown. The text is made in elementwise.hpp.
//
// Compile: nvcc -std=c++20 -O3 -Icommon chapters/06_gpu/cuda_elementwise/cuda_elementwise.cpp common/cookbook/*.cpp -lnvrtc -lfmt -o cuda_elementwise
// Run:     cuda_elementwise [--count N]

#include <cmath>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "elementwise.hpp"

namespace {

using LinearCombination = Elementwise<float, const float*, float, const float*, float*>;
const LinearCombination::Names names = {"a", "x", "b", "y", "c"};
const std::string operation = "c[i] = a * x[i] + b * y[i]";

/// The first line that the compiler says about an operation.
std::string message_about(const std::string& wrong_operation) {
  try {
    gpu::compile(LinearCombination::text(names, wrong_operation), "elementwise.cu", "sm_80");
  } catch (const gpu::CompileError& error) {
    const std::string messages = error.what();
    return messages.substr(0, messages.find('\n'));
  }
  return "no message";
}

/// Numbers from 0 to 1.
std::vector<float> random_numbers(unsigned seed, std::size_t count) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = (gpu::random_number(seed, static_cast<unsigned>(i)) + 1) / 2;
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 50;
  cookbook::Options options("Make a kernel from an expression");
  options.add("count", count, "elements of each vector", 1, 10'000'000);
  options.parse(argc, argv);

  cookbook::println("{}", LinearCombination::text(names, operation));
  cookbook::Checks checks;
  checks.equal("message about an unknown name", message_about("c[i] = a * z[i]"),
               R"(operation(1): error: identifier "z" is undefined)");
  checks.equal("message about a change of the input", message_about("x[i] = a"),
               "operation(1): error: expression must be a modifiable lvalue");
  if (!gpu::device_found()) return gpu::without_device(checks);

  const std::vector<float> host_x = random_numbers(1, count), host_y = random_numbers(2, count);
  const gpu::DeviceArray<float> x(host_x), y(host_y);
  gpu::DeviceArray<float> c(count);
  c.poison();

  const LinearCombination linear_combination(names, operation);
  linear_combination(count, 2, x.data(), 5, y.data(), c.data());

  const std::vector<float> result = c.to_host();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double exact = 2.0 * host_x[i] + 5.0 * host_y[i];
    wrong += !(std::abs(result[i] - exact) < 1e-6);  // rounding; the negation counts a NaN, too
  }
  checks.equal("elements of c that are not 2x + 5y", wrong, 0U);
  return checks.exit_code();
}
