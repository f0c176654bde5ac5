// Vector sum in OpenCL
//
// Is it worth while to let a device add two vectors? The program makes the five objects that every OpenCL program has
// (device, context, command queue, program, kernel), copies two vectors of ten million integers to the device, runs the
// kernel, and copies the sums back. It does this twice with the same buffers, and prints how long each part takes, all
// of them together, and the same sum by one thread of the host. The kernel stands in a file of its own, vector_sum.cl,
// which the program gives to the driver's compiler.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_vector_sum/opencl_vector_sum.cpp common/cookbook/*.cpp -lfmt -lOpenCL -o opencl_vector_sum
// Run:     opencl_vector_sum [--count N] [--group N] [--device N]

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "five_objects.hpp"

namespace {

constexpr cl_int untouched = -1;  // no sum is negative, so an element that nobody has written shows

Vector random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  Vector numbers(count);
  std::generate(numbers.begin(), numbers.end(), [&] { return static_cast<cl_int>(engine() % 100); });
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 10'000'000, group = 256, device_number = 0;
  cookbook::Options options("Add two vectors on any OpenCL device");
  options.add("count", count, "elements of each vector", 1, 1 << 26);
  options.add("group", group, "work-items per work-group", 1, 1 << 20);
  options.add("device", device_number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);
  const std::optional<cl::Device> device = opencl::chosen_device(device_number);
  if (!device) return opencl::without_device();

  const Vector a = random_numbers(count, 1), b = random_numbers(count, 2);
  Vector by_host(count, untouched), sum(count + 1, untouched);
  const cookbook::Stopwatch start;
  FiveObjects five{*device, opencl::read_kernels(opencl::beside(__FILE__, "vector_sum.cl"))};
  const double start_seconds = start.seconds();

  const std::size_t items = work_items(count, group);
  cookbook::println("{}", opencl::name_of(five.device));
  cookbook::println("{} work-items in groups of {} for {} elements", items, group, count);
  const Buffers buffers = buffers_for(five, a, b, sum);
  double host_seconds[2];
  Times times[2];
  for (const int run : {0, 1}) {
    std::fill(sum.begin(), sum.end(), untouched);  // so that no run can pass with the sums of the one before
    times[run] = sum_on_device(five, buffers, a, b, sum, items, group);
    const cookbook::Stopwatch host;
    std::transform(a.begin(), a.end(), b.begin(), by_host.begin(), std::plus<>());
    host_seconds[run] = host.seconds();
  }
  const auto row = [](const char* what, double first, double second) {
    cookbook::println("{:<30}{:10.2f} ms {:10.2f} ms", what, first * 1e3, second * 1e3);
  };
  cookbook::println("                                first run    second run");
  cookbook::println("{:<30}{:10.2f} ms", "five objects, made once", start_seconds * 1e3);
  row("vectors to the device", times[0].to_device, times[1].to_device);
  row("kernel", times[0].kernel, times[1].kernel);
  row("sums to the host", times[0].to_host, times[1].to_host);
  row("these three together", times[0].together(), times[1].together());
  row("one thread of the host instead", host_seconds[0], host_seconds[1]);

  cookbook::Checks checks;
  checks.that("every sum is the one that the host computes", std::equal(by_host.begin(), by_host.end(), sum.begin()));
  checks.equal("the element behind the last, which no work-item may write", sum.back(), untouched);
  return checks.exit_code();
}
