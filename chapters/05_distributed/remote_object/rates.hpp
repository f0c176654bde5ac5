/// How many calls a second, beside a bare TCP echo.
#pragma once

#include <sched.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "bare_echo.hpp"
#include "cookbook/figures.hpp"
#include "greeting.hpp"
#include "proxy.hpp"

inline auto call(remote::Greeting::Client& greeting) {
  auto request = greeting.welcomeMessageRequest(size_with("World"));
  request.setName("World");
  return request.send();
}

inline void one_at_a_time(kj::AsyncIoContext& io, remote::Greeting::Client& greeting, int calls) {
  for (int i = 0; i < calls; ++i) call(greeting).wait(io.waitScope);
}

/// Starts all calls before it waits for the first answer.
inline void pipelined(kj::AsyncIoContext& io, remote::Greeting::Client& greeting, int calls) {
  kj::Vector<kj::Promise<void>> answers;
  for (int i = 0; i < calls; ++i) answers.add(call(greeting).ignoreResult());
  kj::joinPromises(answers.releaseAsArray()).wait(io.waitScope);
}

/// Has this process run on the first core that it may use, and the others too, or on the last.
inline void place(const std::vector<pid_t>& others, bool on_the_same_core) {
  static const std::vector<std::size_t> allowed = [] {
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) cookbook::system_refused("sched_getaffinity");
    std::vector<std::size_t> found;
    for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &cores)) found.push_back(core);
    }
    return found;
  }();
  const auto pin = [](pid_t process, std::size_t core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (sched_setaffinity(process, sizeof one, &one) != 0) cookbook::system_refused("sched_setaffinity");
  };
  pin(0, allowed.front());
  for (const pid_t other : others) pin(other, on_the_same_core ? allowed.front() : allowed.back());
}

/// Work that does so many calls; the first row of a table is its peer.
struct Row {
  std::string name;
  int calls;
  std::function<void()> work;
  std::vector<double> seconds = {};
};

/// The rows take turns, so that what else happens on the machine hits all alike.
inline void measure(const std::string& title, std::vector<Row> rows, int repeats, const cookbook::Verdict& verdict) {
  for (int i = 0; i <= repeats; ++i) {
    for (Row& row : rows) {
      const cookbook::Stopwatch watch;
      row.work();
      if (i > 0) row.seconds.push_back(watch.seconds());  // the first round warms up
    }
  }
  cookbook::Figures figures(title, cookbook::rate("K/s", 1e3));
  figures.add_peer(rows[0].name, cookbook::timing_of(rows[0].seconds), rows[0].calls);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    figures.add(rows[i].name, cookbook::timing_of(rows[i].seconds), rows[i].calls);
  }
  figures.print(verdict);
}

/// `servers` are the processes of the object and of the echo.
inline void measure_rates(kj::AsyncIoContext& io, const Address& address, const std::vector<pid_t>& servers,
                          BareEcho& echo, int calls, int repeats, const cookbook::Verdict& verdict) {
  const kj::Duration patience = 10 * kj::SECONDS;
  remote::Greeting::Client here = kj::heap<Greeting>();
  Proxy<remote::Greeting> there(io, address, patience), far(io, address, patience);
  far.stream().move_away(io.provider->getTimer(), 1 * kj::MILLISECONDS);
  const auto echoes = [&] {
    for (int i = 0; i < calls; ++i) echo.there_and_back();
  };

  place(servers, true);
  measure("caller and callee on one core",
          {{"bare TCP echo, one at a time", calls, echoes},
           {"call here", calls, [&] { one_at_a_time(io, here, calls); }},
           {"call there, one at a time", calls, [&] { one_at_a_time(io, *there, calls); }}},
          repeats, verdict);

  const int few = std::min(calls, 20);  // each takes more than 1 ms
  place(servers, false);
  measure("on a core each",
          {{"bare TCP echo, one at a time", calls, echoes},
           {"call there, one at a time", calls, [&] { one_at_a_time(io, *there, calls); }},
           {"call there, all under way", calls, [&] { pipelined(io, *there, calls); }},
           {"call 1 ms away, one at a time", few, [&] { one_at_a_time(io, *far, few); }},
           {"call 1 ms away, all under way", calls, [&] { pipelined(io, *far, calls); }}},
          repeats, verdict);
}
