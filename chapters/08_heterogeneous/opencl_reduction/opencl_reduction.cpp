// Reduction in OpenCL
//
// An operation on two values, such as a + b, becomes one that combines any number of them. The work-items of a group
// combine their values as a tree in local memory, with a barrier after each level. Groups cannot wait for one another,
// so each leaves one value, and a second run of the kernel, which begins when the first has ended, combines these.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/08_heterogeneous/opencl_reduction/opencl_reduction.cpp common/cookbook/*.cpp -lOpenCL -lfmt -o opencl_reduction
// Run:     opencl_reduction [--count N] [--items N] [--device N]

#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "cookbook/options.hpp"
#include "reduction.hpp"

namespace {

/// 1, 2, 3 ... count
std::vector<cl_long> first_integers(std::size_t count) {
  std::vector<cl_long> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

/// At least -1 and below 1; the same ones on every run.
std::vector<float> random_floats(std::size_t count) {
  std::mt19937 random(4);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(random() >> 8) * 0x1p-23F - 1;
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 100'000, items = 256, number = 0;
  cookbook::Options options("Combine many values into one on an OpenCL device");
  options.add("count", count, "values to combine", 1, 100'000'000);
  options.add("items", items, "work-items per group", 1, 1'024);
  options.add("device", number, "number of the device, as opencl_devices has it", 0, 63);
  options.parse(argc, argv);

  constexpr std::size_t groups = 64;
  const std::vector<cl_long> numbers = first_integers(count), twenty = first_integers(20);
  const std::vector<float> floats = random_floats(count);
  const auto total = static_cast<cl_long>(count * (count + 1) / 2);
  cookbook::Checks checks;
  checks.equal("host: sum of the integers", std::accumulate(numbers.begin(), numbers.end(), cl_long{0}), total);
  const auto device = opencl::chosen_device(number);
  if (!device) return opencl::without_device(checks);
  cookbook::println("on {}", opencl::name_of(*device));

  checks.equal("sum of the integers", Reduction<cl_long>(*device, "long", "a + b", "0")(numbers, groups, items), total);
  checks.equal("the largest of them",
               Reduction<cl_long>(*device, "long", "max(a, b)", "LONG_MIN")(numbers, groups, items),
               static_cast<cl_long>(count));
  checks.equal("product of 1 to 20", Reduction<cl_long>(*device, "long", "a * b", "1")(twenty, groups, items),
               2'432'902'008'176'640'000);

  // Floats are rounded at each addition, so another order of the additions would give other bits. Here it never
  // changes.
  Reduction<float> sum_of_floats(*device, "float", "a + b", "0");
  std::set<float> sums;
  for (int run = 0; run < 20; ++run) sums.insert(sum_of_floats(floats, groups, items));
  const double exact = std::accumulate(floats.begin(), floats.end(), 0.0);
  checks.equal("different sums of random floats in 20 runs", sums.size(), 1U);
  checks.that("their sum is within count * 1e-7 of the exact one",
              std::abs(*sums.begin() - exact) <= 1e-7 * static_cast<double>(count));
  return checks.exit_code();
}
