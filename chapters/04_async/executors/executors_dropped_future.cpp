// Pitfall: the futures are dropped
//
// Ten jobs go to a pool of threads, and one of them fails. Nobody keeps the futures, so nobody asks them for the
// results, and the exception of the job that failed is destroyed with its packaged task. The program waits until the
// pool has nothing left to do, and then knows of no error.
//
// Compile: g++ -std=c++20 -O2 chapters/04_async/executors/executors_dropped_future.cpp -pthread -o executors_dropped_future
// Run:     executors_dropped_future
// Symptom: exit 1, prints "9 of 10 jobs are done, error: none"

#include <atomic>
#include <boost/asio.hpp>
#include <cstdio>
#include <future>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;

int main() {
  std::atomic<int> done = 0;
  std::string error = "none";
  asio::thread_pool pool(5);
  for (int item = 1; item <= 10; ++item) {
    asio::post(pool, std::packaged_task<void()>([&done, item] {  // wrong: what post() returns is not kept
                 if (item == 7) throw std::runtime_error("no such item");
                 ++done;
               }));
  }
  pool.join();
  std::printf("%d of 10 jobs are done, error: %s\n", done.load(), error.c_str());
  return done < 10 && error == "none" ? 1 : 0;
}
