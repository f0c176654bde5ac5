/// How many calls a second, beside a bare TCP echo.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "bare_echo.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/pin.hpp"
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

/// Keeps this process on the first core that it may use, and the others on the same one or on the last.
inline void place(const std::vector<pid_t>& others, bool on_the_same_core) {
  cookbook::pin(0);
  for (const pid_t other : others) cookbook::pin(on_the_same_core ? 0 : cookbook::allowed_processors() - 1, other);
}

/// `servers` are the processes of the object and of the echo.
inline void measure_rates(kj::AsyncIoContext& io, const Address& address, const std::vector<pid_t>& servers,
                          BareEcho& echo, int calls, int repeats, const cookbook::Checks& checks) {
  const kj::Duration timeout = 10 * kj::SECONDS;
  remote::Greeting::Client here = kj::heap<Greeting>();
  Proxy<remote::Greeting> there(io, address, timeout), far(io, address, timeout);
  far.stream().move_away(io.provider->getTimer(), 1 * kj::MILLISECONDS);
  const double amount = calls;
  const cookbook::Row bare_echo("bare TCP echo, one at a time", amount, [&] {
    for (int i = 0; i < calls; ++i) echo.there_and_back();
  });
  const auto compare = [&](const std::string& title, const std::vector<cookbook::Row>& rows) {
    cookbook::Figures figures(title, cookbook::rate("K/s", 1e3));
    figures.measure(rows, repeats);
    figures.times(bare_echo.name, "bare echo");
    figures.print(checks);
  };

  place(servers, true);
  compare("caller and callee on one core",
          {bare_echo,
           {"call here", amount, [&] { one_at_a_time(io, here, calls); }},
           {"call there, one at a time", amount, [&] { one_at_a_time(io, *there, calls); }}});

  const int few = std::min(calls, 20);  // each takes more than 1 ms
  place(servers, false);
  compare("on a core each",
          {bare_echo,
           {"call there, one at a time", amount, [&] { one_at_a_time(io, *there, calls); }},
           {"call there, all under way", amount, [&] { pipelined(io, *there, calls); }},
           {"call 1 ms away, one at a time", static_cast<double>(few), [&] { one_at_a_time(io, *far, few); }},
           {"call 1 ms away, all under way", amount, [&] { pipelined(io, *far, calls); }}});
}
