// Double a matrix on a GPU
//
// A matrix is called rows x columns, a block of threads x, y; and x is the column. One thread per element doubles the
// matrix: from its row and its column it works out where its element lies in memory, where row follows row. An object
// allocates the device's memory and copies the matrix there; its destructor frees the memory.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_double_matrix/cuda_double_matrix.cu common/cookbook/*.cpp -lfmt -o cuda_double_matrix
// Run:     cuda_double_matrix [--rows N] [--columns N]

#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

using Matrix = std::vector<float>;  // row after row

/// Every thread doubles one element. In memory the rows follow one another, `columns` elements each.
__global__ void double_elements(float* matrix, int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && column < columns) matrix[row * columns + column] *= 2;
}

Matrix doubled_on_device(const Matrix& matrix, int rows, int columns) {
  gpu::DeviceArray<float> device_matrix(matrix);             // allocates memory on the device, copies the matrix there
  const dim3 block(16, 16);                                  // 256 threads
  const dim3 blocks((columns + 15) / 16, (rows + 15) / 16);  // x is the column, y is the row
  double_elements<<<blocks, block>>>(device_matrix.data(), rows, columns);
  CUDA_CHECK(cudaGetLastError());
  return device_matrix.to_host();  // copies the result back; then the destructor frees the device's memory
}

}  // namespace

int main(int argc, char** argv) {
  int rows = 3, columns = 5;
  cookbook::Options options("Double every element of a matrix on a GPU");
  options.add("rows", rows, "rows of the matrix", 1, 1'000);
  options.add("columns", columns, "columns of the matrix", 2, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  Matrix matrix(rows * columns), expected(rows * columns);
  for (int i = 0; i < rows * columns; ++i) {
    matrix[i] = static_cast<float>(i);  // so each element shows its own index
    expected[i] = 2 * matrix[i];
  }
  const Matrix doubled = doubled_on_device(matrix, rows, columns);
  cookbook::println("{} rows of {} elements; each was its index, and is doubled", rows, columns);
  for (auto row = doubled.begin(); row != doubled.end(); row += columns) {
    cookbook::println("{:4.0f}", fmt::join(row, row + columns, " "));
  }

  cookbook::Checks checks;
  checks.that("every element is exactly twice what it was", doubled == expected);
  return checks.exit_code();
}
