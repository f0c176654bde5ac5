// Robust server
//
// The echo server again, for clients that nobody knows. One is slow, one is silent, one sends and never reads, and one
// comes when the server is full. In the end the server is asked to stop, while one client has answers to read. The
// program prints for each client what it does and what becomes of it. Servers and clients are coroutines of one loop,
// so a busy machine makes all of them slow, and the checks hold on it as well. The server is in robust_server.hpp.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/robust_server/robust_server.cpp common/cookbook/*.cpp -lfmt -pthread -o robust_server
// Run:     robust_server [--serve] [--timeout-ms N] [--max-clients N]

#include "robust_server.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

using Milliseconds = std::chrono::milliseconds;
using cookbook::println;

double ms(const cookbook::Stopwatch& watch) { return watch.seconds() * 1e3; }

void row(std::string_view client, std::string_view does, std::string_view becomes) {
  println("{:<14}{:<33}{}", client, does, becomes);
}

asio::awaitable<tcp::socket> client_of(const RobustServer& server) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(server.endpoint(), asio::deferred);
  co_return socket;
}

/// Sends `text`, and returns the first byte of the answer; '-' if the server ends the connection instead.
asio::awaitable<char> ask(tcp::socket& client, std::string text) {
  char answer = '-';
  co_await asio::async_write(client, asio::buffer(text), with_error);
  co_await asio::async_read(client, asio::buffer(&answer, 1), with_error);
  co_return answer;
}

/// Sends and never reads, until the server closes the connection or nothing moves for `limit`. Returns how many
/// bytes went out.
asio::awaitable<std::size_t> flood(tcp::socket& client, Milliseconds limit) {
  const std::string block(1 << 14, '!');
  asio::steady_timer stuck(client.get_executor());
  std::size_t bytes = 0;
  for (;;) {
    stuck.expires_after(limit);
    stuck.async_wait([&](error_code cancelled) {
      if (!cancelled) client.cancel();
    });
    const auto [error, sent] = co_await client.async_write_some(asio::buffer(block), with_error);
    bytes += sent;
    if (error) co_return bytes;
  }
}

/// What the clients have seen, for the checks.
struct Seen {
  std::string slow_got;
  std::size_t served_when_full = 0;
  std::vector<std::string> ends;  // what the late, the busy and the idle client get from the server that stops
};

asio::awaitable<void> slow_client(const RobustServer& server, Milliseconds timeout, Seen& seen) {
  const cookbook::Stopwatch watch;
  tcp::socket slow = co_await client_of(server);
  for (const std::string byte : {"a", "b", "c", "d", "e", "f"}) {  // for two timeouts in all
    co_await asio::steady_timer(slow.get_executor(), timeout / 3).async_wait(asio::deferred);
    seen.slow_got += co_await ask(slow, byte);
    if (seen.slow_got.back() == '-') break;  // closed: nothing more can be sent
  }
  row("slow", fmt::format("sends six bytes in {:.0f} ms", ms(watch)), "gets back: " + seen.slow_got);
}

/// Returns after how many milliseconds the server closes it.
asio::awaitable<double> silent_client(const RobustServer& server) {
  const cookbook::Stopwatch watch;
  tcp::socket silent = co_await client_of(server);
  co_await ask(silent, "");
  co_return ms(watch);
}

asio::awaitable<void> slow_silent_and_greedy(const RobustServer& server, Milliseconds timeout, Seen& seen) {
  using namespace asio::experimental::awaitable_operators;  // f() && g(): both at the same time
  const double closed_after = co_await (silent_client(server) && slow_client(server, timeout, seen));
  row("silent", "sends nothing", fmt::format("is closed after {:.0f} ms", closed_after));

  const cookbook::Stopwatch watch;
  tcp::socket greedy = co_await client_of(server);
  const std::size_t bytes = co_await flood(greedy, std::chrono::hours(1));
  row("greedy", fmt::format("sends {} KiB, never reads", bytes >> 10),
      fmt::format("is closed after {:.0f} ms", ms(watch)));
}

asio::awaitable<void> full_house(const RobustServer& server, std::size_t max_clients, Seen& seen) {
  std::vector<tcp::socket> clients;
  while (clients.size() < max_clients) clients.push_back(co_await client_of(server));
  const cookbook::Stopwatch watch;
  tcp::socket one_more = co_await client_of(server);
  const bool closed = co_await ask(one_more, "") == '-';
  const double after = ms(watch);
  for (tcp::socket& client : clients) seen.served_when_full += co_await ask(client, "x") == 'x';
  row("one too many", fmt::format("comes when {} are there", clients.size()),
      fmt::format("is {} after {:.0f} us", closed ? "closed" : "served", after * 1e3));
}

asio::awaitable<void> orderly_end(RobustServer& server, Seen& seen) {
  tcp::socket busy = co_await client_of(server), idle = co_await client_of(server);
  char byte = co_await ask(idle, "x");
  co_await flood(busy, Milliseconds(20));  // the server has answers that do not go out

  const tcp::endpoint endpoint = server.endpoint();
  asio::co_spawn(busy.get_executor(), server.stop(std::chrono::seconds(10)), rethrow);
  co_await asio::post(busy.get_executor(), asio::deferred);
  tcp::socket late(busy.get_executor());
  const auto [refused] = co_await late.async_connect(endpoint, with_error);
  row("late", "comes after stop()", refused.message());

  std::string received;
  const auto [end, count] = co_await asio::async_read(busy, asio::dynamic_buffer(received), with_error);
  row("busy", "has answers under way at stop()", fmt::format("reads {} KiB, then {}", count >> 10, end.message()));
  const auto [idle_end, none] = co_await asio::async_read(idle, asio::buffer(&byte, 1), with_error);
  row("idle", "has nothing to read at stop()", idle_end.message());
  seen.ends = {refused.message(), end.message(), idle_end.message()};
}

/// Serves until SIGTERM or Ctrl-C; a second one ends the program at once.
void serve_until_signal(asio::io_context& loop, RobustServer& server) {
  asio::signal_set signals(loop, SIGTERM, SIGINT);
  println("listening on 127.0.0.1:{}", server.endpoint().port());
  signals.async_wait([&](error_code, int) {
    signals.clear();  // from now on signals do what they do without a signal_set
    println("ending: nobody is accepted any more");
    asio::co_spawn(loop, server.stop(std::chrono::seconds(1)), rethrow);
  });
  loop.run();  // returns when all clients have gone
}

}  // namespace

int main(int argc, char** argv) {
  bool serve = false;
  int timeout_ms = 200;
  std::size_t max_clients = 5;
  cookbook::Options options("Serve clients that are slow, silent or greedy");
  options.add_flag("serve", serve, "only serve, until SIGTERM or Ctrl-C");
  options.add("timeout-ms", timeout_ms, "milliseconds after which a client that makes no progress is closed", 100,
              86'400'000);
  options.add("max-clients", max_clients, "clients at the same time", 3, 400);
  options.parse(argc, argv);

  const Milliseconds timeout(timeout_ms);
  asio::io_context loop(1);  // 1: only one thread runs it
  RobustServer server(loop, timeout, max_clients);
  if (serve) {
    serve_until_signal(loop, server);
    return 0;
  }

  // Two more servers are to be full, and to end, for as long as it takes. On a slow machine that may be longer than the
  // timeout.
  RobustServer full(loop, std::chrono::hours(1), max_clients), ending(loop, std::chrono::hours(1), max_clients);
  Seen seen;
  row("client", "what it does", fmt::format("what becomes of it (timeout {} ms)", timeout_ms));
  const auto difficult_clients = [&]() -> asio::awaitable<void> {
    co_await slow_silent_and_greedy(server, timeout, seen);
    co_await full_house(full, max_clients, seen);
    co_await orderly_end(ending, seen);
    co_await server.stop(Milliseconds(0));
    co_await full.stop(Milliseconds(0));
  };
  asio::co_spawn(loop, difficult_clients(), rethrow);
  loop.run();

  cookbook::Checks checks;
  checks.equal("what the slow client got back", seen.slow_got, "abcdef");
  checks.equal("clients closed by the timer", server.timed_out, 2);
  checks.equal("clients that the full server serves", seen.served_when_full, max_clients);
  checks.equal("late, busy, idle", seen.ends, {"Connection refused", "End of file", "End of file"});
  return checks.exit_code();
}
