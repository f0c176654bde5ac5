/// Processes in the sense of CSP: sequential programs that share nothing but channels. Each is a fiber.
#pragma once

#include <boost/fiber/fiber.hpp>
#include <utility>
#include <vector>

#include "channel.hpp"

/// A process that runs body(ends...) with the channel ends that it is given. The exception Poisoned or Retired ends it;
/// poison is passed on to all of its ends.
template <typename Body, typename... Ends>
auto process(Body body, Ends... ends) {
  return [body = std::move(body), ... ends = std::move(ends)]() mutable {
    try {
      body(ends...);
    } catch (const Poisoned&) {
      (ends.poison(), ...);
    } catch (const Retired&) {
    }
    (ends.retire(), ...);
  };
}

/// Runs all processes, and returns when all have ended.
template <typename... Processes>
void parallel(Processes... processes) {
  std::vector<boost::fibers::fiber> fibers;
  (fibers.emplace_back(std::move(processes)), ...);
  for (boost::fibers::fiber& fiber : fibers) fiber.join();
}
