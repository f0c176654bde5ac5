// Black-Scholes on a GPU: structs or columns
//
// Prices ten million options, one thread per option. The formula needs three numbers of each option. Here they lie in
// memory in four ways: as columns, three arrays of numbers; as an array of structs that hold these three numbers; and
// as arrays of larger structs, of two sizes, in which other fields come after them. The kernels compute the same. The
// program prints how many options per second each of them prices, and compares every price with that of the processor.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_black_scholes/cuda_black_scholes.cu common/cookbook/*.cpp -lfmt -o cuda_black_scholes
// Run:     cuda_black_scholes [--options N] [--threads N]

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "black_scholes.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/measure.hpp"
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

/// The prices of all options in double precision, by the processor.
void price_on_host(const std::vector<float>& stock, const std::vector<float>& strike, const std::vector<float>& years,
                   int thread_count, std::vector<Prices<double>>& prices) {
  std::vector<std::jthread> threads;
  for (int id = 0; id < thread_count; ++id) {
    threads.emplace_back([&, first = stock.size() * id / thread_count, last = stock.size() * (id + 1) / thread_count] {
      for (std::size_t i = first; i < last; ++i) prices[i] = price<double>({stock[i], strike[i], years[i]});
    });
  }
}  // the threads' destructors wait

/// Numbers from `lowest` to `highest`, the same in every run.
std::vector<float> random_column(unsigned seed, int count, float lowest, float highest) {
  std::vector<float> column = gpu::random_numbers(seed, count);
  for (float& number : column) number = lowest + (number + 1) / 2 * (highest - lowest);
  return column;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 10'000'000, threads = std::max(1U, std::thread::hardware_concurrency());
  cookbook::Options command_line("Price options by the formula of Black and Scholes, as structs and as columns");
  command_line.add("options", count, "options to price", 1, 50'000'000);
  command_line.add("threads", threads, "threads of the processor", 1, 1024);
  command_line.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const std::vector<float> host_stock = random_column(1, count, 5, 30), host_strike = random_column(2, count, 1, 100);
  const std::vector<float> host_years = random_column(3, count, 0.25F, 10);
  const auto print = [&](const std::string& what, double seconds) {
    cookbook::println("{:<52}{:8.3f} G options/s", what, count / seconds * 1e-9);
  };
  std::vector<Prices<double>> expected(count);
  const cookbook::Stopwatch watch;
  price_on_host(host_stock, host_strike, host_years, threads, expected);
  print("the processor, all threads, in double precision", watch.seconds());

  const gpu::DeviceArray<float> stock(host_stock), strike(host_strike), years(host_years);
  gpu::DeviceArray<float> calls(count), puts(count);
  const int blocks = (count + block_size - 1) / block_size;
  int wrong = 0;
  double parity_error = 0;

  /// Measures the way, and looks at all of its prices.
  const auto run = [&](const std::string& what, auto start) {
    calls.poison();
    puts.poison();
    print(what, fastest([&] {
            start();
            CUDA_CHECK(cudaGetLastError());
          }));
    const std::vector<float> call = calls.to_host(), put = puts.to_host();
    for (int i = 0; i < count; ++i) {
      const bool near = std::abs(call[i] - expected[i].call) <= 1e-4 && std::abs(put[i] - expected[i].put) <= 1e-4;
      wrong += !near;  // also if a price is not a number
      // Who has a call and has sold a put gets the stock for the strike, whatever happens: that has one price only.
      const double strike_today = host_strike[i] * std::exp(-interest * host_years[i]);
      parity_error = larger(parity_error, std::abs(double(call[i]) - put[i] - (host_stock[i] - strike_today)));
    }
  };
  const auto run_structs = [&]<typename Struct>(gpu::DeviceArray<Struct> options) {
    const std::string used = sizeof(Struct) > 12 ? ", 12 of them used" : "";
    options.poison();
    gather<<<blocks, block_size>>>(stock.data(), strike.data(), years.data(), options.data(), count);
    CUDA_CHECK(cudaGetLastError());
    run(fmt::format("the GPU, structs of {} bytes{}", sizeof(Struct), used),
        [&] { price_structs<<<blocks, block_size>>>(options.data(), calls.data(), puts.data(), count); });
  };

  run("the GPU, columns", [&] {
    price_columns<<<blocks, block_size>>>(stock.data(), strike.data(), years.data(), calls.data(), puts.data(), count);
  });
  run_structs(gpu::DeviceArray<Option<float>>(count));
  run_structs(gpu::DeviceArray<Record<5>>(count));
  run_structs(gpu::DeviceArray<Record<13>>(count));

  cookbook::Checks checks;
  checks.equal("prices that are not within 0.0001 of the processor's", wrong, 0);
  checks.that("put-call parity holds within 0.0001", parity_error <= 1e-4);
  return checks.exit_code();
}
