// Many small products: what should one thread do?
//
// The program multiplies a hundred thousand pairs of small matrices: by a loop on the processor, by a launch for each
// pair, by one launch with a thread per pair, by the same with the matrices interleaved in memory, and by one launch
// with a thread per element of the results. It prints how many threads each has, how many multiplications a thread does
// one after another, and how many products per second come out. The matrices are in the device's memory before.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_generalised_product/cuda_generalised_product.cu common/cookbook/*.cpp -lfmt -o cuda_generalised_product
// Run:     cuda_generalised_product [--pairs N] [--rows N]

#include <algorithm>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"
#include "pairs.cuh"

namespace {

using InputBatch = Batch<const long long>;
using ResultBatch = Batch<long long>;
constexpr std::size_t block_size = 128;

unsigned blocks_for(std::size_t threads) { return static_cast<unsigned>((threads + block_size - 1) / block_size); }

template <typename Inputs, typename Results>
void thread_per_pair(Inputs a, Inputs b, Results c) {
  multiply_pairs<<<blocks_for(c.count), block_size>>>(a, b, c);
  CUDA_CHECK(cudaGetLastError());
}

void thread_per_element(InputBatch a, InputBatch b, ResultBatch c) {
  multiply_elements<<<blocks_for(c.count * c.base.rows * c.base.columns), block_size>>>(a, b, c);
  CUDA_CHECK(cudaGetLastError());
}

/// A launch for each pair, with a thread per element.
void launch_per_pair(InputBatch a, InputBatch b, ResultBatch c) {
  for (std::size_t i = 0; i < c.count; ++i) {
    thread_per_element({a[i], 1, 0}, {b[i], 1, 0}, {c[i], 1, 0});
  }
}

/// A row of the table: a launch has so many threads, and each of them multiplies and adds so often.
void print(const char* what, std::size_t threads, std::size_t steps, std::size_t products, double seconds) {
  cookbook::println("{:<40}{:>9}{:>15}{:12.2f} M products/s", what, threads, steps,
                    static_cast<double>(products) / seconds * 1e-6);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t pairs = 100'000, rows = 4;
  cookbook::Options options("Multiply many small matrices in one launch");
  options.add("pairs", pairs, "pairs of matrices", 1, 1'000'000);
  options.add("rows", rows, "rows of the left matrices; they have 10 columns", 1, 100);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const Numbers a = random_numbers({pairs, rows, 10}, 1), b = random_numbers({pairs, 10, 10}, 2);
  const Shape shape = product_layout.result({a.shape, b.shape});
  const std::size_t of_product = rows * 10, steps_of_element = 10;  // elements of a product; steps for each of them
  cookbook::println("{:<40}{:>9}{:>15}{:>12}", fmt::format("{} products, {} x 10 and 10 x 10", pairs, rows), "threads",
                    "steps of each", "speed");

  Numbers expected;
  double seconds = 1e9;
  for (int run = 0; run < runs_to_make(3); ++run) {
    const cookbook::Stopwatch watch;
    expected = multiply_on_host(a, b);
    seconds = std::min(seconds, watch.seconds());
  }
  print("the processor, a loop", 1, pairs * of_product * steps_of_element, pairs, seconds);

  const gpu::DeviceArray<long long> device_a(a.values), device_b(b.values);
  gpu::DeviceArray<long long> products(elements(shape));
  const InputBatch in_a = batch(device_a.data(), a.shape), in_b = batch(device_b.data(), b.shape);
  const ResultBatch out = batch(products.data(), shape);
  int right = 0;
  const auto show = [&](const char* what, std::size_t threads, std::size_t steps, auto way, int runs = 5) {
    products.poison();
    print(what, threads, steps, pairs, fastest([&] { way(in_a, in_b, out); }, runs));
    right += products.to_host() == expected.values;
  };
  show("the GPU, a launch per pair", of_product, steps_of_element, launch_per_pair, 1);
  show("the GPU, a thread per pair", pairs, of_product * steps_of_element, thread_per_pair<InputBatch, ResultBatch>);
  {
    const gpu::DeviceArray<long long> other_a(transposed(a.values, pairs)), other_b(transposed(b.values, pairs));
    const auto woven_a = interleaved(batch(other_a.data(), a.shape));
    const auto woven_b = interleaved(batch(other_b.data(), b.shape));
    products.poison();
    seconds = fastest([&] { thread_per_pair(woven_a, woven_b, interleaved(out)); }, 5);
    print("the same, the matrices interleaved", pairs, of_product * steps_of_element, pairs, seconds);
    right += transposed(products.to_host(), of_product) == expected.values;
  }
  show("the GPU, a thread per element", pairs * of_product, steps_of_element, thread_per_element);

  const Numbers one_b = random_numbers({10, 10}, 3);  // one matrix for all pairs
  const gpu::DeviceArray<long long> device_one_b(one_b.values);
  const std::vector<long long> expected_by_one = multiply_on_host(a, one_b).values;
  for (const auto way : {thread_per_pair<InputBatch, ResultBatch>, thread_per_element}) {
    products.poison();
    way(in_a, batch(device_one_b.data(), one_b.shape), out);
    right += products.to_host() == expected_by_one;
  }

  cookbook::Checks checks;
  checks.equal("batches with the right products", right, 6);
  return checks.exit_code();
}
