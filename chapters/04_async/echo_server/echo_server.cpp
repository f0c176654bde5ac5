// Echo server
//
// A server sends back what it gets, to a hundred clients that are connected at the same time. All of it happens in one
// thread: there is a coroutine for each client, and the event loop resumes the one whose client has sent something. The
// clients are coroutines of the same loop. Each sends ten messages and waits for each answer. The server is in
// echo.hpp.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/echo_server/echo_server.cpp common/cookbook/*.cpp -lfmt -pthread -o echo_server
// Run:     echo_server [--clients N] [--messages N]

#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "echo.hpp"

namespace {

struct Clients {
  tcp::acceptor& acceptor;          ///< of the server
  asio::steady_timer all_are_here;  ///< never ends by itself; to cancel it wakes all who wait for it
  int expected, connected = 0, right_answers = 0;
};

asio::awaitable<void> client(Clients& clients, int id, int messages) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(clients.acceptor.local_endpoint(), asio::deferred);
  for (int i = 1; i <= messages; ++i) {
    const std::string message = fmt::format("message {} of client {}", i, id);
    std::string answer(message.size(), ' ');
    co_await asio::async_write(socket, asio::buffer(message), asio::deferred);
    co_await asio::async_read(socket, asio::buffer(answer), asio::deferred);
    clients.right_answers += answer == message;

    if (i > 1) continue;
    // After the first answer, wait until all clients are connected.
    if (++clients.connected == clients.expected) {
      clients.all_are_here.cancel();
      clients.acceptor.close();  // nobody else will come
    } else {
      co_await clients.all_are_here.async_wait(asio::as_tuple(asio::deferred));  // the error is returned, not thrown
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int client_count = 100, messages = 10;
  cookbook::Options options("Serve many clients in one thread, with one coroutine each");
  options.add("clients", client_count, "clients that are connected at the same time", 1, 400);
  options.add("messages", messages, "messages that each client sends", 1, 100'000);
  options.parse(argc, argv);

  asio::io_context loop(1);
  tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});  // port 0: the system chooses a free one
  asio::co_spawn(loop, serve(acceptor), asio::detached);

  Clients clients = {acceptor, asio::steady_timer(loop, asio::steady_timer::time_point::max()), client_count};
  for (int id = 1; id <= client_count; ++id) asio::co_spawn(loop, client(clients, id, messages), asio::detached);
  loop.run();  // returns when no coroutine waits for anything any more

  cookbook::Checks checks;
  checks.equal("clients connected at the same time", clients.connected, client_count);
  checks.equal("answers that are equal to their message", clients.right_answers, client_count * messages);
  return checks.exit_code();
}
