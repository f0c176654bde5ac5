// Echo server on io_uring
//
// An echo server twice, in one thread each. On epoll the kernel says which sockets are ready, and the server
// makes a system call for each receive and each send. On io_uring the server puts the operations into a queue that it
// shares with the kernel, hands many over by one system call, and is told when they are complete. The program serves
// one client and then many by both, and prints the system calls per message, and what a message takes.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/uring_echo/uring_echo.cpp common/cookbook/*.cpp -luring -lfmt -pthread -o uring_echo
// Run:     uring_echo [--clients N] [--messages N]

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "epoll_server.hpp"
#include "load.hpp"
#include "uring_server.hpp"

namespace {

struct Row {
  double calls_per_message = 0, us_per_message = 1e9;
  int right = 0;
};

/// Lets so many clients send their messages to a server of this kind; the best of three runs.
template <typename Server>
Row measure(int clients, int messages) {
  Row row;
  for (int i = 0; i < 3; ++i) {
    const Listener listener;
    Server server(listener.descriptor, clients);
    std::jthread serving([&] { server.run(); });
    const Load load = exchange(listener.port, clients, messages);
    serving.join();  // all clients have gone
    row.right = load.right_answers;
    row.us_per_message = std::min(row.us_per_message, load.seconds / (clients * messages) * 1e6);
    row.calls_per_message = static_cast<double>(server.system_calls()) / (clients * messages);
  }
  return row;
}

Row print(const char* name, const Row& one, const Row& many) {
  cookbook::println("{:<12}{:8.2f} calls{:10.2f} us{:14.2f} calls{:10.2f} us", name, one.calls_per_message,
                    one.us_per_message, many.calls_per_message, many.us_per_message);
  return many;
}

}  // namespace

int main(int argc, char** argv) {
  int clients = 100, messages = 50;
  cookbook::Options options("The echo server by readiness (epoll) and by completion (io_uring)");
  options.add("clients", clients, "clients of the second measurement", 1, 400);
  options.add("messages", messages, "messages that each client sends; the single client sends ten times as many", 1,
              10'000);
  options.parse(argc, argv);

  try {
    const Ring ring;
  } catch (const std::system_error& error) {
    cookbook::println("skipped: the kernel refuses io_uring: {}", error.what());
    return 77;
  }

  cookbook::println("per message        1 client                      {} clients", clients);
  const Row epoll_one = measure<EpollServer>(1, 10 * messages), epoll_many = measure<EpollServer>(clients, messages);
  const Row uring_one = measure<UringServer>(1, 10 * messages), uring_many = measure<UringServer>(clients, messages);
  print("epoll", epoll_one, epoll_many);
  print("io_uring", uring_one, uring_many);

  cookbook::Checks checks;
  checks.equal("right answers to the single client", std::vector{epoll_one.right, uring_one.right},
               {10 * messages, 10 * messages});
  checks.equal("right answers to all clients", std::vector{epoll_many.right, uring_many.right},
               {clients * messages, clients * messages});
  checks.that("io_uring makes fewer system calls than epoll",
              uring_many.calls_per_message < epoll_many.calls_per_message);
  return checks.exit_code();
}
