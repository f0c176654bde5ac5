// Echo server
//
// Fifty clients are connected at the same time. Each sends ten messages, waits for each answer, and pauses a
// millisecond before the next one. The server sends back what it gets, in three forms: one client after another, a
// thread per client, and a coroutine per client in one thread. The program prints how many threads each form has, and
// how long it takes until all clients have their answers, beside the sum of the pauses: those of all clients if they
// are served in turn, those of one client if they pause at the same time. The clients are coroutines as well, in
// the main thread.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/echo_server/echo_server.cpp common/cookbook/*.cpp -lfmt -pthread -o echo_server
// Run:     echo_server [--clients N] [--messages N]

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "echo.hpp"

namespace {

/// Serves one client by calls that wait: the thread sleeps in read_some() until the client has sent something.
void echo_and_wait(tcp::socket socket) {
  std::array<char, 4096> buffer;
  socket.set_option(tcp::no_delay(true));
  for (boost::system::error_code ended; !ended;) {
    const std::size_t count = socket.read_some(asio::buffer(buffer), ended);
    if (!ended) asio::write(socket, asio::buffer(buffer, count), ended);
  }
}

// The three forms of the server. `loop` belongs to the acceptor; the first two make no use of it.

void one_after_another(asio::io_context&, tcp::acceptor& acceptor, int clients) {
  for (int i = 0; i < clients; ++i) echo_and_wait(acceptor.accept());
}

void thread_per_client(asio::io_context&, tcp::acceptor& acceptor, int clients) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < clients; ++i) threads.emplace_back(echo_and_wait, acceptor.accept());
}

void coroutine_per_client(asio::io_context& loop, tcp::acceptor& acceptor, int) {
  asio::co_spawn(loop, serve(acceptor), rethrow);
  loop.run();  // returns when the acceptor is closed and no client is left
}

long threads_of_this_process() { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}); }

/// What the clients of a server have seen.
struct Seen {
  asio::steady_timer all_are_here;  ///< never ends by itself; to cancel it wakes all who wait for it
  int expected;                     ///< clients that wait for each other when they have their first answers
  int right_answers = 0, served = 0, most_served = 0;
  long most_threads = 0;
};

asio::awaitable<void> client(tcp::endpoint server, int id, int messages, Seen& seen) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(server, asio::deferred);
  asio::steady_timer pause(socket.get_executor());
  for (int i = 1; i <= messages; ++i) {
    const std::string message = fmt::format("message {} of client {}", i, id);
    std::string answer(message.size(), ' ');
    co_await asio::async_write(socket, asio::buffer(message), asio::deferred);
    co_await asio::async_read(socket, asio::buffer(answer), asio::deferred);
    seen.right_answers += answer == message;
    if (i == 1) {
      seen.most_served = std::max(seen.most_served, ++seen.served);
      if (seen.served == seen.expected) seen.all_are_here.cancel();
      if (seen.served < seen.expected) co_await seen.all_are_here.async_wait(with_error);
      seen.most_threads = std::max(seen.most_threads, threads_of_this_process());
    }
    if (i == messages) break;
    pause.expires_after(std::chrono::milliseconds(1));
    co_await pause.async_wait(asio::deferred);
  }
  --seen.served;  // and the destructor of `socket` ends the connection
}

using Server = void (*)(asio::io_context& loop, tcp::acceptor& acceptor, int clients);

/// Prints a row; returns how many answers were right, and how many clients were served at the same time.
std::vector<int> row(const char* name, Server run_server, int clients, int messages) {
  // 1: a single thread runs each of the loops.
  asio::io_context loop(1), clients_loop(1);
  tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});  // port 0: the system chooses a free one
  const tcp::endpoint endpoint = acceptor.local_endpoint();
  std::jthread server([&] { run_server(loop, acceptor, clients); });
  // Counted once: Linux may list a thread of the last server for a moment after it has been joined.
  static const long with_one_of_the_server = threads_of_this_process();

  // One after another, the first client would wait in vain for the others.
  Seen seen = {asio::steady_timer(clients_loop, asio::steady_timer::time_point::max()),
               run_server == one_after_another ? 1 : clients};
  const cookbook::Stopwatch watch;
  for (int id = 1; id <= clients; ++id) {
    asio::co_spawn(clients_loop, client(endpoint, id, messages, seen), rethrow);
  }
  clients_loop.run();
  const double ms = watch.seconds() * 1e3;
  asio::post(loop, [&] { acceptor.close(); });  // nobody else will come
  const int pauses_ms = (messages - 1) * (run_server == one_after_another ? clients : 1);
  cookbook::println("{:<23}{:8}{:18}{:13} ms{:9.1f} ms", name, seen.most_threads - with_one_of_the_server + 1,
                    seen.most_served, pauses_ms, ms);
  return {seen.right_answers, seen.most_served};
}

}  // namespace

int main(int argc, char** argv) {
  int clients = 50, messages = 10;
  cookbook::Options options("Serve many clients: one after another, by threads, by coroutines");
  options.add("clients", clients, "clients that are connected at the same time", 1, 400);
  options.add("messages", messages, "messages that each client sends", 1, 100'000);
  options.parse(argc, argv);

  cookbook::println("{:>4} clients            threads   served together  pauses of 1 ms    whole time", clients);
  const auto first = row("one after another", one_after_another, clients, messages);
  const auto second = row("a thread per client", thread_per_client, clients, messages);
  const auto third = row("a coroutine per client", coroutine_per_client, clients, messages);

  cookbook::Checks checks;
  const int all = clients * messages;
  checks.equal("answers that are equal to their message", std::vector{first[0], second[0], third[0]}, {all, all, all});
  checks.equal("clients served at the same time", std::vector{first[1], second[1], third[1]}, {1, clients, clients});
  return checks.exit_code();
}
