// Double a matrix on a GPU
//
// One block of threads in the shape of a matrix doubles it, one thread per element. In memory a matrix is a list of
// numbers, row after row, so each thread works out from its row and its column where its element is. An object
// allocates the device's memory and copies the matrix there; its destructor frees the memory.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_double_matrix/cuda_double_matrix.cu common/cookbook/*.cpp -lfmt -o cuda_double_matrix
// Run:     cuda_double_matrix [--rows N] [--columns N]

#include <algorithm>
#include <string_view>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

using Matrix = std::vector<float>;  // row after row

/// Every thread doubles one element. In memory the rows follow one another, `columns` elements each.
__global__ void double_elements(float* matrix, int columns) {
  const int column = threadIdx.x, row = threadIdx.y;
  matrix[row * columns + column] *= 2;
}

Matrix doubled_on_device(const Matrix& matrix, int rows, int columns) {
  gpu::DeviceArray<float> device_matrix(matrix);  // allocates memory on the device, and copies the matrix there
  const dim3 block(columns, rows);                // x is the column, y is the row
  double_elements<<<1, block>>>(device_matrix.data(), columns);
  CUDA_CHECK(cudaGetLastError());
  return device_matrix.to_host();  // copies the result back; then the destructor frees the device's memory
}

/// How many elements of a side x side matrix are doubled if a block of as many threads is asked for.
long doubled_by_block(int side) {
  gpu::DeviceArray<float> device_matrix(Matrix(side * side, 1));
  double_elements<<<1, dim3(side, side)>>>(device_matrix.data(), side);
  const cudaError_t error = cudaGetLastError();  // cudaErrorInvalidValue or cudaErrorInvalidConfiguration
  cookbook::println("{} x {} threads: {}", side, side, error == cudaSuccess ? "started" : "refused");
  const Matrix result = device_matrix.to_host();
  return std::count(result.begin(), result.end(), 2.0F);
}

void print(std::string_view heading, const Matrix& matrix, int columns) {
  cookbook::println("{}", heading);
  for (auto row = matrix.begin(); row != matrix.end(); row += columns) {
    cookbook::println("{:4.0f}", fmt::join(row, row + columns, " "));
  }
}

}  // namespace

int main(int argc, char** argv) {
  int rows = 3, columns = 5;
  cookbook::Options options("Double every element of a matrix on a GPU");
  options.add("rows", rows, "rows of the matrix", 1, 32);
  options.add("columns", columns, "columns of the matrix", 1, 32);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  Matrix matrix(rows * columns), expected(rows * columns);
  for (int i = 0; i < rows * columns; ++i) {
    matrix[i] = static_cast<float>(i);  // so each element shows its own index
    expected[i] = 2 * matrix[i];
  }
  const Matrix doubled = doubled_on_device(matrix, rows, columns);
  print("matrix", matrix, columns);
  print("doubled on the device", doubled, columns);

  cookbook::Checks checks;
  checks.that("every element is exactly twice what it was", doubled == expected);
  checks.equal("elements doubled by 32 x 32 threads", doubled_by_block(32), 1024);
  checks.equal("elements doubled by 33 x 33 threads", doubled_by_block(33), 0);
  return checks.exit_code();
}
