// Echo server on io_uring, measured beside epoll and beside the coroutines of Asio
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/04_async/uring_echo/uring_echo_bench.cpp common/cookbook/*.cpp -luring -lfmt -pthread -o uring_echo_bench
// Run:     uring_echo_bench [--messages N] [--rounds N]

#include <boost/asio.hpp>
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

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

/// The server of echo_server, for so many clients.
class AsioServer {
 public:
  AsioServer(int listener, int clients) : clients_(clients), acceptor_(loop_, tcp::v4(), dup(listener)) {}

  void run() {
    asio::co_spawn(loop_, serve(), asio::detached);
    loop_.run();
  }

 private:
  asio::awaitable<void> serve() {
    for (int i = 0; i < clients_; ++i) {
      asio::co_spawn(loop_, echo(co_await acceptor_.async_accept(asio::deferred)), asio::detached);
    }
  }

  static asio::awaitable<void> echo(tcp::socket socket) {
    std::array<char, 4096> buffer;
    for (;;) {
      const auto [ended, count] = co_await socket.async_read_some(asio::buffer(buffer), asio::as_tuple(asio::deferred));
      if (ended) co_return;
      co_await asio::async_write(socket, asio::buffer(buffer, count), asio::as_tuple(asio::deferred));
    }
  }

  int clients_;
  asio::io_context loop_{1};
  tcp::acceptor acceptor_;
};

template <typename Server>
double seconds_for(int clients, int messages, long& wrong) {
  const Listener listener;
  Server server(listener.descriptor, clients);
  std::jthread serving([&] { server.run(); });
  const Load load = exchange(listener.port, clients, messages);
  wrong += clients * messages - load.right_answers;
  return load.seconds;
}

}  // namespace

int main(int argc, char** argv) {
  int messages = 12'800, rounds = 9;
  cookbook::Options options("What a message costs an echo server on epoll, on Asio and on io_uring");
  options.add("messages", messages, "messages of a measured run", 128, 10'000'000);
  options.add("rounds", rounds, "measured runs of each server", 1, 1'000);
  options.parse(argc, argv);
  try {
    const Ring ring;
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
    figures.measure(
        {{"epoll loop", items, [&, clients] { return seconds_for<EpollServer>(clients, each, wrong); }},
         {"coroutines of Asio", items, [&, clients] { return seconds_for<AsioServer>(clients, each, wrong); }},
         {"io_uring", items, [&, clients] { return seconds_for<UringServer>(clients, each, wrong); }}},
        rounds);
  }
  cookbook::Checks checks;
  checks.equal("wrong answers", wrong, 0L);
  for (const cookbook::Figures& table : tables) table.print(checks);
  return checks.exit_code();
}
