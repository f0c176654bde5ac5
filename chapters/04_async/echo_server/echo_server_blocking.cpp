// Echo server, with a call that waits
//
// A coroutine a client, as in echo_server.cpp, but each reads by a call that waits instead of a co_await. It compiles
// without a warning and works with one client. With two it stands still: the first says nothing yet, the call waits for
// it, and with it waits the only thread, so that nobody else is served, not even let in.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/echo_server/echo_server_blocking.cpp common/cookbook/*.cpp -lfmt -pthread -o echo_server_blocking
// Run:     echo_server_blocking
// Symptom: hangs

#include <array>
#include <boost/asio.hpp>
#include <thread>

#include "clients.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

asio::awaitable<void> echo(tcp::socket socket) {
  std::array<char, 4096> buffer;
  boost::system::error_code error;
  for (;;) {
    const std::size_t count = socket.read_some(asio::buffer(buffer), error);  // the mistake: no co_await, no async_
    if (error) co_return;
    co_await asio::async_write(socket, asio::buffer(buffer, count), asio::use_awaitable);
  }
}

asio::awaitable<void> accept(tcp::acceptor& acceptor) {
  for (;;) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(), echo(std::move(socket)), asio::detached);
  }
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Wait inside a coroutine, and hold up everybody");
  options.parse(argc, argv);

  asio::io_context loop(1);
  tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});
  asio::co_spawn(loop, accept(acceptor), asio::detached);
  std::jthread server([&] { loop.run(); });

  Client first(acceptor.local_endpoint().port());
  first.send("first");
  cookbook::println("the first client is served: {}", first.receive(5));
  Client second(acceptor.local_endpoint().port());
  second.send("second");
  cookbook::println("the second client waits as long as the first says nothing");
  for (;;) {
    if (second.receive(6) == "second") break;
  }
  cookbook::println("the second client is served, which never happens");
}
