// Processor and device, timed
//
// Adds two vectors of 10,000 floats 10,000 times: by one thread, by all threads, and on an OpenCL device. A run on the
// device is timed in four ways: until the launch has returned, by the device's own clock, until the sums are back, and
// with all that has to be done once. Beside each time stands how many times as fast as one thread the device seems to
// be. Each time is the shortest of three. All sums must be the same to the last bit.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/08_heterogeneous chapters/08_heterogeneous/opencl_benchmark/opencl_benchmark.cpp common/cookbook/*.cpp -lfmt -lOpenCL -pthread -o opencl_benchmark
// Run:     opencl_benchmark [--count N] [--repeats N] [--device N]

#include <algorithm>
#include <optional>
#include <random>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "repeated_sum.hpp"
#include "shortest_time.hpp"

namespace {

const cl::NDRange group(64);  // work-items per group

/// Three of the four times of one run, in seconds.
struct Times {
  double launch_returned, in_kernel, sums_back;
};

Times time_on_device(DeviceSum& sum, unsigned repeats, Vector& c) {
  const cookbook::Stopwatch from_launch;
  const cl::Event event = sum.launch(repeats, group);
  const double launch_returned = from_launch.seconds();
  sum.read(c);  // waits for the kernel
  const double sums_back = from_launch.seconds();
  return {launch_returned, opencl::seconds_of(event), sums_back};
}

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

  const double by_one_thread =
      shortest_on_host(3, [&] { repeated_sum(a.data(), b.data(), by_one.data(), 0, count, repeats); });
  const double by_all_threads =
      shortest_on_host(3, [&] { repeated_sum_by_threads(a, b, by_threads, repeats, cookbook::allowed_processors()); });

  const cookbook::Stopwatch from_the_beginning;
  const cl::Context context = CL_CHECK(cl::Context(*device));
  const double context_made = from_the_beginning.seconds();
  const cl::Program program = opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "repeated_sum.cl")));
  const double compiled = from_the_beginning.seconds();
  DeviceSum sum(context, program, a, b);
  sum.run(1, once, group);  // the first launch may take longer
  const double set_up = from_the_beginning.seconds();

  int right = once == expected;
  Times shortest = {1e9, 1e9, 1e9};
  for (int i = 0; i < 3; ++i) {
    sum.poison();
    const Times times = time_on_device(sum, repeats, on_device);
    shortest = {std::min(shortest.launch_returned, times.launch_returned),
                std::min(shortest.in_kernel, times.in_kernel), std::min(shortest.sums_back, times.sums_back)};
    right += on_device == expected;
  }

  const auto print = [&](const char* what, double seconds) {
    cookbook::println("{:<38}{:10.3f} ms{:11.2f} x", what, 1e3 * seconds, by_one_thread / seconds);
  };
  cookbook::println("{:<38}         time    speed-up", fmt::format("{} floats added {} times", count, repeats));
  print("one thread", by_one_thread);
  print("all threads", by_all_threads);
  cookbook::println("on {}", opencl::name_of(*device));
  print("until the launch has returned", shortest.launch_returned);
  print("kernel alone, by the device's clock", shortest.in_kernel);
  print("until the sums are back", shortest.sums_back);
  print("with context, compiling and copies", set_up + shortest.sums_back);
  cookbook::println("{:<38}{:10.3f} ms", "  of this, making the context", 1e3 * context_made);
  cookbook::println("{:<38}{:10.3f} ms", "  compiling the kernel", 1e3 * (compiled - context_made));
  cookbook::println("{:<38}{:10.3f} ms", "  copies to it and first launch", 1e3 * (set_up - compiled));

  cookbook::Checks checks;
  checks.that("sums of one thread and of all threads are a + b", by_one == expected && by_threads == expected);
  checks.equal("runs of the device with a + b everywhere", right, 4);
  checks.that("the kernel's time is part of that until the sums are back",
              0 < shortest.in_kernel && shortest.in_kernel <= shortest.sums_back);
  return checks.exit_code();
}
