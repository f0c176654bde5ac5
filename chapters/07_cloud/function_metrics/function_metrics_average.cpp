// Pitfall: an average of quantiles
//
// Two machines run the same function. One has answered 10,000 calls, one in fifty of them in 64 ms and the others in
// 1 ms; the other has answered 50 calls in 512 ms each. Someone takes the latency that 99 % of the calls of each
// machine did not exceed, and the average of both. The number says nothing about any share of all the calls. Histograms
// can be added, quantiles cannot.
//
// Compile: g++ -std=c++20 -O2 chapters/07_cloud/function_metrics/function_metrics_average.cpp -o function_metrics_average
// Run:     function_metrics_average
// Symptom: exit 1, prints "99 % from both machines:     295 ms"

#include <chrono>
#include <cstdio>

#include "metrics.hpp"

int main() {
  using namespace std::chrono_literals;
  Histogram first, second;
  for (int call = 0; call < 10'000; ++call) first.add(call % 50 == 0 ? 64ms : 1ms);
  for (int call = 0; call < 50; ++call) second.add(512ms);

  const double both = (quantile(first, 0.99) + quantile(second, 0.99)) / 2;  // wrong

  Histogram all;  // what a single machine would have counted: only to check the result
  for (int call = 0; call < 10'050; ++call) all.add(call >= 10'000 ? 512ms : call % 50 == 0 ? 64ms : 1ms);
  const double right = quantile(all, 0.99);

  std::printf("99 %% from both machines:     %.0f ms\n", 1e3 * both);
  std::printf("99 %% of all calls:           %.0f ms\n", 1e3 * right);
  return both == right ? 0 : 1;
}
