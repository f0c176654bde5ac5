// Echo server on io_uring
//
// An echo server twice, in one thread each. On epoll the kernel says which sockets are ready, and the server
// makes a system call for each receive and each send. On io_uring the server puts the operations into a queue that it
// shares with the kernel, hands many over by one system call, and is told when they are complete. The program serves
// one client and then more by both, and prints the system calls per message.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/uring_echo/uring_echo.cpp common/cookbook/*.cpp -luring -lfmt -pthread -o uring_echo
// Run:     uring_echo [--clients N] [--messages N]

#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "epoll_server.hpp"
#include "load.hpp"
#include "uring_server.hpp"

namespace {

/// Lets so many clients send so many messages each to a server, which a thread makes and runs until all clients have
/// gone. Returns how many of the answers were right.
template <typename Server>
int serve(std::optional<Server>& server, int clients, int messages) {
  const Listener listener;
  std::jthread serving([&] { server.emplace(listener.descriptor, clients).run(); });
  return exchange(listener.port, clients, messages).right_answers;
}

}  // namespace

int main(int argc, char** argv) {
  int clients = 100, messages = 5000;
  cookbook::Options options("The echo server by readiness (epoll) and by completion (io_uring)");
  options.add("clients", clients, "clients in a row beside those of 1 and 10", 1, 400);
  options.add("messages", messages, "messages in each row, as far as the clients can share them equally", 400,
              1'000'000);
  options.parse(argc, argv);

  try {
    const Ring ring;
  } catch (const std::system_error& error) {
    cookbook::println("skipped: the kernel refuses io_uring: {}", error.what());
    return 77;
  }

  cookbook::println("            system calls per message   operations per call");
  cookbook::println("clients       on epoll   on io_uring           of io_uring");
  std::vector<int> sent, on_epoll, on_uring;
  bool fewer = true;
  for (const int count : std::set<int>{1, 10, clients}) {
    std::optional<EpollServer> epoll;
    std::optional<UringServer> uring;
    on_epoll.push_back(serve(epoll, count, messages / count));
    on_uring.push_back(serve(uring, count, messages / count));
    sent.push_back(messages / count * count);
    const double epoll_calls = static_cast<double>(epoll->system_calls()),
                 uring_calls = static_cast<double>(uring->system_calls());
    cookbook::println("{:<7}{:15.2f}{:14.2f}{:22.1f}", count, epoll_calls / sent.back(), uring_calls / sent.back(),
                      static_cast<double>(uring->operations()) / uring_calls);
    fewer = fewer && uring_calls < epoll_calls;
  }

  cookbook::Checks checks;
  checks.equal("right answers on epoll", on_epoll, sent);
  checks.equal("right answers on io_uring", on_uring, sent);
  checks.that("io_uring makes fewer system calls than epoll", fewer);
  return checks.exit_code();
}
