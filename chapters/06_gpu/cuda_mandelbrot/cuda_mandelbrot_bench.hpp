/// The picture of the bench, and its computation on the processor. These functions are in the .cpp file, so that the
/// compiler of the host can use the whole instruction set of this machine.
#pragma once

#include <cstdint>

/// A large frame: the same part of the plane as the recipe's picture, `columns` x `columns` * 2 / 3 pixels.
struct Frame {
  int columns, rows, limit;
  float pitch;  ///< from one pixel to the next, 3 / columns
};

/// One pixel after another.
void draw_scalar(const Frame& frame, std::uint16_t* picture, int first_row, int last_row);

/// 64 pixels at a time, in vectors.
void draw_simd(const Frame& frame, std::uint16_t* picture, int first_row, int last_row);

using DrawRows = void(const Frame& frame, std::uint16_t* picture, int first_row, int last_row);

/// Calls `draw` for pieces of the frame on so many threads of oneTBB.
void draw_by_tbb(const Frame& frame, std::uint16_t* picture, DrawRows* draw, int threads);
