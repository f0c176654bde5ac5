/// The product of two matrices of integers, written for one pair, and applied to a batch of pairs.
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "layout.hpp"

/// A matrix in memory, row by row.
template <typename T>
struct Matrix {
  T* data;
  std::size_t rows, columns;
  __host__ __device__ T& operator()(std::size_t row, std::size_t column) const { return data[row * columns + column]; }
};

/// A matrix between whose elements those of others lie: `step` is the distance of one element from the next.
template <typename T>
struct InterleavedMatrix {
  T* data;
  std::size_t rows, columns, step;
  __host__ __device__ T& operator()(std::size_t row, std::size_t column) const {
    return data[(row * columns + column) * step];
  }
};

/// c = a b for one pair of matrices of either kind; whatever c held before does not matter. The defaults are for a call
/// with braces, such as {address, rows, columns}.
template <typename Left = Matrix<const long long>, typename Right = Matrix<const long long>,
          typename Result = Matrix<long long>>
__host__ __device__ void multiply(Left a, Right b, Result c) {
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < b.columns; ++j) {
      long long sum = 0;
      for (std::size_t k = 0; k < a.columns; ++k) sum += a(i, k) * b(k, j);
      c(i, j) = sum;
    }
  }
}

/// Matrices of one size. `stride` is the number of elements from the start of one to the start of the next; 0 means
/// that there is one matrix, which every index gives.
template <typename T>
struct Batch {
  Matrix<T> base;  ///< the first of them
  std::size_t count, stride;
  __host__ __device__ Matrix<T> operator[](std::size_t i) const {
    return {base.data + i * stride, base.rows, base.columns};
  }
};

/// The same, if element 0 of all matrices comes first, then element 1 of all, and so on.
template <typename T>
struct InterleavedBatch {
  Matrix<T> base;  ///< the place and the size of the first
  std::size_t count;
  __host__ __device__ InterleavedMatrix<T> operator[](std::size_t i) const {
    return {base.data + i, base.rows, base.columns, count};
  }
};

/// What lies at `data` in a shape of two sizes, one matrix, or of three: at most one loop dimension.
template <typename T>
Batch<T> batch(T* data, const Shape& shape) {
  const std::size_t rows = shape[shape.size() - 2], columns = shape[shape.size() - 1];
  return {{data, rows, columns}, shape.size() > 2 ? shape[0] : 1, shape.size() > 2 ? rows * columns : 0};
}

/// The batch of as many matrices of this size, interleaved, that begins at the same place.
template <typename T>
InterleavedBatch<T> interleaved(Batch<T> batch) {
  return {batch.base, batch.count};
}

/// The values of a table of `rows` rows, column by column. So the values of that many matrices, one after the other,
/// are interleaved.
inline std::vector<long long> transposed(const std::vector<long long>& values, std::size_t rows) {
  const std::size_t columns = values.size() / rows;
  std::vector<long long> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[i % columns * rows + i / columns] = values[i];
  return result;
}

/// Numbers on the host, with their shape.
struct Numbers {
  Shape shape;
  std::vector<long long> values;
};

inline std::size_t elements(const Shape& shape) {
  std::size_t count = 1;
  for (const std::size_t size : shape) count *= size;
  return count;
}

/// All products, one pair after the other. Throws std::invalid_argument if the shapes do not fit.
inline Numbers multiply_on_host(const Numbers& a, const Numbers& b) {
  const Shape shape = product_layout.result({a.shape, b.shape});
  Numbers products{shape, std::vector<long long>(elements(shape))};
  const auto from_a = batch(a.values.data(), a.shape), from_b = batch(b.values.data(), b.shape);
  const auto c = batch(products.values.data(), shape);
  for (std::size_t i = 0; i < c.count; ++i) multiply(from_a[i], from_b[i], c[i]);
  return products;
}
