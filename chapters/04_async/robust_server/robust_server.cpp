// Robust server
//
// The echo server again, for clients that nobody knows. One is silent, one sends and never reads, one is slow, and one
// comes when the server is full. The server (robust_server.hpp) closes those that make no progress for long, rejects
// those that are too many, and serves the others. Servers and clients are coroutines of one loop, so a busy machine
// makes all of them slow, and the checks hold on it as well.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/robust_server/robust_server.cpp common/cookbook/*.cpp -lfmt -pthread -o robust_server
// Run:     robust_server [--serve] [--timeout-ms N] [--max-clients N]

#include "robust_server.hpp"

#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

asio::awaitable<tcp::socket> client_of(const RobustServer& server) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(server.endpoint(), asio::deferred);
  co_return socket;
}

/// Sends `text`, and returns the first byte of the answer; '-' if the server closes the connection instead.
asio::awaitable<char> ask(tcp::socket& client, std::string text) {
  char answer = '-';
  co_await asio::async_write(client, asio::buffer(text), with_error);
  co_await asio::async_read(client, asio::buffer(&answer, 1), with_error);
  co_return answer;
}

}  // namespace

int main(int argc, char** argv) {
  bool serve = false;
  int timeout_ms = 200;
  std::size_t max_clients = 5;
  cookbook::Options options("Serve clients that are slow, silent or greedy");
  options.add_flag("serve", serve, "only serve, until Ctrl-C");
  options.add("timeout-ms", timeout_ms, "milliseconds after which a client that moves no byte is closed", 100,
              86'400'000);
  options.add("max-clients", max_clients, "clients at the same time", 3, 400);
  options.parse(argc, argv);

  const std::chrono::milliseconds timeout(timeout_ms);
  asio::io_context loop(1);  // 1: only one thread runs it
  RobustServer server(loop, timeout, max_clients);
  if (serve) {
    cookbook::println("listening on 127.0.0.1:{}", server.endpoint().port());
    loop.run();  // never returns
  }

  // A second server is to be full for as long as it takes. On a slow machine that may be longer than the timeout.
  RobustServer full(loop, std::chrono::hours(1), max_clients);
  cookbook::Checks checks;
  const auto difficult_clients = [&]() -> asio::awaitable<void> {
    tcp::socket silent = co_await client_of(server);
    tcp::socket slow = co_await client_of(server);
    std::string answers;
    for (const std::string byte : {"s", "l", "o", "w", "l", "y"}) {  // for two timeouts in all
      co_await asio::steady_timer(loop, timeout / 3).async_wait(asio::deferred);
      answers += co_await ask(slow, byte);
    }
    slow.close();
    checks.equal("a client that sends a byte now and then receives", answers, "slowly");
    checks.that("a silent client is closed", co_await ask(silent, "") == '-');

    tcp::socket greedy = co_await client_of(server);  // sends without end, and never reads
    const std::string block(1 << 16, '!');
    for (error_code closed; !closed;) {
      std::tie(closed, std::ignore) = co_await asio::async_write(greedy, asio::buffer(block), with_error);
    }
    checks.equal("clients closed by the timer, with one that never reads", server.timed_out, 2);

    std::vector<tcp::socket> clients;
    while (clients.size() < max_clients) clients.push_back(co_await client_of(full));
    tcp::socket one_more = co_await client_of(full);
    checks.that("one client too many is closed", co_await ask(one_more, "") == '-');
    std::size_t served = 0;
    for (tcp::socket& client : clients) served += co_await ask(client, "x") == 'x';
    checks.equal("clients that the full server serves", served, max_clients);
  };
  asio::co_spawn(loop, difficult_clients(), [&](std::exception_ptr error) {
    loop.stop();  // the servers have no end of their own
    if (error) std::rethrow_exception(error);
  });
  loop.run();
  return checks.exit_code();
}
