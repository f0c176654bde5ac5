/// When the parts of each chunk have run, from the events around them, and a picture of it.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "cookbook/cuda.hpp"

inline float milliseconds(cudaEvent_t from, cudaEvent_t to) {
  float time = 0;
  CUDA_CHECK(cudaEventElapsedTime(&time, from, to));
  return time;
}

/// When each part of each chunk has begun and ended, in milliseconds from the start of all: [part][chunk].
struct TimeLine {
  TimeLine(const std::vector<cudaEvent_t>& marks, int chunks) {
    for (int part = 0; part < 3; ++part) {
      for (int chunk = 0; chunk < chunks; ++chunk) {
        begin[part].push_back(milliseconds(marks[4 * chunks], marks[4 * chunk + part]));
        end[part].push_back(milliseconds(marks[4 * chunks], marks[4 * chunk + part + 1]));
      }
    }
    // A copy whose stream is ready still waits for the copy engine, which takes one chunk after another. No event tells
    // when it takes this one: it counts from the end of the one before.
    for (const int part : {0, 2}) {
      const std::vector<float> ends = end[part];
      for (int chunk = 0; chunk < chunks; ++chunk) {
        for (const float other : ends) {
          if (other < ends[chunk]) begin[part][chunk] = std::max(begin[part][chunk], other);
        }
      }
    }
  }
  float total() const { return *std::max_element(end[2].begin(), end[2].end()); }
  float sum(int part) const {
    return std::accumulate(end[part].begin(), end[part].end(), 0.0F) -
           std::accumulate(begin[part].begin(), begin[part].end(), 0.0F);
  }

  std::vector<float> begin[3], end[3];
};

/// Draws the parts of each chunk, in the order in which they were copied in: 60 columns are `scale` milliseconds.
inline void draw(const TimeLine& times, float scale) {
  const auto column = [scale](float time) { return std::clamp(static_cast<int>(60 * time / scale), 0, 60); };
  std::vector<std::size_t> order(times.end[0].size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](auto left, auto right) { return times.end[0][left] < times.end[0][right]; });
  for (const std::size_t chunk : order) {
    std::string line(60, '.');
    for (int part = 0; part < 3; ++part) {
      std::fill(line.begin() + column(times.begin[part][chunk]), line.begin() + column(times.end[part][chunk]),
                "iko"[part]);
    }
    cookbook::println("  chunk  {:<2}  {}", chunk + 1, line);
  }
}
