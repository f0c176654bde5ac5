// A kernel from an expression
//
// The program has no file of kernels. It has an expression, c[i] = a[i] + b[i], and a list of parameters. From these
// strings it writes the text of a kernel, and OpenCL compiles it while the program runs, for the device that was
// chosen. A mistake in an expression is found only then, so the compiler's message is what one needs to see. The text
// is made in elementwise.hpp.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_elementwise/opencl_elementwise.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_elementwise
// Run:     opencl_elementwise [--operation TEXT] [--device N] [--ask]

#include <string>
#include <vector>

#include "ask_for_device.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "elementwise.hpp"

namespace {

constexpr int count = 100;
const std::string parameters = "global const int* a, global const int* b, global int* c";

}  // namespace

int main(int argc, char** argv) {
  std::size_t device_number = 0;
  bool ask = false;
  std::string operation = "c[i] = a[i] + b[i]";
  cookbook::Options options("Make a kernel from an expression");
  options.add("operation", operation, "what to compute from a[i] and b[i]");
  options.add("device", device_number, "number of the device, as opencl_devices has it", 0, 63);
  options.add_flag("ask", ask, "ask for the device, unless OPENCL_DEVICE has its number");
  options.parse(argc, argv);
  if (opencl::devices().empty()) return opencl::without_device();
  const cl::Device device = *opencl::chosen_device(ask ? ask_for_device() : device_number);

  const cl::Context context = CL_CHECK(cl::Context(device));
  const cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, device));
  std::vector<cl_int> host_a(count), host_b(count);
  for (int i = 0; i < count; ++i) {
    host_a[i] = (37 * i + 45) % 100;
    host_b[i] = (53 * i + 48) % 100;
  }
  const DeviceVector<cl_int> a(queue, host_a), b(queue, host_b), c(queue, std::vector<cl_int>(count, -1));

  cookbook::println("{}", Elementwise::text("compute", parameters, operation));
  Elementwise compute(queue, "compute", parameters, operation);
  compute(a, b, c);
  cookbook::println("{}", opencl::name_of(device));
  cookbook::println("a[0] = {}, b[0] = {}, c[0] = {}", host_a[0], host_b[0], c.to_host()[0]);

  cookbook::Checks checks;
  const auto check = [&](int m, int n) {
    const std::vector<cl_int> result = c.to_host();
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += result[i] != m * host_a[i] + n * host_b[i];
    checks.equal(fmt::format("elements that are not {}a + {}b", m, n), wrong, 0);
  };
  // These operations are fixed, so that they can be checked whatever --operation is.
  Elementwise sum(queue, "sum", parameters, "c[i] = a[i] + b[i]");
  sum(a, b, c);
  check(1, 1);
  Elementwise combine(queue, "combine", "int m, int n, " + parameters, "c[i] = m * a[i] + n * b[i]");
  combine(2, 3, a, b, c);
  check(2, 3);
  combine(3, 2, a, b, c);  // the same kernel with other numbers
  check(3, 2);
  return checks.exit_code();
}
