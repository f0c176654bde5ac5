// Thread performance
//
// When do threads pay? One function is called n times in a row, and once in each of n threads, for n = 1, 2, 4, 8 and
// four functions: an empty one, one that computes, one that reads a file, one that fetches a web page. All of it twice:
// as C++ does it, and under a lock that lets one thread at a time compute, as Python's interpreter does. The four
// tables explain why threads helped the source's Python only with the last two, and help C++ with three.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/thread_performance/thread_performance.cpp common/cookbook/*.cpp -lfmt -pthread -o thread_performance
// Run:     thread_performance [--repeats N] [--delay-us N] [--file PATH] [--port N]

#include <fcntl.h>
#include <sys/mman.h>

#include <array>
#include <barrier>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>

#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"
#include "interpreter_lock.hpp"
#include "page_server.hpp"

namespace {

constexpr std::array<int, 4> counts = {1, 2, 4, 8};

/// A function to be timed. It runs inside the lock, and leaves it where it waits for the system.
using Function = std::function<void(InterpreterLock&)>;

void non_threaded(int n, const Function& function, InterpreterLock& lock) {
  for (int i = 0; i < n; ++i) {
    lock.enter();
    function(lock);
    lock.leave();
  }
}

void threaded(int n, const Function& function, InterpreterLock& lock) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(n));
  {
    std::vector<std::jthread> threads;
    for (std::exception_ptr& failure : failures) {
      threads.emplace_back([&] {
        lock.enter();
        try {
          function(lock);
        } catch (...) {
          failure = std::current_exception();  // would end the program if it left the thread
        }
        lock.leave();
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

/// Threads that are made once and wait; each call of all() makes every one of them run the function once.
class Team {
 public:
  Team(int n, Function function, InterpreterLock& lock) : function_(std::move(function)), start_(n + 1), end_(n + 1) {
    for (int i = 0; i < n; ++i) {
      threads_.emplace_back([this, &lock] {
        for (start_.arrive_and_wait(); !over_; start_.arrive_and_wait()) {
          lock.enter();
          function_(lock);
          lock.leave();
          end_.arrive_and_wait();
        }
      });
    }
  }

  ~Team() {
    over_ = true;
    start_.arrive_and_wait();
  }

  void all() {
    start_.arrive_and_wait();
    end_.arrive_and_wait();
  }

 private:
  const Function function_;
  std::barrier<> start_, end_;
  bool over_ = false;  // read after the barrier that follows its change
  std::vector<std::jthread> threads_;
};

/// F(n) by n additions, as limbs of 18 decimal digits, the lowest first: a Python integer, in short.
std::vector<std::uint64_t> fibonacci(int n, InterpreterLock& lock) {
  constexpr std::uint64_t base = 1'000'000'000'000'000'000;
  std::vector<std::uint64_t> a = {0}, b = {1};
  for (int i = 0; i < n; ++i) {
    a.resize(b.size());
    std::uint64_t carry = 0;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::uint64_t sum = a[k] + b[k] + carry;
      carry = sum >= base;
      a[k] = sum - carry * base;
    }
    if (carry != 0) a.push_back(carry);
    std::swap(a, b);
    lock.checkpoint();
  }
  return a;
}

/// Reads 1000 blocks of 1024 bytes from the file, and returns how many bytes there were. Each call opens it anew: a
/// handle has one position, and two threads that share it would each get half of the file.
long read_blocks(const std::string& path, InterpreterLock& lock) {
  const Descriptor file(checked(open(path.c_str(), O_RDONLY | O_CLOEXEC), "open " + path));
  std::array<char, 1024> block;
  long bytes = 0;
  for (int i = 0; i < 1000; ++i) {
    bytes += checked(lock.blocking([&] { return read(file.get(), block.data(), block.size()); }), "read " + path);
  }
  return bytes;
}

long fetch_pages(std::uint16_t port, InterpreterLock& lock) {
  long bytes = 0;
  for (int i = 0; i < 10; ++i) {
    bytes += static_cast<long>(lock.blocking([&] { return fetch_page(port); }).size());
  }
  return bytes;
}

struct Row {
  std::string name;
  std::array<double, 2> seconds;  ///< best of all repeats: without the lock, with it
};

/// The eight rows of one test. The best run is the least disturbed one.
std::vector<Row> time_all(int repeats, const Function& function) {
  std::vector<Row> rows;
  for (const int n : counts) {
    Row serial{fmt::format("non_threaded ({} iters)", n), {}}, parallel{fmt::format("threaded ({} threads)", n), {}};
    for (const bool locked : {false, true}) {
      InterpreterLock lock(locked);
      const auto best = [&](auto& run) {
        return cookbook::measure([&] { run(n, function, lock); }, repeats, 0).minimum;
      };
      serial.seconds[locked] = best(non_threaded);
      parallel.seconds[locked] = best(threaded);
    }
    rows.insert(rows.end(), {serial, parallel});
  }
  return rows;
}

long open_descriptors() {
  using Iterator = std::filesystem::directory_iterator;
  return std::distance(Iterator("/proc/self/fd"), Iterator());
}

/// A file in memory, without a name, of 1000 blocks; gone when the program ends, however it ends.
std::string make_file() {
  const int file = checked(memfd_create("blocks", MFD_CLOEXEC), "memfd_create");
  const std::string content(1'024'000, 'x');
  checked(write(file, content.data(), content.size()), "write");
  return fmt::format("/proc/self/fd/{}", file);
}

}  // namespace

int main(int argc, char** argv) {
  int repeats = 3, delay_us = 1000;
  std::uint16_t port = 0;
  std::string path;
  cookbook::Options options("Compare serial calls with calls in threads, with and without an interpreter lock");
  options.add("repeats", repeats, "runs of which the best counts; the source takes 100", 1, 1000);
  options.add("delay-us", delay_us, "microseconds that the page server waits before it replies", 0, 1'000'000);
  options.add("file", path, "file to read instead of one of 1,024,000 bytes in memory");
  options.add("port", port, "port of another page server on this machine; 0 for the recipe's own", 0, 65535);
  options.parse(argc, argv);

  if (path.empty()) path = make_file();
  InterpreterLock nobody(false);
  const long file_bytes = read_blocks(path, nobody);  // also fails here, and with one line, if there is no such file
  const long descriptors = open_descriptors();
  std::optional<PageServer> server(std::in_place, std::chrono::microseconds(delay_us));
  const bool own_server = port == 0;
  if (own_server) port = server->port();
  const std::vector<std::uint64_t> right = fibonacci(10'000, nobody);

  std::atomic<long> calls = 0, wrong_numbers = 0, wrong_reads = 0, long_pages = 0;
  const auto none = [&](InterpreterLock&) { ++calls; };
  const auto compute = [&](InterpreterLock& lock) { wrong_numbers += fibonacci(10'000, lock) != right; };
  const auto read_file = [&](InterpreterLock& lock) { wrong_reads += read_blocks(path, lock) != file_bytes; };
  const auto fetch = [&](InterpreterLock& lock) { long_pages += fetch_pages(port, lock) > 10 * 1024; };
  const std::vector<std::pair<std::string, Function>> tests = {
      {"empty function", none}, {"Fibonacci", compute}, {"file blocks", read_file}, {"web page", fetch}};
  std::vector<std::vector<Row>> tables;
  for (const auto& [name, function] : tests) tables.push_back(time_all(repeats, function));
  const long requests = server->requests();
  server.reset();  // else its last threads may still be closing their sockets when descriptors are counted

  std::string number = std::to_string(right.back());
  for (std::size_t k = right.size() - 1; k-- > 0;) number += fmt::format("{:018}", right[k]);
  std::uint64_t modulo_2_64 = 0;
  for (std::size_t k = right.size(); k-- > 0;) modulo_2_64 = modulo_2_64 * 1'000'000'000'000'000'000 + right[k];

  // Both modes, with and without the lock, call the function 1 + 2 + 4 + 8 times in each repeat.
  const long expected_calls = 2L * 2 * 15 * repeats;
  cookbook::Verdict verdict;
  verdict.equal("calls of the empty function", calls.load(), expected_calls);
  verdict.equal("digits of F(10000)", number.size(), 2090U);
  verdict.equal("its first digits", number.substr(0, 20), "33644764876431783266");
  verdict.equal("its last digits", number.substr(number.size() - 20), "66073310059947366875");
  verdict.equal("F(10000) modulo 2^64", modulo_2_64, 15574651946073070043U);
  verdict.equal("calls that got another number", wrong_numbers.load(), 0L);
  verdict.equal("calls that read another amount of the file", wrong_reads.load(), 0L);
  if (own_server) verdict.equal("pages served", requests, 10 * expected_calls);
  verdict.equal("calls that took more than 1024 bytes of a page", long_pages.load(), 0L);
  verdict.equal("descriptors left open", open_descriptors() - descriptors, 0L);

  std::string caught = "nothing";
  try {
    threaded(
        4, [](InterpreterLock&) { throw std::runtime_error("no page today"); }, nobody);
  } catch (const std::runtime_error& error) {
    caught = error.what();
  }
  verdict.equal("what the caller of failing threads caught", caught, "no page today");

  if (!verdict.passed()) return verdict.exit_code();
  cookbook::Figures empty("one of 8 empty calls", cookbook::cost("us", 1e-6));
  empty.add_peer("a new thread each", cookbook::measure([&] { threaded(8, none, nobody); }, 50), 8);
  Team team(8, none, nobody);
  empty.add("a waiting thread each", cookbook::measure([&] { team.all(); }, 50), 8);
  empty.print(verdict);
  for (std::size_t i = 0; i < tests.size(); ++i) {
    cookbook::println("");
    cookbook::println("{:<23} {:>18} {:>18}", tests[i].first, "no lock", "interpreter lock");
    for (const Row& row : tables[i]) {
      cookbook::println("{:<23} {:>10.6f} seconds {:>10.6f} seconds", row.name, row.seconds[0], row.seconds[1]);
    }
  }
  return verdict.exit_code();
}
