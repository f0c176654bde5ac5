// Pitfall: a call that waits
//
// There is a coroutine for each client, as in echo.hpp. But it reads by read_some(), which waits, instead of co_await
// async_read_some(). It compiles without a warning, and works with one client. With two it stands still: the first
// client says nothing more, so the call waits for it, and with the call waits the only thread.
//
// Compile: g++ -std=c++20 -O2 chapters/04_async/echo_server/echo_server_blocking.cpp -pthread -o echo_server_blocking
// Run:     echo_server_blocking, then Ctrl-C
// Symptom: hangs

#include <array>
#include <boost/asio.hpp>
#include <cstdio>
#include <string>
#include <thread>

namespace asio = boost::asio;
using asio::ip::tcp;

asio::awaitable<void> echo(tcp::socket socket) {
  std::array<char, 4096> buffer;
  for (;;) {
    const std::size_t count = socket.read_some(asio::buffer(buffer));  // wrong: no co_await, no async_
    co_await asio::async_write(socket, asio::buffer(buffer, count), asio::deferred);
  }
}

asio::awaitable<void> serve(tcp::acceptor& acceptor) {
  for (;;) {
    tcp::socket socket = co_await acceptor.async_accept(asio::deferred);
    asio::co_spawn(acceptor.get_executor(), echo(std::move(socket)), asio::detached);
  }
}

int main() {
  asio::io_context loop(1), other_loop;
  tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});
  asio::co_spawn(loop, serve(acceptor), asio::detached);
  const tcp::endpoint server = acceptor.local_endpoint();
  std::jthread running([&] { loop.run(); });

  tcp::socket first(other_loop), second(other_loop);
  std::string answer(5, ' ');
  for (tcp::socket* client : {&first, &second}) {
    client->connect(server);
    asio::write(*client, asio::buffer("hello", 5));
    asio::read(*client, asio::buffer(answer));
    std::puts("a client is served");
    std::fflush(stdout);
  }
  std::puts("both clients are served");
  loop.stop();
}
