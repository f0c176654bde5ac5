// Black-Scholes on a GPU
//
// Works out the prices of four million options, one thread per option. No option depends on another, and each takes a
// logarithm, a square root and three exponentials, so this work suits a GPU well. The threads of the processor do the
// same with the same function, and the two sets of prices are compared by error norms.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_black_scholes/cuda_black_scholes.cu common/cookbook/*.cpp -lfmt -o cuda_black_scholes
// Run:     cuda_black_scholes [--options N] [--threads N]

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "black_scholes.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

using OptionList = std::vector<Option<double>>;
using PriceList = std::vector<Prices<double>>;

constexpr int block_size = 1024;

__global__ void __launch_bounds__(block_size)  // so that the compiler leaves registers for so many threads
    price_all(const Option<double>* options, Prices<double>* prices, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) prices[i] = price(options[i]);
}

PriceList price_on_device(const OptionList& options) {
  const int count = static_cast<int>(options.size()), blocks = (count + block_size - 1) / block_size;
  const gpu::DeviceArray<Option<double>> device_options(options);
  gpu::DeviceArray<Prices<double>> device_prices(options.size());
  device_prices.poison();
  price_all<<<blocks, block_size>>>(device_options.data(), device_prices.data(), count);
  CUDA_CHECK(cudaGetLastError());
  cookbook::println("{} blocks of {} threads for {} options", blocks, block_size, count);
  return device_prices.to_host();
}

PriceList price_on_host(const OptionList& options, int thread_count) {
  PriceList prices(options.size());
  std::vector<std::jthread> threads;
  for (int id = 0; id < thread_count; ++id) {
    threads.emplace_back(
        [&, first = options.size() * id / thread_count, last = options.size() * (id + 1) / thread_count] {
          for (std::size_t i = first; i < last; ++i) prices[i] = price(options[i]);
        });
  }
  threads.clear();  // the destructors wait
  return prices;
}

/// The same options in every run: stocks of 5 to 30, strikes of 1 to 100, 0.25 to 10 years. The first has a known
/// price.
OptionList random_options(int count) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> stock(5, 30), strike(1, 100), years(0.25, 10);
  OptionList options(count);
  for (Option<double>& option : options) option = {stock(engine), strike(engine), years(engine)};
  options[0] = {20, 20, 1};
  return options;
}

/// How far prices are from a reference.
struct Errors {
  double l1 = 0;       ///< sum of all errors over sum of all reference prices, the L1 norm
  double largest = 0;  ///< of one price, in the currency

  Errors(const PriceList& prices, const PriceList& reference, double Prices<double>::*kind) {
    double sum = 0;
    for (std::size_t i = 0; i < prices.size(); ++i) {
      const double error = std::abs(prices[i].*kind - reference[i].*kind);
      l1 += error;
      sum += std::abs(reference[i].*kind);
      largest = larger(largest, error);
    }
    l1 /= sum;
  }
};

}  // namespace

int main(int argc, char** argv) {
  int count = 4'000'000, threads = std::max(1U, std::thread::hardware_concurrency());
  cookbook::Options command_line("Price options by the formula of Black and Scholes");
  command_line.add("options", count, "options to price", 1000, 50'000'000);
  command_line.add("threads", threads, "threads of the processor", 1, 1024);
  command_line.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const OptionList list = random_options(count);
  const PriceList expected = price_on_host(list, threads), prices = price_on_device(list);
  const Errors call(prices, expected, &Prices<double>::call), put(prices, expected, &Prices<double>::put);

  // Whoever has a call and has sold a put gets the stock for the strike, whatever happens: that has one price only.
  double parity_error = 0;
  bool in_range = true;
  for (int i = 0; i < count; ++i) {
    const double strike_today = list[i].strike * std::exp(-interest * list[i].years);
    const double error = std::abs(prices[i].call - prices[i].put - (list[i].stock - strike_today));
    parity_error = larger(parity_error, error);
    // Above, the polynomial's error is multiplied by prices of up to 100; below 0 there is only rounding.
    in_range &= prices[i].call >= -1e-12 && prices[i].call <= list[i].stock + 1e-5;
    in_range &= prices[i].put >= -1e-12 && prices[i].put <= strike_today + 1e-5;
  }

  cookbook::Checks checks;
  checks.that("calls, L1 norm of the errors at most 1e-14", call.l1 <= 1e-14);
  checks.that("puts, L1 norm of the errors at most 1e-14", put.l1 <= 1e-14);
  checks.that("largest error at most 1e-12", call.largest <= 1e-12 && put.largest <= 1e-12);
  checks.that("put-call parity within 1e-12", parity_error <= 1e-12);
  checks.that("every price is in its range", in_range);
  const double known = 2.564316278538284;  // by the exact normal distribution
  checks.that("the first option's call costs 2.564316, within 1e-5", std::abs(prices[0].call - known) <= 1e-5);
  return checks.exit_code();
}
