/// Tasks that go from process to process, and a queue for them: that of the recipe process_queue, with semaphores.
#pragma once

#include <boost/interprocess/sync/interprocess_mutex.hpp>
#include <boost/interprocess/sync/interprocess_semaphore.hpp>
#include <cstddef>
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

/// A queue in shared memory. put() waits while it is full, get() while it is empty: two semaphores count the free
/// places and the filled ones.
class ChunkQueue {
 public:
  void put(const Chunk& chunk) {
    free_.wait();
    {
      const std::scoped_lock lock(mutex_);
      chunks_[puts_++ % capacity] = chunk;
    }
    filled_.post();
  }
  Chunk get() {
    filled_.wait();
    std::unique_lock lock(mutex_);
    const Chunk chunk = chunks_[gets_++ % capacity];
    lock.unlock();
    free_.post();
    return chunk;
  }

 private:
  static constexpr std::size_t capacity = 64;
  boost::interprocess::interprocess_semaphore free_{capacity}, filled_{0};
  boost::interprocess::interprocess_mutex mutex_;  // protects everything below
  Chunk chunks_[capacity];
  std::size_t puts_ = 0, gets_ = 0;
};
