/// A map that one process owns, the manager; all others ask it by messages.
#pragma once

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <map>
#include <stdexcept>
#include <vector>

#include "cookbook/posix.hpp"
#include "cookbook/process.hpp"

struct Request {
  enum Operation { get, set, add } operation;
  int client;   ///< whose channel the answer goes to
  long number;  ///< of this request; its answer has the same
  long key, value;
};

/// Whether the map has the key now, and its value.
struct Answer {
  long number;
  bool found;
  long value;
};

/// Receives one message; false if the other side has gone.
template <typename Message>
bool receive(int socket, Message& message) {
  ssize_t size;
  do size = recv(socket, &message, sizeof message, 0);
  while (size == -1 && errno == EINTR);  // a signal came first
  return size == sizeof message;
}

using Ends = std::array<int, 2>;  // of a pair of sockets: the clients' and the manager's

/// What the manager does until all clients have gone: it answers one request after another.
inline void serve(int requests, const std::vector<Ends>& answers) {
  std::map<long, long> values;  // the only copy there is
  Request request;
  // `add` is made with unsigned numbers: a sum that is too large wraps around, where a signed one would be undefined.
  while (receive(requests, request)) {
    if (request.operation == Request::set) values[request.key] = request.value;
    if (request.operation == Request::add) values[request.key] += static_cast<unsigned long>(request.value);
    const auto found = values.find(request.key);
    const bool has_key = found != values.end();
    const Answer answer = {request.number, has_key, has_key ? found->second : 0};
    send(answers.at(request.client)[1], &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);  // waits for nobody
  }
}

/// What a worker has of the map: two sockets, and no copy of anything. Each process needs a channel of its own.
class ManagedMap {
 public:
  ManagedMap(int client, int requests, int answers) : client_(client), requests_(requests), answers_(answers) {}

  /// A copy of the value. Throws std::out_of_range if there is no such key.
  long get(long key) const {
    const Answer answer = ask(Request::get, key, 0);
    if (!answer.found) throw std::out_of_range(fmt::format("the map has no key {}", key));
    return answer.value;
  }
  void set(long key, long value) const { ask(Request::set, key, value); }

  /// Adds to a value, which is 0 if there is none. It is one request, so no other comes in between.
  void add(long key, long step) const { ask(Request::add, key, step); }

 private:
  Answer ask(Request::Operation operation, long key, long value) const {
    // The number is the time in nanoseconds: copies of a channel in several processes share no counter, but this clock.
    // On one channel requests follow each other, so no number comes twice.
    const long number = std::chrono::steady_clock::now().time_since_epoch().count();
    const Request request = {operation, client_, number, key, value};
    // MSG_NOSIGNAL: an error instead of the signal SIGPIPE if nobody reads any more
    bool there = send(requests_, &request, sizeof request, MSG_NOSIGNAL) != -1;
    Answer answer = {};
    do {
      there = there && receive(answers_, answer);
      if (!there) throw std::runtime_error("the manager of the map has gone");
    } while (answer.number != number);  // to a process that used this channel before, and was killed while it waited
    return answer;
  }

  int client_, requests_, answers_;
};

/// The manager process, from its start to its end.
class Manager {
 public:
  explicit Manager(int clients) : answers_(clients) {
    check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, requests_.data()), "socketpair");
    for (Ends& ends : answers_) check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), "socketpair");
    process_ = cookbook::start_child([&] { serve(requests_[1], answers_); });
    close(requests_[1]);
    for (const Ends& ends : answers_) close(ends[1]);  // so that a client notices when the manager has gone
  }
  /// Ends the manager, and the map with it.
  ~Manager() {
    shutdown(requests_[0], SHUT_WR);  // in all processes that have it
    cookbook::exit_code_of(process_);
    close(requests_[0]);
    for (const Ends& ends : answers_) close(ends[0]);
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  /// Access to the map for the client with this number, counted from 0.
  ManagedMap map(int client) const { return {client, requests_[0], answers_.at(client)[0]}; }

  pid_t process() const { return process_; }

 private:
  Ends requests_;
  std::vector<Ends> answers_;
  pid_t process_;
};
