/// Processes in the sense of CSP: sequential programs that share nothing but channels. Each is a fiber.
#pragma once

#include <boost/fiber/fiber.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "channel.hpp"

/// A process that runs body(ends...) with the channel ends that it is given. If it meets the end of a channel, it ends
/// too, and passes the news on to the other ends it has: poison as poison, retirement as retirement.
template <typename Body, typename... Ends>
auto process(std::string name, Body body, Ends... ends) {
  struct Process {
    std::string name;
    Body body;
    std::tuple<Ends...> ends;

    void operator()() {
      note("StartProcess", name);
      std::apply([&](auto&... end) { run(end...); }, ends);
    }

    void run(Ends&... end) {
      (end.belongs_to(name), ...);
      try {
        body(end...);
        note("QuitProcess", name);
      } catch (const Poisoned&) {
        note("QuitProcess", name);
        (end.poison(), ...);
      } catch (const Retired&) {
        note("QuitProcess", name);
      }
      (end.retire(), ...);
    }
  };
  return Process{std::move(name), std::move(body), {std::move(ends)...}};
}

/// Starts all processes, and returns when all have ended.
template <typename... Processes>
void parallel(Processes... processes) {
  std::string names;
  ((names += (names.empty() ? "" : ", ") + processes.name), ...);
  note("BlockOnParallel", "main", names);
  std::vector<boost::fibers::fiber> fibers;
  (fibers.emplace_back(std::move(processes)), ...);
  for (auto& fiber : fibers) fiber.join();
  note("DoneParallel", "main", names);
}
