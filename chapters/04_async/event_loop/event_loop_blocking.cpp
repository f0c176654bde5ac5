// Pitfall: a callback that waits
//
// A timer is due after 10 milliseconds. A callback that comes before sleeps for 200. While it sleeps, the loop's thread
// sleeps, and the loop can call nobody: the timer's callback comes 190 milliseconds late.
//
// Compile: g++ -std=c++20 -O2 chapters/04_async/event_loop/event_loop_blocking.cpp -pthread -o event_loop_blocking
// Run:     event_loop_blocking
// Symptom: exit 1, prints "too late"

#include <boost/asio.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

namespace asio = boost::asio;
using namespace std::chrono_literals;

int main() {
  asio::io_context loop;
  const auto start = std::chrono::steady_clock::now();
  std::chrono::duration<double, std::milli> late = 0ms, pause = 0ms;
  asio::steady_timer timer(loop, 10ms);
  timer.async_wait([&](const boost::system::error_code&) { late = std::chrono::steady_clock::now() - timer.expiry(); });
  asio::post(loop, [&] {
    std::this_thread::sleep_for(200ms);  // wrong: it should set a timer and return
    pause = std::chrono::steady_clock::now() - start;
  });
  loop.run();
  std::printf("a pause of %.0f ms is over\n", pause.count());
  std::printf("the timer's callback came %s, %.0f ms after it was due\n", late < 100ms ? "in time" : "too late",
              late.count());
  return pause >= 200ms && late < 100ms ? 0 : 1;
}
