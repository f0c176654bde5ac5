// Echo server on io_uring, measured beside epoll: what two calls cost, and what a buffer per client
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/04_async/uring_echo/uring_echo_bench.cpp common/cookbook/*.cpp -luring -lfmt -pthread -o uring_echo_bench
// Run:     uring_echo_bench [--messages N] [--rounds N]

#include <exception>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "epoll_server.hpp"
#include "load.hpp"
#include "uring_server.hpp"

namespace {

constexpr unsigned deferred = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;  // since Linux 6.1

template <typename Server, typename... How>
double seconds_for(int clients, int messages, long& wrong, How... how) {
  const Listener listener;
  std::jthread serving([&] { Server(listener.descriptor, clients, how...).run(); });
  const Load load = exchange(listener.port, clients, messages);
  wrong += clients * messages - load.right_answers;
  return load.seconds;
}

}  // namespace

int main(int argc, char** argv) {
  int messages = 12'800, rounds = 9;
  cookbook::Options options("What a message costs an echo server on epoll and on io_uring");
  options.add("messages", messages, "messages of a measured run", 128, 10'000'000);
  options.add("rounds", rounds, "measured runs of each server", 1, 1'000);
  options.parse(argc, argv);
  try {
    const Ring ring(deferred);
  } catch (const std::system_error& error) {
    cookbook::println("skipped: the kernel refuses io_uring: {}", error.what());
    return 77;
  }
  cookbook::pin(0);  // clients and servers share one processor, so that it does not depend on luck who runs where

  long wrong = 0;
  std::vector<cookbook::Figures> tables;
  for (const int clients : {1, 16, 128}) {
    const int each = messages / clients;
    const auto items = static_cast<double>(each * clients);
    cookbook::Figures& figures =
        tables.emplace_back(fmt::format("messages, {} connections", clients), cookbook::rate("/s", 1));
    figures.speedup_over("epoll loop");
    figures.measure({{"epoll loop", items, [&, clients] { return seconds_for<EpollServer>(clients, each, wrong); }},
                     {"epoll, a buffer per client", items,
                      [&, clients] { return seconds_for<EpollServer>(clients, each, wrong, true); }},
                     {"epoll, two calls more", items,
                      [&, clients] { return seconds_for<EpollServer>(clients, each, wrong, false, 2); }},
                     {"io_uring", items, [&, clients] { return seconds_for<UringServer>(clients, each, wrong); }},
                     {"io_uring, deferred", items,
                      [&, clients] { return seconds_for<UringServer>(clients, each, wrong, deferred); }}},
                    rounds);
  }
  cookbook::Checks checks;
  checks.equal("wrong answers", wrong, 0L);
  for (const cookbook::Figures& table : tables) table.print(checks);
  return checks.exit_code();
}
