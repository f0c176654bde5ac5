// Pitfall: what was read before a co_await is used after it
//
// Ten tasks in one thread add 1 to a counter, and the counter ends at 1. Each task reads it, then waits for a moment,
// and then writes what it has read plus 1. While it waits, the other nine read the same 0. There is no data race, since
// only one thread runs; the updates are lost all the same.
//
// Compile: g++ -std=c++20 -O2 chapters/04_async/async_tasks/async_tasks_lost_update.cpp -pthread -o async_tasks_lost_update
// Run:     async_tasks_lost_update
// Symptom: exit 1, prints "updates were lost"

#include <boost/asio.hpp>
#include <cstdio>

namespace asio = boost::asio;

asio::awaitable<void> add_one(int& counter) {
  const int seen = counter;
  co_await asio::post(asio::use_awaitable);  // lets the others run; any other co_await might do so, too
  counter = seen + 1;                        // wrong: by now the counter may have changed
}

int main() {
  asio::io_context loop;
  int counter = 0;
  for (int task = 0; task < 10; ++task) asio::co_spawn(loop, add_one(counter), asio::detached);
  loop.run();
  std::printf("10 tasks have added 1; the counter is %d\n", counter);
  if (counter == 10) return 0;
  std::puts("updates were lost");
  return 1;
}
