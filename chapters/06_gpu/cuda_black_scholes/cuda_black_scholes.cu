// Options as structs or as columns
//
// Ten million options, one thread per option. The price of an option follows from three of its numbers. Here they lie
// in memory in four ways: as columns, three arrays of numbers; as an array of structs that hold these three numbers;
// and as arrays of larger structs, of two sizes, in which other fields come after them. For each way the program prints
// how large the arrays are, and how long the device takes: to load the numbers and to store as many results as there
// are prices, and the same with the formula in between. All results are compared with those of the processor.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_black_scholes/cuda_black_scholes.cu common/cookbook/*.cpp -lfmt -o cuda_black_scholes
// Run:     cuda_black_scholes [--options N]

#include <cmath>
#include <string_view>
#include <vector>

#include "black_scholes.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"
#include "layouts.cuh"

namespace {

constexpr int block_size = 256;

/// Makes an array of structs of the columns.
template <typename Struct>
__global__ void gather(const float* stock, const float* strike, const float* years, Struct* options, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  options[i].stock = stock[i];
  options[i].strike = strike[i];
  options[i].years = years[i];
}

/// Numbers from `lowest` to `highest`, the same in every run.
std::vector<float> random_column(unsigned seed, int count, float lowest, float highest) {
  std::vector<float> column = gpu::random_numbers(seed, count);
  for (float& number : column) number = lowest + (number + 1) / 2 * (highest - lowest);
  return column;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 10'000'000;
  cookbook::Options command_line("Price options by the formula of Black and Scholes, as structs and as columns");
  command_line.add("options", count, "options to price", 1, 50'000'000);
  command_line.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const std::vector<float> host_stock = random_column(1, count, 5, 30), host_strike = random_column(2, count, 1, 100);
  const std::vector<float> host_years = random_column(3, count, 0.25F, 10);
  std::vector<Prices<double>> expected(count);
  for (int i = 0; i < count; ++i) expected[i] = price<double>({host_stock[i], host_strike[i], host_years[i]});

  const gpu::DeviceArray<float> stock(host_stock), strike(host_strike), years(host_years);
  gpu::DeviceArray<float> calls(count), puts(count);
  const int blocks = (count + block_size - 1) / block_size;
  int wrong_sums = 0, wrong_prices = 0;

  /// The device's time in microseconds. Looks at all results, too.
  const auto time_of = [&](auto start, bool with_formula) {
    calls.poison();
    puts.poison();
    const double seconds = fastest([&] {
      start();
      CUDA_CHECK(cudaGetLastError());
    });
    const std::vector<float> call = calls.to_host(), put = puts.to_host();
    for (int i = 0; i < count; ++i) {  // the negation counts what is not a number, too
      if (with_formula) {
        wrong_prices += !(std::abs(call[i] - expected[i].call) <= 1e-4 && std::abs(put[i] - expected[i].put) <= 1e-4);
      } else {
        wrong_sums += !(call[i] == host_stock[i] + host_years[i] && put[i] == host_strike[i]);
      }
    }
    return seconds * 1e6;
  };
  const auto print = [&](std::string_view where, std::size_t bytes, double alone, double with_formula) {
    cookbook::println("{:<20}{:9.0f} MB{:7.0f} MB{:18.0f} us{:17.0f} us", where, bytes * 1e-6 * count,
                      sizeof(Prices<float>) * 1e-6 * count, alone, with_formula);
  };
  const auto run_columns = [&](auto kernel, bool with_formula) {
    return time_of(
        [&] {
          kernel<<<blocks, block_size>>>(stock.data(), strike.data(), years.data(), calls.data(), puts.data(), count);
        },
        with_formula);
  };
  const auto run_structs = [&]<typename Struct>(gpu::DeviceArray<Struct> options) {
    options.poison();
    gather<<<blocks, block_size>>>(stock.data(), strike.data(), years.data(), options.data(), count);
    CUDA_CHECK(cudaGetLastError());
    const auto run = [&](auto kernel, bool with_formula) {
      return time_of([&] { kernel<<<blocks, block_size>>>(options.data(), calls.data(), puts.data(), count); },
                     with_formula);
    };
    print(fmt::format("structs of {} bytes", sizeof(Struct)), sizeof(Struct), run(price_structs<false, Struct>, false),
          run(price_structs<true, Struct>, true));
  };

  cookbook::println("{} options, of each of which 12 bytes are needed", count);
  cookbook::println("{:<20}{:>12}{:>10}{:>21}{:>20}", "", "options", "prices", "loads and stores", "with the formula");
  print("columns", sizeof(Option<float>), run_columns(price_columns<false>, false),
        run_columns(price_columns<true>, true));
  run_structs(gpu::DeviceArray<Option<float>>(count));
  run_structs(gpu::DeviceArray<Record<5>>(count));
  run_structs(gpu::DeviceArray<Record<13>>(count));

  cookbook::Checks checks;
  checks.equal("results of the loads and stores alone that are wrong", wrong_sums, 0);
  checks.equal("prices that are not within 0.0001 of the processor's", wrong_prices, 0);
  return checks.exit_code();
}
