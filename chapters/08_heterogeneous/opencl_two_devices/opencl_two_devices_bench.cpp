// One job, two devices, measured
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/08_heterogeneous/opencl_two_devices/opencl_two_devices_bench.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o opencl_two_devices_bench
// Run:     opencl_two_devices_bench [--elements N] [--times N] [--rounds N] [--first N] [--second N]

#include <limits>

#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "two_devices.hpp"
#include "worker.hpp"

int main(int argc, char** argv) {
  std::size_t elements = 400'000, first_number = 0;
  int second_number = -1, times = 1'000, rounds = 11;
  cookbook::Options options("Measure one job on two devices: each alone, both in halves, both in proportion");
  options.add("elements", elements, "elements of the job", 1'000, 100'000'000);
  options.add("times", times, "iterations per element", 1, 1'000'000);
  options.add("rounds", rounds, "measured runs of each way", 1, 1'000);
  options.add("first", first_number, "number of the first device, as opencl_devices has it", 0, 63);
  options.add("second", second_number, "number of the second device; -1 is the last; may be the first again", -1, 63);
  options.parse(argc, argv);
  const std::size_t devices = opencl::devices().size();
  if (devices == 0) return opencl::without_device();
  const auto [device_a, device_b] = two_devices(
      *opencl::chosen_device(first_number, "--first"),
      *opencl::chosen_device(second_number < 0 ? devices - 1 : static_cast<std::size_t>(second_number), "--second"));

  Worker first(device_a, elements, times), second(device_b, elements, times);
  std::vector<float> values(elements);
  const auto run = [&](std::size_t share) {  // the first gets so many elements, the second all others
    if (share > 0) first.start(0, share);
    if (share < elements) second.start(share, elements - share);
    if (share > 0) first.fetch(values.data());
    if (share < elements) second.fetch(values.data() + share);
  };
  const std::size_t trial = elements / 10;
  const double speed_a = first.speed(trial), speed_b = second.speed(trial);
  const std::size_t share = share_of_first(elements, speed_a, speed_b);

  cookbook::Checks checks;
  run(elements);
  const std::vector<float> expected = values;
  for (const std::size_t part : {std::size_t{0}, elements / 2, share}) {
    std::fill(values.begin(), values.end(), std::numeric_limits<float>::quiet_NaN());
    run(part);
    checks.that(fmt::format("the same values with {:.0f} % for the first device",
                            100.0 * static_cast<double>(part) / static_cast<double>(elements)),
                values == expected);
  }

  const auto amount = static_cast<double>(elements);
  cookbook::Figures figures(
      fmt::format("{} elements, {} iterations each", elements, times), cookbook::rate("M elements/s", 1e6),
      fmt::format("{}; {}; {}", opencl::name_of(device_a), opencl::name_of(device_b), cookbook::machine()));
  figures.measure({{"first device alone", amount, [&] { run(elements); }},
                   {"second device alone", amount, [&] { run(0); }},
                   {"both, halves", amount, [&] { run(elements / 2); }},
                   {"both, in proportion", amount, [&] { run(share); }}},
                  rounds);
  figures.speedup_over("first device alone", "first");
  figures.print(checks);
  return checks.exit_code();
}
