/// The kernels that multiply a batch of pairs, and numbers to multiply.
#pragma once

#include "batch.hpp"
#include "cookbook/cuda.hpp"

/// One thread per pair runs the function that the host runs in a loop. The batches are of either kind.
template <typename Lefts, typename Rights, typename Results>
__global__ void multiply_pairs(Lefts a, Rights b, Results c) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < c.count) multiply(a[i], b[i], c[i]);
}

/// One thread per element of the result: neighbouring threads write neighbouring elements, and read the same row of the
/// left matrix and neighbouring elements of the right one.
template <typename T>
__global__ void multiply_elements(Batch<const T> a, Batch<const T> b, Batch<T> c) {
  const std::size_t element = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t columns = c.base.columns, i = element / (c.base.rows * columns);
  if (i >= c.count) return;
  const std::size_t row = element / columns % c.base.rows, column = element % columns;
  const Matrix<const T> left = a[i], right = b[i];
  T sum = 0;
  for (std::size_t k = 0; k < left.columns; ++k) sum += left(row, k) * right(k, column);
  c[i](row, column) = sum;
}

/// Random integers from 0 to 9, the same ones for the same seed.
inline Numbers random_numbers(const Shape& shape, unsigned seed) {
  Numbers numbers{shape, std::vector<long long>(elements(shape))};
  unsigned index = 0;  // random_number() is from -1 to 1
  for (long long& value : numbers.values) value = static_cast<long long>((gpu::random_number(seed, index++) + 1.0) * 5);
  return numbers;
}
