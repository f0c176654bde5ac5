// Map in shared memory, measured
//
// What a get and a set cost in shared memory and by a manager process, beside what each of them cannot save: a lock,
// and a message there and back. Manager and workers are started, and each kept on a processor, before the clock runs.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/03_processes chapters/03_processes/shared_map/shared_map_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o shared_map_bench
// Run:     shared_map_bench [--operations N] [--workers N] [--rounds N]

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "shared_map.hpp"
#include "shared_memory.hpp"

namespace {

constexpr int max_workers = 16;
constexpr long keys = 100;

/// A process that owns a map, on processor 0: as in the recipe shared_state.
class Manager {
 public:
  enum Operation { none, get, set };

  Manager() {
    for (Ends& ends : sockets_) check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), "socketpair");
    process_ = cookbook::start_child([&] { serve(); });
  }
  ~Manager() {
    shutdown(sockets_[max_workers][0], SHUT_WR);
    cookbook::exit_code_of(process_);
    for (const Ends& ends : sockets_) {
      close(ends[0]);
      close(ends[1]);
    }
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  long ask(int client, Operation operation, long key, long value = 0) const {
    Message message = {client, operation, key, value};
    check(send(sockets_[max_workers][0], &message, sizeof message, MSG_NOSIGNAL), "send");
    check(recv(sockets_[client][0], &message, sizeof message, 0), "recv");
    return message.value;
  }

 private:
  using Ends = std::array<int, 2>;
  struct Message {
    int client;
    Operation operation;
    long key, value;
  };

  void serve() const {
    cookbook::pin(0);
    std::map<long, long> values;
    Message message;
    while (recv(sockets_[max_workers][1], &message, sizeof message, 0) == sizeof message) {
      if (message.operation == set) values[message.key] = message.value;
      if (message.operation == get) message.value = values.at(message.key);
      check(send(sockets_[message.client][1], &message, sizeof message, MSG_NOSIGNAL), "send");
    }
  }

  std::array<Ends, max_workers + 1> sockets_;  // one for the answers to each client, and the last for all requests
  pid_t process_;
};

/// The seconds that so many workers need for `operations` calls of operation(worker, key) in all, from the first call
/// to the last. They are started before, worker i on processor i + 1, modulo the number of processors.
template <typename Operation>
double seconds_of(int workers, long operations, Operation operation) {
  using Clock = std::chrono::steady_clock;  // the same for all processes of a machine
  struct Gate {
    std::atomic<int> ready = 0;
    std::atomic<bool> open = false;
    Clock::time_point begin[max_workers], end[max_workers];
  };
  const Shared<Gate> gate;
  std::vector<pid_t> children;
  for (int worker = 0; worker < workers; ++worker) {
    children.push_back(cookbook::start_child([&] {
      cookbook::pin(worker + 1);
      ++gate->ready;
      while (!gate->open) std::this_thread::yield();
      gate->begin[worker] = Clock::now();
      for (long i = 0; i < operations / workers; ++i) operation(worker, i % keys);
      gate->end[worker] = Clock::now();
    }));
  }
  while (gate->ready < workers) std::this_thread::yield();
  gate->open = true;
  for (const pid_t child : children) cookbook::exit_code_of(child);
  return std::chrono::duration<double>(*std::max_element(gate->end, gate->end + workers) -
                                       *std::min_element(gate->begin, gate->begin + workers))
      .count();
}

}  // namespace

int main(int argc, char** argv) {
  long operations = 20'000;
  int workers = 4, rounds = 7;
  cookbook::Options options("What an operation on a shared map costs");
  options.add("operations", operations, "operations by the manager, 50 times as many in shared memory", 1'000,
              10'000'000);
  options.add("workers", workers, "processes that share the operations in the rows of several workers", 2, max_workers);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);

  const Manager manager;
  const Shared<SharedMap> map;
  for (long key = 0; key < keys; ++key) {
    manager.ask(0, Manager::set, key, 2 * key);
    map->set(key, 2 * key);
  }
  const Shared<std::atomic<long>> wrong(0);
  const auto message = [&](int worker, long key) { *wrong += manager.ask(worker, Manager::none, key, 7) != 7; };
  const auto get_by_manager = [&](int worker, long key) {
    *wrong += manager.ask(worker, Manager::get, key) != 2 * key;
  };
  const auto set_by_manager = [&](int worker, long key) { manager.ask(worker, Manager::set, key, 2 * key); };
  const auto lock = [&](int, long) { const std::scoped_lock hold(*map); };
  const auto get = [&](int, long key) {
    if (map->get(key) != 2 * key) ++*wrong;
  };
  const auto set = [&](int, long key) { map->set(key, 2 * key); };

  const auto row = [&](const std::string& name, int by, long count, auto operation) {
    return cookbook::Benchmark(name, static_cast<double>(count), [=] { return seconds_of(by, count, operation); });
  };
  const std::string several = fmt::format(", {} workers", workers), one = ", 1 worker";
  cookbook::Figures by_manager("an operation by a manager", cookbook::cost("us", 1e-6));
  by_manager.measure(
      {row("message there and back" + one, 1, operations, message), row("get" + one, 1, operations, get_by_manager),
       row("set" + one, 1, operations, set_by_manager), row("get" + several, workers, operations, get_by_manager),
       row("set" + several, workers, operations, set_by_manager)},
      rounds);
  by_manager.percent_of("message there and back" + one, "message");

  const long more = 50 * operations;
  cookbook::Figures in_memory("an operation in shared memory", cookbook::cost("us", 1e-6));
  in_memory.measure({row("lock alone" + one, 1, more, lock), row("get" + one, 1, more, get),
                     row("set" + one, 1, more, set), row("lock alone" + several, workers, more, lock),
                     row("get" + several, workers, more, get), row("set" + several, workers, more, set)},
                    rounds);
  in_memory.percent_of("lock alone" + one, "lock");

  cookbook::Checks checks;
  checks.equal("wrong values", wrong->load(), 0L);
  by_manager.print(checks);
  in_memory.print(checks);
  return checks.exit_code();
}
