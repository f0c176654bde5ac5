// One job, two devices
//
// A job of independent elements is shared by two devices, such as a GPU and the processor. Each first computes a small
// part, alone and measured. Then the whole job is done in five ways: by the first device, by the second, by both with
// one half each, by both in proportion to the speeds of the trials, and to those of the whole job. The two times of a
// row show whether the first has to wait. A machine with one device divides it into two sub-devices, of which the
// second is made slow.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/08_heterogeneous chapters/08_heterogeneous/opencl_two_devices/opencl_two_devices.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o opencl_two_devices
// Run:     opencl_two_devices [--elements N] [--slower N] [--first N] [--second N]

#include <cmath>
#include <limits>
#include <string>

#include "cookbook/options.hpp"
#include "two_devices.hpp"
#include "worker.hpp"

namespace {

/// Element number `element` of the job on the host, with the roundings of the kernel.
float element_on_host(std::size_t element, std::size_t elements, int times) {
  const float r = 3.75F, step = 1 / static_cast<float>(elements);
  float x = (static_cast<float>(element) + 0.5F) * step;
  for (int i = 0; i < times; ++i) x = std::fma(-r * x, x, r * x);
  return x;
}

/// Seconds until the first device's part is there, and until both parts are.
struct Times {
  double first, both;
};

/// Does the job, the first `share` elements by one worker and the others by the other one.
Times run_both(Worker& first, Worker& second, std::size_t share, std::vector<float>& values) {
  const cookbook::Stopwatch watch;
  first.start(0, share);
  second.start(share, values.size() - share);  // while the first is at work
  first.fetch(values.data());
  const double first_done = watch.seconds();
  second.fetch(values.data() + share);
  return {first_done, watch.seconds()};
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t elements = 50'000, first_number = 0;
  int second_number = -1, slower = 3;
  constexpr int times = 500;
  cookbook::Options options("Share one job between two devices in proportion to their speed");
  options.add("elements", elements, "elements of the job", 2, 16'000'000);
  options.add("slower", slower, "where one device is divided: how often the second part does the work", 1, 100);
  options.add("first", first_number, "number of the first device, as opencl_devices has it", 0, 63);
  options.add("second", second_number, "number of the second device; -1 is the last; may be the first again", -1, 63);
  options.parse(argc, argv);
  const std::size_t devices = opencl::devices().size();
  if (devices == 0) return opencl::without_device();
  const cl::Device one = *opencl::chosen_device(first_number, "--first");
  const cl::Device other =
      *opencl::chosen_device(second_number < 0 ? devices - 1 : static_cast<std::size_t>(second_number), "--second");
  const auto [device_a, device_b] = two_devices(one, other);
  const bool divided = one() == other();

  Worker first(device_a, elements, times), second(device_b, elements, times, divided ? slower : 1);
  const std::size_t trial = std::min(elements, std::max<std::size_t>(1'024, elements / 20));
  const double speed_a = first.speed(trial), speed_b = second.speed(trial);
  const std::size_t share = share_of_first(elements, speed_a, speed_b);
  cookbook::println("first device:  {}, {:.2f} M elements/s", opencl::name_of(device_a), speed_a * 1e-6);
  cookbook::println("second device: {}, {:.2f} M elements/s", opencl::name_of(device_b), speed_b * 1e-6);

  cookbook::println("{:<22}{:>8} + {:<9}{:>12}{:>15}", "", "first", "second", "first done", "both done");

  int wrong = 0;
  const std::size_t distance = elements / 10'000 + 1;  // from one element that is compared to the next
  const auto show = [&](const char* way, std::size_t of_first) {
    std::vector<float> values(elements, std::numeric_limits<float>::quiet_NaN());  // so that a missing one is noticed
    Times shortest = run_both(first, second, of_first, values);
    for (int run = 1; run < 3; ++run) {
      const Times next = run_both(first, second, of_first, values);
      if (next.both < shortest.both) shortest = next;
    }
    const std::string first_done = of_first > 0 ? fmt::format("{:.2f} ms", shortest.first * 1e3) : "-";
    cookbook::println("{:<22}{:>8} + {:<9}{:>12}{:>12.2f} ms", way, of_first, elements - of_first, first_done,
                      shortest.both * 1e3);
    for (std::size_t i = 0; i < elements; i += distance) wrong += !(values[i] == element_on_host(i, elements, times));
    wrong += values.back() != element_on_host(elements - 1, elements, times);
    return shortest.both;
  };
  const double seconds_of_first = show("first device alone", elements),
               seconds_of_second = show("second device alone", 0);
  show("both, halves", elements / 2);
  show("both, by the trials", share);
  show("both, by rows 1 and 2", share_of_first(elements, 1 / seconds_of_first, 1 / seconds_of_second));

  cookbook::Checks checks;
  checks.equal("elements that differ from the host's", wrong, 0);
  return checks.exit_code();
}
