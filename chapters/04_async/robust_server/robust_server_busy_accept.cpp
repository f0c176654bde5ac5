// Pitfall: accept() fails, and the server tries again at once
//
// A process may have only so many file descriptors open; here, sixteen. When none is left, accept() fails. The client
// stays in the system's queue, so the next accept() fails as well, and so on: the loop keeps a processor busy, and no
// client gains by it. (Here it gives up after 1,000 times.) A pause of some milliseconds after an error is enough.
//
// Compile: g++ -std=c++20 -O2 chapters/04_async/robust_server/robust_server_busy_accept.cpp -pthread -o robust_server_busy_accept
// Run:     robust_server_busy_accept
// Symptom: exit 1, prints "accept() has failed 1000 times in a row: Too many open files"
// Symptom under address: skipped, the sanitizer needs files of its own

#include <sys/resource.h>

#include <boost/asio.hpp>
#include <chrono>
#include <cstdio>
#include <list>

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;

asio::awaitable<void> serve(tcp::acceptor& acceptor, std::list<tcp::socket>& clients) {
  Clock::time_point first_failure;
  for (int failures = 0; failures < 1'000;) {
    auto [error, socket] = co_await acceptor.async_accept(asio::as_tuple(asio::deferred));
    if (error) {
      if (failures == 0) first_failure = Clock::now();
      if (++failures == 1'000) {
        const std::chrono::duration<double, std::milli> passed = Clock::now() - first_failure;
        std::printf("accept() has failed %d times in a row: %s\n", failures, error.message().c_str());
        std::printf("from the first time to the last: %.1f ms\n", passed.count());
      }
      continue;  // wrong: at once
    }
    failures = 0;
    clients.push_back(std::move(socket));
  }
}

int main() {
  asio::io_context loop(1);
  tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});
  std::list<tcp::socket> clients, others;
  const rlimit files = {16, 16};
  if (setrlimit(RLIMIT_NOFILE, &files) != 0) return 3;

  boost::system::error_code none_left;
  while (!none_left) {  // clients in the same process take file descriptors as well
    tcp::socket& client = others.emplace_back(loop);
    client.connect(acceptor.local_endpoint(), none_left);
  }
  asio::co_spawn(loop, serve(acceptor, clients), asio::detached);
  loop.run_for(std::chrono::milliseconds(200));  // all the time no file descriptor is left
  others.pop_front();                            // now there is one
  loop.restart();
  loop.run_for(std::chrono::milliseconds(200));
  std::printf("clients accepted in the end: %zu\n", clients.size());
  return clients.empty() ? 1 : 0;
}
