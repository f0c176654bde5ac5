/// What the children of kill_process do: each holds a lock while it works, and has its own way with SIGTERM.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "child.hpp"
#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"
#include "sign.hpp"

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Shared by parent and children.
struct Board {
  std::atomic<pid_t> holder = 0;  ///< who holds the lock; 0: nobody
  std::atomic<int> finished = 0;  ///< how many have come to the end of their work
};

/// Holds the lock of the board until the end of its block.
class Hold {
 public:
  explicit Hold(Board& board) : board_(board) { board_.holder = getpid(); }
  ~Hold() { board_.holder = 0; }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  Board& board_;
};

using Tell = std::function<void()>;

/// The source's function, with a lock.
inline int work(Board& board, milliseconds time, const Tell& has_begun) {
  const Hold hold(board);
  cookbook::println("Starting function");
  has_begun();
  std::this_thread::sleep_for(time);
  cookbook::println("Finished function");
  ++board.finished;
  return 0;
}

inline volatile std::sig_atomic_t told_to_end = 0;

extern "C" inline void note_signal(int) { told_to_end = 1; }

/// Works in small steps, and looks before each whether it has been told to end.
inline int work_until_told(Board& board, milliseconds time, const Tell& has_begun) {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  check(sigaction(SIGTERM, &action, nullptr), "sigaction");
  const Hold hold(board);
  has_begun();
  const Clock::time_point end = Clock::now() + time;
  while (!told_to_end && Clock::now() < end) std::this_thread::sleep_for(milliseconds(1));
  if (told_to_end) cookbook::println("Told to end, giving the lock back");
  return 0;  // hold's destructor does that
}

/// Will not hear of it.
inline int work_stubbornly(Board& board, milliseconds time, const Tell& has_begun) {
  std::signal(SIGTERM, SIG_IGN);
  return work(board, time, has_begun);
}

/// Starts a child with one of these, and returns when it has begun its work.
template <typename Work>
pid_t start(Work function, Board& board, milliseconds time) {
  Sign begun;
  const pid_t child = start_child([&] { return function(board, time, [&] { begun.give(); }); });
  begun.wait();  // at the latest, its death ends this wait
  return child;
}
