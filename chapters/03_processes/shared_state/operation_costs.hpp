/// What a get and a set cost in both forms, beside what cannot be saved: a message there and back, or a lock.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "child.hpp"
#include "cookbook/figures.hpp"
#include "manager.hpp"
#include "shared_map.hpp"
#include "shared_memory.hpp"
#include "workers.hpp"

/// A process that sends each message back, as a manager would that has no map and one client.
class Echo {
 public:
  Echo() {
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "socketpair");
    process_ = start_child([&] {
      close(ends[0]);
      Request request;
      while (check(recv(ends[1], &request, sizeof request, 0), "recv") > 0) {
        check(send(ends[1], &request, sizeof request, MSG_NOSIGNAL), "send");
      }
    });
    close(ends[1]);
    socket_ = ends[0];
  }
  ~Echo() {
    close(socket_);
    exit_code_of(process_);
  }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;

  void there_and_back() const {
    Request request = {};
    check(send(socket_, &request, sizeof request, MSG_NOSIGNAL), "send");
    check(recv(socket_, &request, sizeof request, 0), "recv");
  }

 private:
  int socket_;
  pid_t process_;
};

/// Calls operation(what open() gave, number of the worker) so often in each of at most four workers. The seconds from
/// the first call to the last; to start the workers does not count.
template <typename Open, typename Operation>
double seconds_of(int workers, int operations, Open open, Operation operation) {
  using Clock = std::chrono::steady_clock;  // the same for all processes of a machine
  struct Times {
    Clock::time_point begin[4], end[4];
  };
  const Shared<Times> times;
  run_workers(workers, [&](int worker) {
    auto&& map = open();
    times->begin[worker] = Clock::now();
    for (int i = 0; i < operations; ++i) operation(map, worker);
    times->end[worker] = Clock::now();
  });
  const auto begin = *std::min_element(times->begin, times->begin + workers);
  const auto end = *std::max_element(times->end, times->end + workers);
  return std::chrono::duration<double>(end - begin).count();
}

/// A row of a table: so many operations, shared by so many workers.
template <typename Open, typename Operation>
cookbook::Row row(const std::string& name, int workers, int operations, Open open, Operation operation) {
  return {name, static_cast<double>(operations),
          [=] { return seconds_of(workers, operations / workers, open, operation); }};
}

/// The rows of a map: get and set by one worker and by four that share the operations.
template <typename Open>
std::vector<cookbook::Row> rows_of_map(int operations, Open open) {
  const auto get = [](auto& map, long key) { cookbook::keep(map.get(key)); };
  const auto set = [](auto& map, long key) { map.set(key, 2 * key); };
  auto&& map = open();
  for (long key = 0; key < 4; ++key) set(map, key);
  return {row("get, 1 worker", 1, operations, open, get), row("set, 1 worker", 1, operations, open, set),
          row("get, 4 workers", 4, operations, open, get), row("set, 4 workers", 4, operations, open, set)};
}

inline void time_both(int operations, const cookbook::Checks& checks) {
  constexpr int rounds = 5;
  cookbook::Figures messages("an operation by a manager", cookbook::cost("us", 1e-6));
  const Manager manager;
  std::vector<cookbook::Row> rows = rows_of_map(operations, [&] { return manager.connect(); });
  const std::string trip = "message there and back, no map";
  const auto there_and_back = [](const Echo& echo, int) { echo.there_and_back(); };
  rows.insert(rows.begin(), row(
                                trip, 1, operations, [] { return Echo(); }, there_and_back));
  messages.measure(rows, rounds);
  messages.percent_of(trip, "message");
  messages.print(checks);

  cookbook::Figures locks("an operation in shared memory", cookbook::cost("ns", 1e-9));
  const Shared<SharedMap> map;
  const auto open = [&]() -> SharedMap& { return *map; };
  const int more = 500 * operations;  // since each takes so much less
  rows = rows_of_map(more, open);
  const std::string lock = "lock alone, no map, 1 worker";
  rows.insert(rows.begin(),
              row(lock, 1, more, open, [](SharedMap& locked, int) { const SharedMap::Hold hold(locked); }));
  locks.measure(rows, rounds);
  locks.percent_of(lock, "lock");
  locks.print(checks);
}
