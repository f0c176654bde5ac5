// Echo server, measured beside a bare epoll loop
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/04_async/echo_server/echo_server_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o echo_server_bench
// Run:     echo_server_bench [--messages N] [--rounds N]

#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/posix.hpp"
#include "echo.hpp"

namespace {

/// The least that a server of one thread on epoll has to do: an epoll_wait for what is ready, and per message a recv
/// and a send. It closes the connection of a client that does not read. Returns when `listener` is shut down.
void epoll_loop(int listener) {
  const int ready = check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  const auto watch = [&](int descriptor) {
    epoll_event event = {EPOLLIN, {.fd = descriptor}};
    check(epoll_ctl(ready, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
  };
  watch(listener);
  std::array<epoll_event, 128> events;
  std::array<char, 4096> buffer;
  for (;;) {
    const int count = check(epoll_wait(ready, events.data(), events.size(), -1), "epoll_wait");
    for (int i = 0; i < count; ++i) {
      const int socket = events[static_cast<std::size_t>(i)].data.fd;
      if (socket == listener) {
        const int client = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client < 0 && errno == EINVAL) {  // shut down
          close(ready);
          return;
        }
        check(client, "accept4");  // without it the clients would wait for ever
        const int yes = 1;
        check(setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "setsockopt");
        watch(client);
      } else if (const ssize_t got = recv(socket, buffer.data(), buffer.size(), 0);
                 got <= 0 || send(socket, buffer.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) != got) {
        close(socket);
      }
    }
  }
}

/// Sends `messages` messages of 64 bytes to a server on so many connections, one message on each of them before the
/// first answer is read. Returns the seconds; adds wrong answers to `wrong`.
double load(const tcp::endpoint& server, int connections, int messages, long& wrong) {
  asio::io_context loop;
  std::vector<tcp::socket> sockets;
  const std::string message(64, 'm');
  std::string answer(64, ' ');
  for (int i = 0; i < connections; ++i) {
    tcp::socket& socket = sockets.emplace_back(loop);
    socket.connect(server);
    socket.set_option(tcp::no_delay(true));
  }
  const auto exchange = [&] {
    for (tcp::socket& socket : sockets) asio::write(socket, asio::buffer(message));
    for (tcp::socket& socket : sockets) {
      asio::read(socket, asio::buffer(answer));
      wrong += answer != message;
      answer.front() = ' ';
    }
  };
  exchange();  // by now the server has accepted all of them
  const cookbook::Stopwatch watch;
  for (int sent = 0; sent < messages; sent += connections) exchange();
  return watch.seconds();
}

}  // namespace

int main(int argc, char** argv) {
  int messages = 12'800, rounds = 9;
  cookbook::Options options("What a message costs a server of coroutines, and a bare epoll loop");
  options.add("messages", messages, "messages of a measured run", 128, 10'000'000);
  options.add("rounds", rounds, "measured runs of each server", 1, 1'000);
  options.parse(argc, argv);
  messages -= messages % 128;  // the same number on any number of connections

  // Clients and servers share one processor, so that it does not depend on luck who runs where, and do not interrupt
  // each other when they are woken (SCHED_BATCH). Threads that are started from here on inherit both.
  cookbook::pin(0);
  const sched_param none = {};
  check(sched_setscheduler(0, SCHED_BATCH, &none), "sched_setscheduler");

  asio::io_context loop(1), other_loop;
  tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});
  tcp::acceptor bare(other_loop, {asio::ip::address_v4::loopback(), 0});
  asio::co_spawn(loop, serve(acceptor), rethrow);
  std::jthread coroutines([&] { loop.run(); });
  std::jthread epoll([&] { epoll_loop(bare.native_handle()); });
  const tcp::endpoint server = acceptor.local_endpoint(), reference = bare.local_endpoint();

  long wrong = 0;
  std::vector<cookbook::Figures> tables;
  for (const int connections : {1, 16, 128}) {
    cookbook::Figures& figures =
        tables.emplace_back(fmt::format("messages, {} connections", connections), cookbook::rate("/s", 1));
    figures.measure(
        {{"epoll loop", static_cast<double>(messages), [&] { return load(reference, connections, messages, wrong); }},
         {"coroutines", static_cast<double>(messages), [&] { return load(server, connections, messages, wrong); }}},
        rounds);
    figures.speedup_over("epoll loop");
  }
  asio::post(loop, [&] { loop.stop(); });
  shutdown(bare.native_handle(), SHUT_RDWR);

  cookbook::Checks checks;
  checks.equal("wrong answers", wrong, 0L);
  for (const cookbook::Figures& table : tables) table.print(checks);
  return checks.exit_code();
}
