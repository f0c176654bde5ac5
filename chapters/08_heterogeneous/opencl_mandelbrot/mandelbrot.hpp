// The Mandelbrot set: how a pixel is computed, and which point of the plane it is. This text is C++ and OpenCL C at the
// same time: the program includes it, and gives it to the compiler of the device.
#ifndef __OPENCL_VERSION__
#include <cmath>
using std::fma;
#endif

enum { width = 1536, height = 1024 };

// The number of the first step, from 0 on, after which |z| is 2 or more, with z = 0 at first and z = z * z + c in each
// step; `limit` if none of so many steps gets there. Each compiler chooses which products and sums it fuses.
static inline int plain_escape_step(float cx, float cy, int limit) {
  float x = 0, y = 0;
  for (int step = 0; step < limit; ++step) {
    const float next_x = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next_x;
    if (x * x + y * y >= 4) return step;
  }
  return limit;
}

// The same, with each sum as a fused multiply-add, rounded once: nothing is left to choose.
static inline int escape_step(float cx, float cy, int limit) {
  float x = 0, y = 0;
  for (int step = 0; step < limit; ++step) {
    const float next_x = fma(x, x, fma(-y, y, cx));
    y = fma(2 * x, y, cy);
    x = next_x;
    if (fma(x, x, y * y) >= 4) return step;
  }
  return limit;
}

// The plane from -2 to 1 and from -1 to 1, in steps of 1/512. A float holds all these numbers, products and sums
// exactly, so a compiler may fuse here. The divisions are constants; in OpenCL, others need not be rounded exactly.
static inline float x_of(int column) { return -2 + column * (1 / 512.0f); }
static inline float y_of(int row) { return -1 + row * (1 / 512.0f); }

// The value of a pixel.
static inline unsigned char plain_pixel(int column, int row, int limit) {
  return (unsigned char)plain_escape_step(x_of(column), y_of(row), limit);
}
static inline unsigned char pixel(int column, int row, int limit) {
  return (unsigned char)escape_step(x_of(column), y_of(row), limit);
}
