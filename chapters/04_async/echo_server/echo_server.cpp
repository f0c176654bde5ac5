// Echo server
//
// A server that sends back what it gets, to many clients at once, in one thread: each client has a coroutine, and the
// event loop of Boost.Asio gives the thread to whichever has something to do. PlainServer below is all there is to it.
// SturdyServer (sturdy_server.hpp) is the same for the open world: timeouts, limits, a clean end. The program tries it
// with clients that are many, slow, silent, rude or gone (trials.hpp), then measures both beside servers on bare epoll
// (compare.hpp). With --serve the sturdy server runs alone until SIGTERM or SIGINT.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/echo_server/echo_server.cpp common/cookbook/*.cpp -lfmt -pthread -o echo_server
// Run:     echo_server [--clients N] [--serve [--port N] [--timeout-ms N] [--max-clients N]]

#include <sys/resource.h>

#include <array>
#include <boost/asio.hpp>
#include <chrono>

#include "compare.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "sturdy_server.hpp"
#include "trials.hpp"

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

class PlainServer {
 public:
  unsigned short port() const { return acceptor_.local_endpoint().port(); }

  void run() {
    asio::co_spawn(loop_, accept(), asio::detached);
    loop_.run();
  }

  /// Makes run() return, whatever the clients do. May be called from any thread.
  void drain() { loop_.stop(); }

 private:
  /// Reads like a blocking program for one client. But each co_await gives the thread back to the loop until the
  /// operation is done, so a thousand of these take turns. When the client goes, the read throws: that ends the
  /// coroutine, and with it the socket.
  static asio::awaitable<void> echo(tcp::socket socket) {
    std::array<char, 4096> buffer;
    for (;;) {
      const std::size_t count = co_await socket.async_read_some(asio::buffer(buffer), asio::use_awaitable);
      co_await asio::async_write(socket, asio::buffer(buffer, count), asio::use_awaitable);
    }
  }

  asio::awaitable<void> accept() {
    for (;;) {
      tcp::socket socket = co_await acceptor_.async_accept(asio::use_awaitable);
      socket.set_option(tcp::no_delay(true));
      asio::co_spawn(loop_, echo(std::move(socket)), asio::detached);
    }
  }

  asio::io_context loop_{1};
  tcp::acceptor acceptor_{loop_, {asio::ip::address_v4::loopback(), 0}};
};

int serve(unsigned short port, std::chrono::milliseconds timeout, std::size_t max_clients) {
  SturdyServer server(port, timeout, max_clients);
  server.drain_on_signals();
  cookbook::println("listening on 127.0.0.1:{}", server.port());
  server.run();
  cookbook::println("drained: {} served, {} timed out, {} rejected", server.served, server.timed_out, server.rejected);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  bool alone = false;
  unsigned short port = 0;
  int clients = 1000, timeout = 30'000;
  std::size_t max_clients = default_max_clients;
  cookbook::Options options("Serve many clients in one thread, a coroutine each");
  options.add("clients", clients, "clients at once in the self-test", 1, 5000);
  options.add_flag("serve", alone, "run the server alone until SIGTERM or SIGINT; the options below are for that");
  options.add("port", port, "port to listen on; 0 for a free one", 0, 65'535);
  options.add("timeout-ms", timeout, "milliseconds after which a client that moves no byte is closed", 4, 86'400'000);
  options.add("max-clients", max_clients, "clients at once; one more is rejected", 1, 100'000);
  options.parse(argc, argv);

  // A client is a file descriptor, in the self-test two. The usual limit of 1024 may be raised by the program itself.
  rlimit files = {};
  check(getrlimit(RLIMIT_NOFILE, &files), "getrlimit");
  files.rlim_cur = files.rlim_max;
  check(setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
  if (alone) return serve(port, std::chrono::milliseconds(timeout), max_clients);

  cookbook::Checks checks;
  try_plain_clients<PlainServer>(checks);
  try_odd_clients<SturdyServer>(checks);
  try_a_crowd<SturdyServer>(checks, clients);
  try_a_silent_client<SturdyServer>(checks);
  try_to_drain<SturdyServer>(checks);
  compare<PlainServer, SturdyServer>(checks);
  return checks.exit_code();
}
