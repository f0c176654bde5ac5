/// The measuring: servers are put under load in turn, beside two on bare epoll.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <ctime>
#include <string>
#include <vector>

#include "clients.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/pin.hpp"
#include "epoll_echo.hpp"
#include "running.hpp"
#include "trials.hpp"

/// Seconds that a thread has been on a processor.
inline double processor_seconds(pthread_t thread) {
  clockid_t clock = {};
  timespec time = {};
  check_error(pthread_getcpuclockid(thread, &clock), "pthread_getcpuclockid");
  check(clock_gettime(clock, &time), "clock_gettime");
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Keeps this thread, and those that it makes from now on, on one processor, where they do not interrupt one another
/// when they are woken. Else chance decides whether client and server share a processor; and if they do, the scheduler
/// lets whichever has used less time interrupt the other one, which adds changes between the two to every difference.
inline void share_one_processor() {
  cookbook::pin(0);
  const sched_param none = {};
  check(sched_setscheduler(0, SCHED_BATCH, &none), "sched_setscheduler");
}

/// One run of put_load().
struct Load {
  double seconds;
  double processor;  ///< of these, the server's thread was on a processor
};

/// `rounds` times a message of 64 bytes on each of `connections`, all sent before the first is received. Sets `right`
/// to false if an answer is not the message.
template <typename Server>
Load put_load(Running<Server>& running, int connections, int rounds, bool& right) {
  const std::string message(64, 'm');
  std::vector<Client> clients;
  for (int i = 0; i < connections; ++i) {
    clients.emplace_back(running.server.port());
    right = echoes(clients.back(), message) && right;
  }
  const double before = processor_seconds(running.thread.native_handle());
  const cookbook::Stopwatch watch;
  for (int i = 0; i < rounds; ++i) {
    for (Client& client : clients) client.send(message);
    for (Client& client : clients) right = client.receive(message.size()) == message && right;
  }
  return {watch.seconds(), processor_seconds(running.thread.native_handle()) - before};
}

/// Puts load on four servers in turn, and prints what each can do. Client and servers share one processor.
template <typename Plain, typename Sturdy>
void compare(cookbook::Checks& checks) {
  share_one_processor();
  Running<EpollLoop> loop;
  Running<EpollCoroutines> bare;
  Running<Plain> plain;
  Running<Sturdy> sturdy(0, long_timeout, default_max_clients);

  bool right = true;
  const auto measure = [&](const std::string& title, const cookbook::Unit& unit, int connections, int rounds,
                           double Load::*seconds) {
    const auto row = [&](const char* name, auto& server) {
      return cookbook::Row(name, connections * rounds,
                           [=, &server, &right] { return put_load(server, connections, rounds, right).*seconds; });
    };
    cookbook::Figures figures(title, unit);
    figures.times("epoll loop");
    figures.measure({row("epoll loop", loop), row("coroutines on epoll", bare), row("plain server on Asio", plain),
                     row("sturdy server on Asio", sturdy)},
                    7);
    return figures;
  };
  std::vector<cookbook::Figures> tables;
  for (const auto& [connections, rounds] : {std::pair(1, 500), std::pair(16, 50), std::pair(128, 7)}) {
    tables.push_back(measure(fmt::format("messages, {} connected", connections), cookbook::rate("/s", 1), connections,
                             rounds, &Load::seconds));
  }
  tables.push_back(
      measure("server's processor time a message, 16 connected", cookbook::cost("us", 1e-6), 16, 50, &Load::processor));
  checks.that("all messages under load came back", right);
  for (const cookbook::Figures& table : tables) table.print(checks);
}
