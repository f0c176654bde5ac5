// Processor and device, timed
//
// Adds two vectors of 10,000 floats 10,000 times: by one thread, by several threads, and on an OpenCL device. The
// device is timed by two clocks. Its own clock gives the time of the kernel alone, by an event; the host's clock gives
// the time from the launch until the sums are back. On the device the work-items are grouped in two ways: as the driver
// chooses, and in groups of 64. All must compute the same sums to the last bit.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_benchmark/opencl_benchmark.cpp common/cookbook/*.cpp -lfmt -lOpenCL -pthread -o opencl_benchmark
// Run:     opencl_benchmark [--count N] [--repeats N] [--device N]

#include <algorithm>
#include <optional>
#include <random>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "repeated_sum.hpp"

namespace {

Vector random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  Vector numbers(count);
  std::generate(numbers.begin(), numbers.end(), [&] { return uniform(engine); });
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 10'000, device_number = 0;
  unsigned repeats = 10'000;
  cookbook::Options options("Time the same sums on the processor and on a device");
  options.add("count", count, "elements of each vector", 1, 10'000'000);
  options.add("repeats", repeats, "how often each sum is computed", 1, 1'000'000);
  options.add("device", device_number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);
  const std::optional<cl::Device> device = opencl::chosen_device(device_number);
  if (!device) return opencl::without_device();

  const Vector a = random_numbers(count, 1), b = random_numbers(count, 2);
  Vector expected(count), by_one(count), by_threads(count), once(count), on_device(count);
  for (std::size_t i = 0; i < count; ++i) expected[i] = a[i] + b[i];
  DeviceSum sum(*device, opencl::read_kernels(opencl::beside(__FILE__, "repeated_sum.cl")), a, b);
  cookbook::println("{} floats, {} bytes per vector, {} additions", count, sum.bytes(), count * repeats);

  const cookbook::Stopwatch one;
  repeated_sum(a.data(), b.data(), by_one.data(), 0, count, repeats);
  const double one_seconds = one.seconds();
  cookbook::println("One thread: {:.3f} ms", 1e3 * one_seconds);

  const cookbook::Stopwatch threads;
  repeated_sum_by_threads(a, b, by_threads, repeats, cookbook::allowed_processors());
  const double threads_seconds = threads.seconds();
  cookbook::println("All hardware threads: {:.3f} ms", 1e3 * threads_seconds);

  cookbook::println("{}", opencl::name_of(*device));
  bool all_right = true, is_part = true;
  double device_seconds = 0;
  for (const std::size_t group : {0, 64}) {
    sum.run(1, once, group);  // not timed: the first launch may take longer
    sum.poison();
    const cookbook::Stopwatch total;
    const cl::Event event = sum.run(repeats, on_device, group);
    device_seconds = total.seconds();
    const double kernel_seconds = opencl::seconds_of(event);
    cookbook::println("{}", group == 0 ? "Groups chosen by the driver" : "Groups of 64 work-items");
    cookbook::println("Device Kernel Time: {:.3f} ms", 1e3 * kernel_seconds);
    cookbook::println("Device Time: {:.3f} ms", 1e3 * device_seconds);
    all_right = all_right && once == expected && on_device == expected;
    is_part = is_part && 0 < kernel_seconds && kernel_seconds <= device_seconds;
  }
  cookbook::println("One thread / Device Time: {:.2f} x", speed_up(one_seconds, device_seconds));
  cookbook::println("All hardware threads / Device Time: {:.2f} x", speed_up(threads_seconds, device_seconds));

  cookbook::Checks checks;
  checks.that("sums of one thread and of all threads are a + b", by_one == expected && by_threads == expected);
  checks.that("sums of the device are a + b", all_right);
  checks.that("the kernel's time is a part of the device's time", is_part);
  return checks.exit_code();
}
