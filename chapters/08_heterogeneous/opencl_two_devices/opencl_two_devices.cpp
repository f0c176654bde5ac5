// One job, two devices
//
// A job of independent elements is shared by two devices, such as a GPU and the processor. Each first computes a small
// part, alone and measured. Then each gets a share in proportion to its speed, so that both end at about the same time.
// A machine with one device divides it into two sub-devices, with half of its cores each.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_two_devices/opencl_two_devices.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o opencl_two_devices
// Run:     opencl_two_devices [--elements N] [--first N] [--second N]

#include <cmath>
#include <limits>

#include "cookbook/options.hpp"
#include "two_devices.hpp"
#include "worker.hpp"

namespace {

using Values = std::vector<float>;

/// The job on the host, with the roundings of the kernel.
Values job_on_host(std::size_t elements, int times) {
  const float r = 3.75F, step = 1 / static_cast<float>(elements);
  Values values(elements);
  for (std::size_t element = 0; element < elements; ++element) {
    float x = (static_cast<float>(element) + 0.5F) * step;
    for (int i = 0; i < times; ++i) x = std::fma(-r * x, x, r * x);
    values[element] = x;
  }
  return values;
}

int different(const Values& a, const Values& b) {
  int count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += !(a[i] == b[i]);
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t elements = 100'000, first_number = 0;
  int second_number = -1;
  constexpr int times = 500;
  cookbook::Options options("Share one job between two devices in proportion to their speed");
  options.add("elements", elements, "elements of the job", 2, 16'000'000);
  options.add("first", first_number, "number of the first device, as opencl_devices has it", 0, 63);
  options.add("second", second_number, "number of the second device; -1 is the last; may be the first again", -1, 63);
  options.parse(argc, argv);

  const Values expected = job_on_host(elements, times);
  cookbook::Checks checks;
  checks.that("host: all elements stay between 0 and 1",
              std::all_of(expected.begin(), expected.end(), [](float x) { return 0 < x && x < 1; }));
  const std::size_t devices = opencl::devices().size();
  if (devices == 0) return opencl::without_device(checks);
  const auto [device_a, device_b] =
      two_devices(*opencl::chosen_device(first_number),
                  *opencl::chosen_device(second_number < 0 ? devices - 1 : static_cast<std::size_t>(second_number)));

  Worker first(device_a, elements, times), second(device_b, elements, times);
  const std::size_t trial = std::min(elements, std::max<std::size_t>(1'024, elements / 20));
  const double speed_a = first.speed(trial), speed_b = second.speed(trial);
  const std::size_t share = share_of_first(elements, speed_a, speed_b);

  Values values(elements, std::numeric_limits<float>::quiet_NaN());  // so that an element that nobody writes is noticed
  first.start(0, share);
  second.start(share, elements - share);  // while the first is at work
  first.fetch(values.data());
  second.fetch(values.data() + share);

  const auto percent = [&](std::size_t part) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(elements);
  };
  cookbook::println("first device:  {}, {:.2f} M elements/s, gets {:.0f} %", opencl::name_of(device_a), speed_a * 1e-6,
                    percent(share));
  cookbook::println("second device: {}, {:.2f} M elements/s, gets {:.0f} %", opencl::name_of(device_b), speed_b * 1e-6,
                    percent(elements - share));
  checks.equal("elements that differ from the host's", different(values, expected), 0);
  return checks.exit_code();
}
