/// Tasks that go from process to process, and a queue for them: that of the recipe process_queue, with semaphores.
#pragma once

#include <boost/interprocess/sync/interprocess_mutex.hpp>
#include <boost/interprocess/sync/interprocess_semaphore.hpp>
#include <cstddef>
#include <cstring>
#include <mutex>

struct Job;  // one call of the pool; known to the caller alone

/// Some tasks on their way to a worker, or their results on the way back.
struct Chunk {
  static constexpr std::size_t room = 500;  ///< for so many tasks at most

  long (*function)(long);  ///< at the same address in all processes made by fork; null: no more tasks will come
  Job* job;                ///< what the tasks belong to, and where in it they begin
  std::size_t first, count;
  bool failed;        ///< whether one of the tasks has thrown; then there are no results
  char error[100];    ///< the text of what it has thrown; may be empty
  long values[room];  ///< arguments, then results
};

/// Copies a chunk, but not those of its values that are not in use: most chunks are small.
inline void copy(const Chunk& from, Chunk& to) {
  std::memcpy(&to, &from, offsetof(Chunk, values) + from.count * sizeof(long));
}

/// A queue in shared memory. put() waits while it is full, get() while it is empty: two semaphores count the free
/// places and the filled ones.
class ChunkQueue {
 public:
  void put(const Chunk& chunk) {
    free_.wait();
    {
      const std::scoped_lock lock(mutex_);
      copy(chunk, chunks_[puts_++ % capacity]);
    }
    filled_.post();
  }
  void get(Chunk& chunk) {
    filled_.wait();
    {
      const std::scoped_lock lock(mutex_);
      copy(chunks_[gets_++ % capacity], chunk);
    }
    free_.post();
  }

 private:
  static constexpr std::size_t capacity = 64;
  boost::interprocess::interprocess_semaphore free_{capacity}, filled_{0};
  boost::interprocess::interprocess_mutex mutex_;  // protects everything below
  Chunk chunks_[capacity];
  std::size_t puts_ = 0, gets_ = 0;
};
