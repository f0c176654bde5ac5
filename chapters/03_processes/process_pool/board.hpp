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
  Chunk chunk;
  for (board.tasks.get(chunk); chunk.function != nullptr; board.tasks.get(chunk)) {
    try {
      for (long& value : std::span(chunk.values, chunk.count)) value = chunk.function(value);
    } catch (const std::exception& error) {
      chunk.failed = true;  // a flag, since the text may be empty
      std::snprintf(chunk.error, sizeof chunk.error, "%s", error.what());
    } catch (...) {  // anything else that a task may throw; it must not end the worker
      chunk.failed = true;
      std::snprintf(chunk.error, sizeof chunk.error, "a task has thrown something that is no std::exception");
    }
    board.results.put(chunk);
  }
}
