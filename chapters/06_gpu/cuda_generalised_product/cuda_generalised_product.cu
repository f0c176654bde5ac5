// Many small products in one launch
//
// The product of two matrices is written once, for one pair. Its layout (m,n),(n,p)->(m,p) names the sizes of the
// inputs and of the result. From it follow the shape of the result, and which inputs do not fit. An input with one size
// more is a batch: the host multiplies its pairs one after the other, the device has one thread per pair. One matrix
// beside a batch takes part in every product.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_generalised_product/cuda_generalised_product.cu common/cookbook/*.cpp -lfmt -o cuda_generalised_product
// Run:     cuda_generalised_product [--pairs N] [--rows N]

#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "pairs.cuh"

namespace {

Numbers multiply_on_device(const Numbers& a, const Numbers& b) {
  const Shape shape = product_layout.result({a.shape, b.shape});
  const gpu::DeviceArray<long long> device_a(a.values), device_b(b.values);
  gpu::DeviceArray<long long> products(elements(shape));
  products.poison();
  const auto c = batch(products.data(), shape);
  const unsigned threads = 128, blocks = static_cast<unsigned>((c.count + threads - 1) / threads);
  multiply_pairs<<<blocks, threads>>>(batch(device_a.data(), a.shape), batch(device_b.data(), b.shape), c);
  CUDA_CHECK(cudaGetLastError());
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
  std::size_t pairs = 1000, rows = 4;
  cookbook::Options options("Multiply many small matrices in one launch");
  options.add("pairs", pairs, "pairs of matrices", 1, 1'000'000);
  options.add("rows", rows, "rows of the left matrices; they have 10 columns", 1, 100);
  options.parse(argc, argv);

  const Numbers a = random_numbers({pairs, rows, 10}, 1), b = random_numbers({pairs, 10, 10}, 2);
  const Numbers one_b = random_numbers({10, 10}, 3);
  Numbers identity{{10, 10}, std::vector<long long>(100)};
  for (std::size_t i = 0; i < 10; ++i) identity.values[10 * i + i] = 1;
  const std::string expected = fmt::format("({},{},10)", pairs, rows);

  cookbook::Checks checks;
  checks.equal(expected + " and a batch of (10,10) give", outcome(a.shape, b.shape), expected);
  checks.equal(expected + " and one matrix (10,10) give", outcome(a.shape, one_b.shape), expected);
  checks.equal(expected + " and one matrix (9,10) do not fit", outcome(a.shape, {9, 10}), "n is 10 and 9");
  checks.equal(expected + " and a larger batch do not fit", outcome(a.shape, {pairs + 1, 10, 10}),
               fmt::format("loop is {} and {}", pairs, pairs + 1));
  if (!gpu::device_found()) return gpu::without_device(checks);

  checks.that("the device's products are the host's", multiply_on_device(a, b).values == multiply_on_host(a, b).values);
  checks.that("with one matrix for all, too", multiply_on_device(a, one_b).values == multiply_on_host(a, one_b).values);
  checks.that("a product with the identity is the left matrix", multiply_on_device(a, identity).values == a.values);
  return checks.exit_code();
}
