// A kernel from an expression
//
// The program has no file of kernels. It has an expression, c[i] = 2 * a[i] + 3 * b[i], and a list of parameters. From
// these strings it writes the text of a kernel, and OpenCL compiles it while the program runs, for the device that was
// chosen. Then the program computes the same by three kernels with one operation each, and prints how long both take:
// the three kernels read and write more than twice as many vectors. The text is made in elementwise.hpp.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/08_heterogeneous chapters/08_heterogeneous/opencl_elementwise/opencl_elementwise.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_elementwise
// Run:     opencl_elementwise [--operation TEXT] [--count N] [--device N] [--ask]

#include <string>
#include <utility>
#include <vector>

#include "ask_for_device.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "elementwise.hpp"
#include "shortest_time.hpp"

namespace {

const std::string parameters = "global const int* a, global const int* b, global int* c";
const std::string two_a_and_three_b = "c[i] = 2 * a[i] + 3 * b[i]";

}  // namespace

int main(int argc, char** argv) {
  std::size_t device_number = 0, count = 16'000'000;
  bool ask = false;
  std::string operation = two_a_and_three_b;
  cookbook::Options options("Make a kernel from an expression");
  options.add("operation", operation, "what to compute from a[i] and b[i]");
  options.add("count", count, "elements of each vector", 1, 100'000'000);
  options.add("device", device_number, "number of the device, as opencl_devices has it", 0, 63);
  options.add_flag("ask", ask, "ask for the device, unless OPENCL_DEVICE has its number");
  options.parse(argc, argv);
  if (opencl::devices().empty()) return opencl::without_device();
  const cl::Device device = *opencl::chosen_device(ask ? ask_for_device() : device_number);

  const cl::Context context = CL_CHECK(cl::Context(device));
  const cl::CommandQueue queue = opencl::profiling_queue(context, device);
  std::vector<cl_int> host_a(count), host_b(count);
  for (std::size_t i = 0; i < count; ++i) {
    host_a[i] = static_cast<cl_int>((37 * i + 45) % 100);
    host_b[i] = static_cast<cl_int>((53 * i + 48) % 100);
  }
  const std::vector<cl_int> unset(count, -1);
  const DeviceVector<cl_int> a(queue, host_a), b(queue, host_b), c(queue, unset);

  cookbook::println("{}", Elementwise::text("compute", parameters, operation));
  const cookbook::Stopwatch compilation;
  Elementwise compute(queue, "compute", parameters, operation);
  cookbook::println("compiled in {:.1f} ms for {}", compilation.seconds() * 1e3, opencl::name_of(device));
  compute(a, b, c);
  const std::vector<cl_int> by_one = c.to_host();
  cookbook::println("a[0] = {}, b[0] = {}, c[0] = {}", host_a[0], host_b[0], by_one[0]);
  const double one = shortest_on_device(10, [&] { return compute(a, b, c); });
  cookbook::println("{} elements by this kernel                   {:8.3f} ms", count, one * 1e3);
  if (operation != two_a_and_three_b) return 0;  // another expression: nothing to compare with

  Elementwise scale(queue, "scale", "int m, global const int* x, global int* y", "y[i] = m * x[i]");
  Elementwise add(queue, "add", parameters, "c[i] = a[i] + b[i]");
  const DeviceVector<cl_int> left(queue, unset), right(queue, unset), sum(queue, unset);
  const double three = shortest_on_device(10, [&] {
    const cl::Event first = scale(2, a, left);
    scale(3, b, right);
    return std::pair(first, add(left, right, sum));
  });
  cookbook::println("{} elements by kernels for 2a, 3b and the sum{:8.3f} ms", count, three * 1e3);

  cookbook::Checks checks;
  const std::vector<cl_int> by_three = sum.to_host();
  int wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const cl_int expected = 2 * host_a[i] + 3 * host_b[i];
    wrong += by_three[i] != expected || by_one[i] != expected;
  }
  checks.equal("elements that are not 2a + 3b", wrong, 0);
  return checks.exit_code();
}
