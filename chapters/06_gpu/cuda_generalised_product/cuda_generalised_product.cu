// Many small products: what should one thread do?
//
// The product of two matrices is written for one pair, and once more for one element of the result. Its layout
// (m,n),(n,p)->(m,p) names the sizes of the inputs and of the result. From it follow the shape of the result, and which
// inputs do not fit. An input with one size more is a batch; one matrix beside a batch takes part in every product. The
// program multiplies a batch by a loop on the processor, by a launch for each pair, by one launch with a thread per
// pair, and by one with a thread per element of the results, and prints how many products per second each makes.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_generalised_product/cuda_generalised_product.cu common/cookbook/*.cpp -lfmt -o cuda_generalised_product
// Run:     cuda_generalised_product [--pairs N] [--rows N]

#include <string>

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

void thread_per_pair(InputBatch a, InputBatch b, ResultBatch c) {
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

void print(const std::string& what, std::size_t products, double seconds) {
  cookbook::println("{:<38}{:9.2f} M products/s", what, static_cast<double>(products) / seconds * 1e-6);
}

/// Runs the way on the device, prints the speed of the fastest of `runs` if `what` is not empty, and returns the
/// products.
template <typename Way>
Numbers multiply_on_device(const std::string& what, Way way, const Numbers& a, const Numbers& b, int runs = 5) {
  const Shape shape = product_layout.result({a.shape, b.shape});
  const gpu::DeviceArray<long long> device_a(a.values), device_b(b.values);
  gpu::DeviceArray<long long> products(elements(shape));
  products.poison();
  const auto c = batch(products.data(), shape);
  const double seconds =
      fastest([&] { way(batch(device_a.data(), a.shape), batch(device_b.data(), b.shape), c); }, runs);
  if (!what.empty()) print(what, c.count, seconds);
  return {shape, products.to_host()};
}

/// The shape of the products, or why there are none.
std::string outcome(const Shape& a, const Shape& b) {
  try {
    return fmt::format("({})", fmt::join(product_layout.result({a, b}), ","));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t pairs = 100'000, rows = 4;
  cookbook::Options options("Multiply many small matrices in one launch");
  options.add("pairs", pairs, "pairs of matrices", 1, 1'000'000);
  options.add("rows", rows, "rows of the left matrices; they have 10 columns", 1, 100);
  options.parse(argc, argv);

  const Numbers a = random_numbers({pairs, rows, 10}, 1), b = random_numbers({pairs, 10, 10}, 2);
  const Numbers one_b = random_numbers({10, 10}, 3);
  for (const Shape& right : {b.shape, one_b.shape, Shape{9, 10}, Shape{pairs + 1, 10, 10}}) {
    cookbook::println("({}) and ({}): {}", fmt::join(a.shape, ","), fmt::join(right, ","), outcome(a.shape, right));
  }
  const cookbook::Stopwatch watch;
  const Numbers expected = multiply_on_host(a, b);
  print("the processor, a loop", pairs, watch.seconds());

  cookbook::Checks checks;
  checks.equal("shape of the products", expected.shape, Shape{pairs, rows, 10});
  if (!gpu::device_found()) return gpu::without_device(checks);

  int wrong = 0;
  wrong += multiply_on_device("the GPU, a launch per pair", launch_per_pair, a, b, 1).values != expected.values;
  wrong += multiply_on_device("the GPU, a thread per pair", thread_per_pair, a, b).values != expected.values;
  wrong += multiply_on_device("the GPU, a thread per element", thread_per_element, a, b).values != expected.values;
  const Numbers expected_by_one = multiply_on_host(a, one_b);  // one matrix for all pairs
  wrong += multiply_on_device("", thread_per_pair, a, one_b).values != expected_by_one.values;
  wrong += multiply_on_device("", thread_per_element, a, one_b).values != expected_by_one.values;
  checks.equal("batches with a wrong product", wrong, 0);
  return checks.exit_code();
}
