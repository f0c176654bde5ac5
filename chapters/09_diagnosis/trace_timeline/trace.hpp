/// A trace: what each thread did, from when to when.
#pragma once

#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

using Clock = std::chrono::steady_clock;

/// One piece of work. The name is not copied, so it must live as long as the trace: a string literal, for example.
struct Event {
  const char* name;
  Clock::time_point begin, end;
};

/// What one thread did. Only that thread writes to it, so it needs no lock. It begins a cache line of its own, so that
/// two tracks that lie side by side do not share one.
struct alignas(64) Track {
  std::string name;
  std::vector<Event> events = {};
};

/// The tracks of all threads. Read them when the threads have been joined.
class Trace {
 public:
  /// A track for one thread, which alone writes to it from now on. It stays where it is until the trace is destroyed.
  Track& add_track(std::string name) {
    const std::scoped_lock lock(mutex_);
    Track& track = tracks_.emplace_back(std::move(name));
    track.events.reserve(1024);  // so that the vector seldom grows while the thread works
    return track;
  }

  const std::deque<Track>& tracks() const { return tracks_; }  // a deque does not move its elements when it grows

 private:
  std::mutex mutex_;
  std::deque<Track> tracks_;
};

/// Records the time from its construction to its destruction, in whatever way the scope is left. It must end before its
/// track does. If there is no memory for the event, the program is ended, since a destructor must not throw.
class Span {
 public:
  Span(Track& track, const char* name) : track_(track), name_(name), begin_(Clock::now()) {}
  ~Span() { track_.events.push_back({name_, begin_, Clock::now()}); }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Track& track_;
  const char* name_;
  Clock::time_point begin_;
};
