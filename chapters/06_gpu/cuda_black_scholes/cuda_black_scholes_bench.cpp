// Black-Scholes on the processor, for the bench
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Xcompiler=-march=native -Icommon chapters/06_gpu/cuda_black_scholes/cuda_black_scholes_bench.cu chapters/06_gpu/cuda_black_scholes/cuda_black_scholes_bench.cpp common/cookbook/*.cpp -ltbb -lfmt -o cuda_black_scholes_bench
// Run:     cuda_black_scholes_bench

#include "cuda_black_scholes_bench.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

void price_by_tbb(const Columns<double>& options, double* calls, double* puts, int threads) {
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, options.count, 4096), [&](const auto& range) {
      for (std::size_t i = range.begin(); i < range.end(); ++i) {
        const Prices<double> prices = price<double>({options.stock[i], options.strike[i], options.years[i]});
        calls[i] = prices.call;
        puts[i] = prices.put;
      }
    });
  });
}
