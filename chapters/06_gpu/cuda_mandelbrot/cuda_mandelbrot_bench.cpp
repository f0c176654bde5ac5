// Mandelbrot set on the processor, for the bench
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Xcompiler=-march=native -Icommon chapters/06_gpu/cuda_mandelbrot/cuda_mandelbrot_bench.cu chapters/06_gpu/cuda_mandelbrot/cuda_mandelbrot_bench.cpp common/cookbook/*.cpp -ltbb -lfmt -o cuda_mandelbrot_bench
// Run:     cuda_mandelbrot_bench

#include "cuda_mandelbrot_bench.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>

#include "mandelbrot.hpp"

namespace {

constexpr int lanes = 16, vectors = 4;  // four vectors, so that one is computed while another waits for its result

using Floats = float __attribute__((vector_size(lanes * sizeof(float))));
using Ints = int __attribute__((vector_size(lanes * sizeof(int))));

/// The compiler makes vector instructions of this loop where the processor has fused multiply-add.
Floats fused(Floats a, Floats b, Floats c) {
  Floats result;
  for (int i = 0; i < lanes; ++i) result[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return result;
}

}  // namespace

void draw_scalar(const Frame& frame, std::uint16_t* picture, int first_row, int last_row) {
  for (int row = first_row; row < last_row; ++row) {
    for (int column = 0; column < frame.columns; ++column) {
      picture[std::size_t(row) * frame.columns + column] = static_cast<std::uint16_t>(
          escape_step(fmaf(column, frame.pitch, -2), fmaf(row, frame.pitch, -1), frame.limit));
    }
  }
}

void draw_simd(const Frame& frame, std::uint16_t* picture, int first_row, int last_row) {
  for (int row = first_row; row < last_row; ++row) {
    const Floats cy = Floats{} + fmaf(row, frame.pitch, -1);
    for (int first = 0; first < frame.columns; first += lanes * vectors) {
      std::array<Floats, vectors> cx, x{}, y{};
      std::array<Ints, vectors> inside, count{};
      for (int v = 0; v < vectors; ++v) {
        inside[v] = Ints{} - 1;  // in a mask, true is -1
        for (int i = 0; i < lanes; ++i) cx[v][i] = fmaf(first + v * lanes + i, frame.pitch, -2);
      }
      for (int step = 0; step < frame.limit;) {
        for (const int end = std::min(step + 8, frame.limit); step < end; ++step) {
#pragma GCC unroll 4
          for (int v = 0; v < vectors; ++v) {
            const Floats next_x = fused(x[v], x[v], fused(-y[v], y[v], cx[v]));
            y[v] = fused(x[v] + x[v], y[v], cy);
            x[v] = next_x;
            inside[v] &= fused(x[v], x[v], y[v] * y[v]) < 4.0F;
            count[v] -= inside[v];
          }
        }
        const Ints any = inside[0] | inside[1] | inside[2] | inside[3];
        int some = 0;
        for (int i = 0; i < lanes; ++i) some |= any[i];
        if (!some) break;
      }
      for (int i = 0; i < std::min(lanes * vectors, frame.columns - first); ++i) {
        picture[std::size_t(row) * frame.columns + first + i] = static_cast<std::uint16_t>(count[i / lanes][i % lanes]);
      }
    }
  }
}

void draw_by_tbb(const Frame& frame, std::uint16_t* picture, DrawRows* draw, int threads) {
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<int>(0, frame.rows, 1),
                      [&](const auto& rows) { draw(frame, picture, rows.begin(), rows.end()); });
  });
}
