/// A map that one process owns, the manager; all others ask it by messages.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <limits>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "child.hpp"
#include "cookbook/system_check.hpp"

struct Request {
  enum Operation : long { get, set, add, next } operation;
  long key;
  long value;
};

struct Answer {
  long found;  ///< 0 if there is no such key, else 1
  long key;
  long value;
  long process;  ///< who answers
};

/// What a worker has of the managed map: a connection to the manager, and no copy of anything. Each process connects
/// for itself, since two on one connection would take each other's answers.
class ManagedMap {
 public:
  ManagedMap(const sockaddr_un& address, socklen_t length)
      : socket_(check(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), "socket")) {
    check(connect(socket_, reinterpret_cast<const sockaddr*>(&address), length), "connect");
  }
  ~ManagedMap() { close(socket_); }
  ManagedMap(const ManagedMap&) = delete;
  ManagedMap& operator=(const ManagedMap&) = delete;

  /// The value, which is a copy: to change it is to change nothing. Throws std::out_of_range if there is no such key.
  long get(long key) {
    const Answer answer = ask({Request::get, key, 0});
    if (!answer.found) throw std::out_of_range(fmt::format("no key {} in the managed map", key));
    return answer.value;
  }
  void set(long key, long value) { ask({Request::set, key, value}); }

  /// Adds to a value, which is 0 if there is none. It is one request, so nobody comes in between.
  void add(long key, long step) { ask({Request::add, key, step}); }

  /// The process that has the map.
  pid_t owner() { return static_cast<pid_t>(ask({Request::next, 0, 0}).process); }

  /// All pairs. Each is a request, so others may change the map meanwhile.
  std::map<long, long> items() {
    std::map<long, long> all;
    constexpr long lowest = std::numeric_limits<long>::min();
    Answer answer = ask({Request::next, lowest, 0});
    while (answer.found) {
      all.emplace(answer.key, answer.value);
      if (answer.key == std::numeric_limits<long>::max()) break;  // there is no next key
      answer = ask({Request::next, answer.key + 1, 0});
    }
    return all;
  }

 private:
  Answer ask(const Request& request) {
    Answer answer;
    if (send(socket_, &request, sizeof request, MSG_NOSIGNAL) != sizeof request ||
        recv(socket_, &answer, sizeof answer, 0) != sizeof answer) {
      throw std::runtime_error("the manager of the map has gone");
    }
    return answer;
  }

  int socket_;
};

/// The manager process, from its start to its end.
class Manager {
 public:
  Manager() {
    const int listener = check(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), "socket");
    address_.sun_family = AF_UNIX;
    // An address without a name: the kernel finds one that is free, in no file system, so no file can be left behind.
    check(bind(listener, reinterpret_cast<sockaddr*>(&address_), sizeof(sa_family_t)), "bind");
    check(getsockname(listener, reinterpret_cast<sockaddr*>(&address_), &length_), "getsockname");
    check(listen(listener, SOMAXCONN), "listen");

    int ends[2];
    check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "socketpair");
    process_ = start_child([&] { serve(listener, ends[1]); });
    close(listener);
    close(ends[1]);
    program_ = ends[0];
  }
  ~Manager() { end(); }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  ManagedMap connect() const { return {address_, length_}; }
  pid_t process() const { return process_; }

  /// Ends the manager, whoever is connected still, and the map with it. Returns its exit code.
  int end() {
    if (process_ == 0) return 0;
    shutdown(program_, SHUT_RDWR);  // close alone would end one copy of the socket; the workers have others
    close(program_);
    return exit_code_of(std::exchange(process_, 0));
  }

 private:
  /// The manager's work: answers one request after another, until the program shuts down the socket `program`.
  static void serve(int listener, int program) {
    std::map<long, long> values;  // the only copy there is
    std::vector<pollfd> sockets = {{listener, POLLIN, 0}, {program, POLLIN, 0}};
    while (check(poll(sockets.data(), sockets.size(), -1), "poll") > 0 && sockets[1].revents == 0) {
      for (std::size_t i = sockets.size() - 1; i > 1; --i) {
        if (sockets[i].revents == 0 || answer_one(sockets[i].fd, values)) continue;
        close(sockets[i].fd);
        sockets.erase(sockets.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (sockets[0].revents == 0) continue;
      const int client = check(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC), "accept4");
      if (is_ours(client)) {
        sockets.push_back({client, POLLIN, 0});
      } else {
        close(client);
      }
    }
  }

  /// Whether the process that has connected belongs to the same user; any process of the machine could connect.
  static bool is_ours(int client) {
    ucred other;
    socklen_t length = sizeof other;
    check(getsockopt(client, SOL_SOCKET, SO_PEERCRED, &other, &length), "getsockopt");
    return other.uid == getuid();
  }

  /// False if the client has closed its connection, has died, or sends what is no request.
  static bool answer_one(int client, std::map<long, long>& values) {
    Request request;
    if (recv(client, &request, sizeof request, 0) != sizeof request) return false;

    if (request.operation == Request::set) values[request.key] = request.value;
    if (request.operation == Request::add) values[request.key] += request.value;
    const auto place = request.operation == Request::next ? values.lower_bound(request.key) : values.find(request.key);
    const bool found = place != values.end();
    const Answer answer = found ? Answer{1, place->first, place->second, getpid()} : Answer{0, 0, 0, getpid()};
    return send(client, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof answer;  // waits for nobody
  }

  sockaddr_un address_ = {};
  socklen_t length_ = sizeof address_;
  int program_ = -1;
  pid_t process_ = 0;
};
