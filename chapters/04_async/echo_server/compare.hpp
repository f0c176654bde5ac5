/// The measuring: servers are put under load in turn, beside two on bare epoll.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "clients.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/verdict.hpp"
#include "epoll_echo.hpp"
#include "running.hpp"
#include "trials.hpp"

/// Seconds that a thread has been on a processor.
inline double processor_seconds(pthread_t thread) {
  clockid_t clock = {};
  timespec time = {};
  pthread_getcpuclockid(thread, &clock);
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Keeps a thread on one processor, where it does not interrupt others when it is woken. Else chance decides whether
/// client and server share a processor; and if they do, the scheduler lets whichever has used less time interrupt the
/// other one, which adds changes between the two to every difference.
inline void keep_on(int processor, pthread_t thread) {
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  CPU_SET(processor, &chosen);
  pthread_setaffinity_np(thread, sizeof chosen, &chosen);
  const sched_param none = {};
  pthread_setschedparam(thread, SCHED_BATCH, &none);
}

struct Load {
  std::vector<double> seconds;    ///< a run each
  std::vector<double> processor;  ///< of these, the server's thread was on a processor
  bool right = true;              ///< whether every answer was the message
};

/// One run: `rounds` times a message of 64 bytes on each of `connections`, all sent before the first is received.
template <typename Server>
void put_load(Running<Server>& running, int connections, int rounds, Load& load) {
  const std::string message(64, 'm');
  std::vector<Client> clients;
  for (int i = 0; i < connections; ++i) {
    clients.emplace_back(running.server.port());
    load.right = echoes(clients.back(), message) && load.right;
  }
  const double before = processor_seconds(running.thread.native_handle());
  const cookbook::Stopwatch watch;
  for (int i = 0; i < rounds; ++i) {
    for (Client& client : clients) client.send(message);
    for (Client& client : clients) load.right = client.receive(message.size()) == message && load.right;
  }
  load.seconds.push_back(watch.seconds());
  load.processor.push_back(processor_seconds(running.thread.native_handle()) - before);
}

/// Puts load on four servers in turn, so that all meet the same disturbances, and prints what each can do. Client and
/// servers share one processor.
template <typename Plain, typename Sturdy>
void compare(cookbook::Verdict& verdict) {
  Running<EpollLoop> loop;
  Running<EpollCoroutines> bare;
  Running<Plain> plain;
  Running<Sturdy> sturdy(0, patient, most_clients);
  const int here = sched_getcpu();
  keep_on(here, pthread_self());
  for (std::jthread* server : {&loop.thread, &bare.thread, &plain.thread, &sturdy.thread}) {
    keep_on(here, server->native_handle());
  }

  std::vector<cookbook::Figures> rates, times;
  bool right = true;
  for (const auto& [connections, rounds] : {std::pair(1, 500), std::pair(16, 50), std::pair(128, 7)}) {
    Load loads[4];
    for (int i = 0; i < 7; ++i) {
      put_load(loop, connections, rounds, loads[0]);
      put_load(bare, connections, rounds, loads[1]);
      put_load(plain, connections, rounds, loads[2]);
      put_load(sturdy, connections, rounds, loads[3]);
    }
    for (const Load& load : loads) right = right && load.right;

    const double messages = connections * rounds;
    const auto fill = [&](cookbook::Figures& table, std::vector<double> Load::*seconds) {
      table.add_peer("epoll loop", cookbook::timing_of(loads[0].*seconds), messages);
      table.add("coroutines on epoll", cookbook::timing_of(loads[1].*seconds), messages);
      table.add("plain server on Asio", cookbook::timing_of(loads[2].*seconds), messages);
      table.add("sturdy server on Asio", cookbook::timing_of(loads[3].*seconds), messages);
    };
    rates.emplace_back(fmt::format("messages, {} connected", connections), cookbook::rate("/s", 1));
    fill(rates.back(), &Load::seconds);
    if (connections != 16) continue;
    times.emplace_back("server's processor time a message, 16 connected", cookbook::cost("us", 1e-6));
    fill(times.back(), &Load::processor);
  }
  verdict.that("all messages under load came back", right);
  for (const cookbook::Figures& table : rates) table.print(verdict);
  for (const cookbook::Figures& table : times) table.print(verdict);
}
