/// The four kernels of products.cl, and how to start one of them.
#pragma once

#include <random>
#include <vector>

#include "cookbook/opencl.hpp"

using Matrix = std::vector<float>;  ///< n x n, row after row: element (row, column) is [row * n + column]

struct Step {
  const char* name;                  ///< as program and bench print it
  const char* kernel;                ///< its name in products.cl
  int items;                         ///< a work-group has items x items work-items,
  int rows, columns;                 ///< and computes so many rows and columns of C
  double global_loads, local_loads;  ///< numbers that a work-item loads per multiply-add, from each kind of memory
};

const Step steps[] = {{"step 1: one work-item per element", "naive", 16, 16, 16, 2, 0},
                      {"step 2: for GPUs, tiles in local memory", "tiled", 16, 16, 16, 2.0 / 16, 2},
                      {"step 3: for GPUs, 8 x 8 per work-item", "register_blocked", 16, 128, 128, 2.0 / 128, 16.0 / 64},
                      {"step 4: for processors, 8 x 32 in vectors", "vector_blocked", 1, 8, 32, (8.0 + 32) / 256, 0}};

/// Queues c = a * b; as many work-groups as it takes to cover C.
inline cl::Event start_product(cl::CommandQueue& queue, cl::Kernel& kernel, const Step& step, const cl::Buffer& a,
                               const cl::Buffer& b, const cl::Buffer& c, int n) {
  CL_CHECK(kernel.setArg(0, a));
  CL_CHECK(kernel.setArg(1, b));
  CL_CHECK(kernel.setArg(2, c));
  CL_CHECK(kernel.setArg(3, cl_int{n}));
  const std::size_t groups_across = (n + step.columns - 1) / step.columns,
                    groups_down = (n + step.rows - 1) / step.rows;
  cl::Event done;
  CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange,
                                      cl::NDRange(groups_across * step.items, groups_down * step.items),
                                      cl::NDRange(step.items, step.items), nullptr, &done));
  return done;
}

/// A buffer with a copy of the matrix.
inline cl::Buffer buffer_of(const cl::Context& context, const Matrix& matrix) {
  return CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, matrix.size() * sizeof(float),
                             const_cast<float*>(matrix.data())));
}

/// At least -1 and below 1; the same ones for the same seed.
inline Matrix random_matrix(int n, unsigned seed) {
  std::mt19937 random(seed);
  Matrix matrix(std::size_t(n) * n);
  for (float& value : matrix) value = static_cast<float>(random() >> 8) * 0x1p-23F - 1;
  return matrix;
}
