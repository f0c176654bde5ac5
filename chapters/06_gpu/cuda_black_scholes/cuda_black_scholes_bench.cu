// Black-Scholes on a GPU, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Xcompiler=-march=native -Icommon chapters/06_gpu/cuda_black_scholes/cuda_black_scholes_bench.cu chapters/06_gpu/cuda_black_scholes/cuda_black_scholes_bench.cpp common/cookbook/*.cpp -ltbb -lfmt -o cuda_black_scholes_bench
// Run:     cuda_black_scholes_bench [--options N] [--rounds N]

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cuda_black_scholes_bench.hpp"
#include "layouts.cuh"

namespace {

constexpr int block_size = 256;

/// Columns of any type, one option per thread, with the function of the recipe.
template <typename Real>
__global__ void one_each(Columns<Real> options, Real* calls, Real* puts) {
  const std::size_t i = std::size_t{blockIdx.x} * block_size + threadIdx.x;
  if (i >= options.count) return;
  const Prices<Real> prices = price<Real>({options.stock[i], options.strike[i], options.years[i]});
  calls[i] = prices.call;
  puts[i] = prices.put;
}

/// normal_distribution() with the device's fast functions.
__device__ float fast_normal_distribution(float d) {
  const float k = __fdividef(1, 1 + 0.2316419F * fabsf(d));
  const float polynomial =
      k * (0.31938153F + k * (-0.356563782F + k * (1.781477937F + k * (-1.821255978F + k * 1.330274429F))));
  const float tail = 0.39894228F * __expf(-0.5F * d * d) * polynomial;
  return d > 0 ? 1 - tail : tail;
}

/// price() with the device's fast functions.
__device__ void fast_price(float stock, float strike, float years, float& call, float& put) {
  constexpr float r = interest, v = volatility;
  const float inverse_root = rsqrtf(years), root = years * inverse_root;
  const float d1 = (__logf(__fdividef(stock, strike)) + (r + v * v / 2) * years) * (inverse_root * (1 / v));
  const float d2 = d1 - v * root, strike_today = strike * __expf(-r * years);
  const float n1 = fast_normal_distribution(d1), n2 = fast_normal_distribution(d2);
  call = stock * n1 - strike_today * n2;
  put = strike_today * (1 - n2) - stock * (1 - n1);
}

/// Four options per thread, in loads and stores of 16 bytes past the multiprocessor's cache, with the fast functions.
__global__ void four_each(Columns<float> options, float* calls, float* puts) {
  const std::size_t i = std::size_t{blockIdx.x} * block_size + threadIdx.x;
  if (i >= options.count / 4) return;
  const float4 stock = __ldcg(reinterpret_cast<const float4*>(options.stock) + i);
  const float4 strike = __ldcg(reinterpret_cast<const float4*>(options.strike) + i);
  const float4 years = __ldcg(reinterpret_cast<const float4*>(options.years) + i);
  float4 call, put;
  fast_price(stock.x, strike.x, years.x, call.x, put.x);
  fast_price(stock.y, strike.y, years.y, call.y, put.y);
  fast_price(stock.z, strike.z, years.z, call.z, put.z);
  fast_price(stock.w, strike.w, years.w, call.w, put.w);
  __stcs(reinterpret_cast<float4*>(calls) + i, call);
  __stcs(reinterpret_cast<float4*>(puts) + i, put);
}

/// The limit: the same loads and stores, and next to nothing in between.
__global__ void only_move(Columns<float> options, float* calls, float* puts) {
  const std::size_t i = std::size_t{blockIdx.x} * block_size + threadIdx.x;
  if (i >= options.count / 4) return;
  const float4 stock = __ldcg(reinterpret_cast<const float4*>(options.stock) + i);
  const float4 strike = __ldcg(reinterpret_cast<const float4*>(options.strike) + i);
  const float4 years = __ldcg(reinterpret_cast<const float4*>(options.years) + i);
  __stcs(reinterpret_cast<float4*>(calls) + i,
         make_float4(stock.x + years.x, stock.y + years.y, stock.z + years.z, stock.w + years.w));
  __stcs(reinterpret_cast<float4*>(puts) + i, strike);
}

/// Makes an array of structs of the columns.
template <typename Struct>
__global__ void gather(Columns<float> columns, Struct* options) {
  const std::size_t i = std::size_t{blockIdx.x} * block_size + threadIdx.x;
  if (i >= columns.count) return;
  options[i].stock = columns.stock[i];
  options[i].strike = columns.strike[i];
  options[i].years = columns.years[i];
}

/// Random numbers from `lowest` to `highest`.
template <typename Real>
__global__ void fill(Real* numbers, std::size_t count, unsigned seed, float lowest, float highest) {
  const std::size_t i = std::size_t{blockIdx.x} * block_size + threadIdx.x;
  if (i >= count) return;
  const float u = (gpu::random_number(seed, static_cast<unsigned>(i)) + 1) / 2;
  numbers[i] = static_cast<Real>(fmaf(u, highest - lowest, lowest));
}

/// Options and room for their prices, on the device.
template <typename Real>
struct Data {
  explicit Data(std::size_t count) : stock(count), strike(count), years(count), calls(count), puts(count) {
    fill_with(stock, 1, 5, 30);
    fill_with(strike, 2, 1, 100);
    fill_with(years, 3, 0.25F, 10);
  }
  Columns<Real> options() { return {stock.data(), strike.data(), years.data(), stock.size()}; }
  unsigned blocks(int each = 1) const {
    return static_cast<unsigned>((stock.size() / each + block_size - 1) / block_size);
  }

  gpu::DeviceArray<Real> stock, strike, years, calls, puts;

 private:
  void fill_with(gpu::DeviceArray<Real>& numbers, unsigned seed, float lowest, float highest) {
    fill<<<blocks(), block_size>>>(numbers.data(), numbers.size(), seed, lowest, highest);
    CUDA_CHECK(cudaGetLastError());
  }
};

template <typename Left, typename Right>
double largest_difference(const std::vector<Left>& left, const std::vector<Right>& right) {
  double largest = 0;
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    const double difference = std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i]));
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1 << 26;
  int rounds = 21;
  cookbook::Options options("Measure the pricing of options");
  options.add("options", count, "options, rounded up to a multiple of 4", 4, 1 << 28);
  options.add("rounds", rounds, "measurements of each row", 1, 1001);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  count = (count + 3) / 4 * 4;
  const std::size_t host_count = std::min<std::size_t>(count, 4'000'000);
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));

  Data<float> floats(count);
  Data<double> doubles(host_count);
  const auto in_double = [&] {
    one_each<<<doubles.blocks(), block_size>>>(doubles.options(), doubles.calls.data(), doubles.puts.data());
    CUDA_CHECK(cudaGetLastError());
  };
  const auto in_float = [&] {
    price_columns<true><<<floats.blocks(), block_size>>>(floats.stock.data(), floats.strike.data(), floats.years.data(),
                                                         floats.calls.data(), floats.puts.data(),
                                                         static_cast<int>(count));
    CUDA_CHECK(cudaGetLastError());
  };
  const auto by_fours = [&] {
    four_each<<<floats.blocks(4), block_size>>>(floats.options(), floats.calls.data(), floats.puts.data());
    CUDA_CHECK(cudaGetLastError());
  };
  const auto move = [&] {
    only_move<<<floats.blocks(4), block_size>>>(floats.options(), floats.calls.data(), floats.puts.data());
    CUDA_CHECK(cudaGetLastError());
  };
  const auto as_structs = [&]<typename Struct>(const gpu::DeviceArray<Struct>& options) {
    return [&] {
      price_structs<true><<<floats.blocks(), block_size>>>(options.data(), floats.calls.data(), floats.puts.data(),
                                                           static_cast<int>(count));
      CUDA_CHECK(cudaGetLastError());
    };
  };
  gpu::DeviceArray<Option<float>> of_12(count);
  gpu::DeviceArray<Record<5>> of_32(count);
  gpu::DeviceArray<Record<13>> of_64(count);
  const auto fill_structs = [&](auto& options) {
    options.poison();
    gather<<<floats.blocks(), block_size>>>(floats.options(), options.data());
    CUDA_CHECK(cudaGetLastError());
  };
  fill_structs(of_12);
  fill_structs(of_32);
  fill_structs(of_64);

  // The same options are priced in double precision on the processor, the first four million of them.
  const std::vector<double> stock = doubles.stock.to_host(), strike = doubles.strike.to_host();
  const std::vector<double> years = doubles.years.to_host();
  std::vector<double> calls(host_count), puts(host_count);
  const Columns<double> on_host{stock.data(), strike.data(), years.data(), host_count};
  price_by_tbb(on_host, calls.data(), puts.data(), threads);

  cookbook::Checks checks;
  const auto check = [&](const std::string& what, auto& data, auto work, double tolerance) {
    data.calls.poison();
    data.puts.poison();
    work();
    checks.within(what + ", largest error of a call", largest_difference(data.calls.to_host(), calls), 0.0, tolerance);
    checks.within(what + ", largest error of a put", largest_difference(data.puts.to_host(), puts), 0.0, tolerance);
  };
  check("double", doubles, in_double, 1e-12);
  check("columns", floats, in_float, 2e-4);
  check("structs of 12 bytes", floats, as_structs(of_12), 2e-4);
  check("structs of 32 bytes", floats, as_structs(of_32), 2e-4);
  check("structs of 64 bytes", floats, as_structs(of_64), 2e-4);
  check("columns, four per thread, fast functions", floats, by_fours, 2e-4);
  floats.calls.poison();
  floats.puts.poison();
  move();
  std::vector<float> sums = floats.stock.to_host();
  const std::vector<float> added = floats.years.to_host();
  std::transform(sums.begin(), sums.end(), added.begin(), sums.begin(), std::plus<>());
  checks.that("the loads and stores alone have moved every column",
              floats.calls.to_host() == sums && floats.puts.to_host() == floats.strike.to_host());

  const double amount = static_cast<double>(count), host_amount = static_cast<double>(host_count);
  cookbook::Figures figures(fmt::format("{} options; in double precision {}", count, host_count),
                            cookbook::rate("G options/s", 1e9),
                            fmt::format("{}; {}", gpu::device(), cookbook::machine()));
  figures.measure(
      {gpu::timed_row("the loads and stores alone", amount, move),
       gpu::timed_row("columns, four per thread, fast functions", amount, by_fours),
       gpu::timed_row("columns", amount, in_float),
       gpu::timed_row("structs of 12 bytes", amount, as_structs(of_12)),
       gpu::timed_row("structs of 32 bytes", amount, as_structs(of_32)),
       gpu::timed_row("structs of 64 bytes", amount, as_structs(of_64)),
       gpu::timed_row("columns, double", host_amount, in_double),
       {"oneTBB, double, all cores", host_amount, [&] { price_by_tbb(on_host, calls.data(), puts.data(), threads); }},
       {"oneTBB, double, one core", host_amount, [&] { price_by_tbb(on_host, calls.data(), puts.data(), 1); }}},
      rounds);
  figures.percent_of("the loads and stores alone", "limit");
  figures.speedup_over("oneTBB, double, all cores", "oneTBB");
  figures.print(checks);
  return checks.exit_code();
}
