// Define a thread
//
// Five threads run one function, each with its own number. Joined one by one, inside the loop that makes them, they run
// in order, one at a time. Joined after the loop they overlap, and the order of their lines changes from run to run.
// Then: what a thread is before it starts and after it was joined, what threads share and what each has for itself, how
// it gets its arguments, and how often the system switches away from it.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/define_thread/define_thread.cpp common/cookbook/*.cpp -lfmt -pthread -o define_thread
// Run:     define_thread [--threads N]

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <latch>
#include <mutex>
#include <numeric>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"

namespace {

/// The numbers of the threads in the order in which they spoke.
struct Journal {
  std::mutex guard;
  std::vector<int> numbers;
};

/// What every thread runs. The lock spans the line and the note, so that the noted order is the printed one.
void report(int number, Journal& journal) {
  std::scoped_lock hold(journal.guard);
  cookbook::println("function called by thread {}", number);
  journal.numbers.push_back(number);
}

/// One thread at a time: the next is made when the one before has ended.
std::vector<int> join_in_the_loop(int threads) {
  Journal journal;
  for (int number = 0; number < threads; ++number) {
    std::jthread thread(report, number, std::ref(journal));
    thread.join();
  }
  return journal.numbers;
}

/// All threads at once. The latch is a starting line: nobody passes it before all are there, so they surely overlap.
std::vector<int> join_at_the_end(int threads) {
  Journal journal;
  std::latch start(threads);
  std::vector<std::jthread> started;
  for (int number = 0; number < threads; ++number) {
    started.emplace_back([number, &journal, &start] {
      start.arrive_and_wait();
      report(number, journal);
    });
  }
  for (std::jthread& thread : started) thread.join();
  return journal.numbers;
}

/// Whether a second join of the same thread is refused.
bool second_join_is_refused() {
  std::jthread thread([] {});
  thread.join();
  try {
    thread.join();
  } catch (const std::system_error& error) {
    return error.code() == std::errc::invalid_argument;
  }
  return false;
}

int global = 0;
thread_local int one_each = 0;

/// The addresses at which one thread sees three variables.
struct Addresses {
  std::uintptr_t global, one_each, local;
};

std::vector<Addresses> addresses_in(int threads) {
  std::vector<Addresses> seen(static_cast<std::size_t>(threads));
  std::latch all_noted(threads);
  std::vector<std::jthread> started;
  const auto address = [](const int& variable) { return reinterpret_cast<std::uintptr_t>(&variable); };
  for (Addresses& mine : seen) {
    started.emplace_back([&] {
      int local = 0;
      mine = {address(global), address(one_each), address(local)};
      // The stack of a thread that has ended may serve the next one; so nobody ends before all have noted theirs.
      all_noted.arrive_and_wait();
    });
  }
  for (std::jthread& thread : started) thread.join();
  return seen;
}

/// At how many different addresses the threads saw one of the three variables.
int distinct(const std::vector<Addresses>& seen, std::uintptr_t Addresses::*variable) {
  std::set<std::uintptr_t> different;
  for (const Addresses& addresses : seen) different.insert(addresses.*variable);
  return static_cast<int>(different.size());
}

/// How often the system took the processor from a thread that slept `naps` times.
long context_switches(int naps) {
  rusage usage{};
  int error = 0;
  std::jthread([&] {
    for (int i = 0; i < naps; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    error = getrusage(RUSAGE_THREAD, &usage);
  }).join();
  if (error != 0) cookbook::system_refused("getrusage");
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 5;
  cookbook::Options options("Define threads, start them and wait for them");
  options.add("threads", threads, "threads in each round", 1, 100);
  options.parse(argc, argv);

  std::vector<int> all(static_cast<std::size_t>(threads));
  std::iota(all.begin(), all.end(), 0);
  cookbook::println("Joined in the loop that makes them:");
  const std::vector<int> one_by_one = join_in_the_loop(threads);
  cookbook::println("Joined when all are made:");
  std::vector<int> together = join_at_the_end(threads);
  std::ranges::sort(together);

  cookbook::Verdict verdict;
  verdict.equal("order when joined in the loop", one_by_one, all);
  verdict.equal("numbers when joined at the end, sorted", together, all);

  // A jthread starts in its constructor. To start later, keep the work and make the thread when it is time.
  int runs = 0;
  const auto work = [&runs] { ++runs; };
  std::jthread later;
  verdict.equal("a jthread made without work can be joined", later.joinable(), false);
  verdict.equal("runs of work that no thread was made for", runs, 0);
  later = std::jthread(work);
  later.join();
  verdict.equal("runs of the work once its thread was made and joined", runs, 1);
  verdict.equal("a second join is refused", second_join_is_refused(), true);

  const std::vector<Addresses> seen = addresses_in(threads);
  for (const auto& [one, each, own] : seen) {
    cookbook::println("global at {:#x}, thread_local at {:#x}, local at {:#x}", one, each, own);
  }
  verdict.equal("addresses of the global", distinct(seen, &Addresses::global), 1);
  verdict.equal("addresses of the thread_local", distinct(seen, &Addresses::one_each), threads);
  verdict.equal("addresses of the local", distinct(seen, &Addresses::local), threads);

  int copied = 0, referred = 0;
  std::jthread([](int number) { ++number; }, copied).join();
  std::jthread([](int& number) { ++number; }, std::ref(referred)).join();
  verdict.equal("an argument that a thread got as a copy, and raised", copied, 0);
  verdict.equal("an argument that it got as a reference, and raised", referred, 1);

  verdict.within("context switches of a thread that slept 5 times", context_switches(5), 1L, 1'000'000L);
  return verdict.exit_code();
}
