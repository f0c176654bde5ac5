// A kernel from an expression
//
// The program has no kernel. It has expressions, such as c[i] = a * x[i] + b * y[i], and the types of a, x, b, y and c.
// From these it writes the text of a kernel, and compiles it while it runs: elementwise.hpp. It shows what the compiler
// says about mistakes. Then it computes 2x + 5y by three such kernels with one operation each, as a library of
// operations on whole arrays would, and by one kernel of the whole expression, and prints how long both take.
//
// Compile: nvcc -std=c++20 -O3 -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_elementwise/cuda_elementwise.cpp common/cookbook/*.cpp -lnvrtc -lfmt -o cuda_elementwise
// Run:     cuda_elementwise [--count N]

#include <cmath>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "elementwise.hpp"
#include "fastest.hpp"

namespace {

using Product = Elementwise<float, const float*, float*>;
using Sum = Elementwise<const float*, const float*, float*>;
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

/// How many elements of `c` are not 2x + 5y but for rounding. Poisons `c` for the next kernel.
std::size_t wrong_elements(gpu::DeviceArray<float>& c, const std::vector<float>& x, const std::vector<float>& y) {
  const std::vector<float> result = c.to_host();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    wrong += !(std::abs(result[i] - (2.0 * x[i] + 5.0 * y[i])) < 2e-6);  // the negation counts a NaN, too
  }
  c.poison();
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 20'000'000;
  cookbook::Options options("Make a kernel from an expression");
  options.add("count", count, "elements of each vector", 1, 200'000'000);
  options.parse(argc, argv);

  cookbook::println("the kernel's text:\n{}", LinearCombination::text(names, operation));
  cookbook::println("z instead of y: {}", message_about("c[i] = a * x[i] + b * z[i]"));
  cookbook::println("x[i] = a:       {}", message_about("x[i] = a"));
  if (!gpu::device_found()) return gpu::skipped;

  const std::vector<float> host_x = gpu::random_numbers(1, count), host_y = gpu::random_numbers(2, count);
  const gpu::DeviceArray<float> x(host_x), y(host_y);
  gpu::DeviceArray<float> c(count), two_x(count), five_y(count);
  c.poison();

  const Product product({"a", "x", "result"}, "result[i] = a * x[i]");
  const Sum sum({"x", "y", "result"}, "result[i] = x[i] + y[i]");
  const double three_kernels = fastest([&] {
    product(count, 2, x.data(), two_x.data());
    product(count, 5, y.data(), five_y.data());
    sum(count, two_x.data(), five_y.data(), c.data());
  });
  std::size_t wrong = wrong_elements(c, host_x, host_y);

  const cookbook::Stopwatch watch;
  const LinearCombination linear_combination(names, operation);
  const double compiling = watch.seconds();
  const double one_kernel = fastest([&] { linear_combination(count, 2, x.data(), 5, y.data(), c.data()); });
  wrong += wrong_elements(c, host_x, host_y);

  cookbook::println("three kernels, an operation each: {:9.3f} ms", three_kernels * 1e3);
  cookbook::println("one kernel, the whole expression: {:9.3f} ms", one_kernel * 1e3);
  cookbook::println("making that kernel:               {:9.3f} ms", compiling * 1e3);
  cookbook::Checks checks;
  checks.equal("elements of c that are not 2x + 5y", wrong, 0U);
  return checks.exit_code();
}
