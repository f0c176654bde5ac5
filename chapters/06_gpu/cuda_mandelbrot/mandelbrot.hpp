/// The Mandelbrot set: what one pixel costs, and which point of the plane it is. Compiled for host and device.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

constexpr int width = 1536, height = 1024;

/// The number of the first step, from 0 on, after which |z| is 2 or more, with z = 0 at first and z = z * z + c in each
/// step; `limit` if none of so many steps gets there. Each sum is written as a fused multiply-add, rounded once.
/// Otherwise each compiler chooses where to fuse, and host and device may differ.
__host__ __device__ inline int escape_step(float cx, float cy, int limit) {
  float x = 0, y = 0;
  for (int step = 0; step < limit; ++step) {
    const float next_x = fmaf(x, x, fmaf(-y, y, cx));  // x * x - y * y + cx
    y = fmaf(2 * x, y, cy);                            // 2 * x * y + cy
    x = next_x;
    if (fmaf(x, x, y * y) >= 4) return step;
  }
  return limit;
}

/// The value of a pixel: the plane from -2 to 1 and from -1 to 1, in steps of 1/512, which a float holds exactly.
__host__ __device__ inline unsigned char pixel(int column, int row, int limit) {
  return static_cast<unsigned char>(escape_step(-2 + column / 512.0F, -1 + row / 512.0F, limit));
}
