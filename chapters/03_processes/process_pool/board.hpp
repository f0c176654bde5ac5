/// What the caller of a pool and its workers share, and what a worker does.
#pragma once

#include <cstdio>
#include <exception>
#include <span>

#include "chunk_queue.hpp"

struct Board {
  ChunkQueue tasks, results;
};

/// A worker: takes tasks and gives back results until no more tasks will come.
inline void work(Board& board) {
  for (Chunk chunk = board.tasks.get(); chunk.function != nullptr; chunk = board.tasks.get()) {
    try {
      for (long& value : std::span(chunk.values, chunk.count)) value = chunk.function(value);
    } catch (const std::exception& error) {
      std::snprintf(chunk.error, sizeof chunk.error, "%s", error.what());
    }
    board.results.put(chunk);
  }
}
