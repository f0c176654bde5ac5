// Four programming models
//
// One dot product, four ways to say who has the numbers and who adds what. Shared memory: tasks add to one sum that
// belongs to all, under a lock. Threads: one flow forks into several and joins again. Messages: processes that share
// nothing send each other what they need. Data parallel: one operation for the whole, and the library deals it out.
// The result is the same to the last bit. The costs are not, and they show what each model makes one pay for.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/01_getting_started chapters/01_getting_started/programming_models/programming_models.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o programming_models
// Run:     programming_models [--numbers N] [--tasks N] [--rounds N]

#include <tbb/global_control.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <execution>
#include <functional>
#include <future>
#include <mutex>
#include <numeric>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "messages.hpp"
#include "numbers.hpp"

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;  // ThreadSanitizer cannot see how oneTBB's threads wait for each other
#else
constexpr bool sanitized = false;
#endif

// Shared memory -------------------------------------------------------------------------------------------------------

/// All tasks add to one sum. Whoever changes it holds the lock; `batch` is how many products he brings at a time.
Sum by_shared_memory(Numbers a, Numbers b, std::size_t tasks, std::size_t batch) {
  Sum sum = 0;
  std::mutex guard;
  std::vector<std::jthread> crew;
  for (std::size_t task = 0; task < tasks; ++task) {
    crew.emplace_back([&, mine = block(a.size(), tasks, task)] {
      for (std::size_t i = mine.first; i < mine.last; i += batch) {
        const std::size_t count = std::min(batch, mine.last - i);
        const Sum part = dot(a.subspan(i, count), b.subspan(i, count));
        std::scoped_lock hold(guard);
        sum += part;
      }
    });
  }
  crew.clear();  // joins
  return sum;
}

// Threads -------------------------------------------------------------------------------------------------------------

/// One flow forks, the branches compute, one flow goes on. No variable is written by two of them, so none needs a lock.
Sum by_threads(Numbers a, Numbers b, std::size_t tasks) {
  std::vector<std::future<Sum>> branches;
  for (std::size_t task = 0; task < tasks; ++task) {
    const Owned mine = block(a.size(), tasks, task);
    const std::size_t count = mine.last - mine.first;
    branches.push_back(std::async(std::launch::async, dot, a.subspan(mine.first, count), b.subspan(mine.first, count)));
  }
  Sum sum = 0;
  for (std::future<Sum>& branch : branches) sum += branch.get();  // waits for its end
  return sum;
}

// Messages ------------------------------------------------------------------------------------------------------------

enum Tag : int { make_own, add_up_own, row_a, row_b, sum_of_part };

/// What a worker process does: it waits for messages and answers. Its rows are its own; nobody else can see them.
void serve(Channel master) {
  std::vector<Number> own_a, own_b, a;
  for (int tag = master.next(); tag != -1; tag = master.next()) {
    if (tag == make_own) {
      const std::vector<std::size_t> range = master.receive<std::size_t>();
      own_a = make_numbers(0, range.at(0), range.at(1));
      own_b = make_numbers(1, range.at(0), range.at(1));
    } else if (tag == row_a) {
      a = master.receive<Number>();
    } else {
      const std::vector<Number> b = master.receive<Number>();  // of add_up_own: nothing
      const Sum sum = tag == row_b ? dot(a, b) : dot(own_a, own_b);
      master.send(sum_of_part, std::span(&sum, 1));
    }
  }
}

/// Tells each worker which part of the rows it owns from now on.
void distribute(std::size_t size, std::vector<Channel>& workers) {
  for (std::size_t task = 0; task < workers.size(); ++task) {
    const Owned part = block(size, workers.size(), task);
    workers[task].send(make_own, std::span<const std::size_t>(std::array{part.first, part.last}));
  }
}

Sum sum_of_answers(std::vector<Channel>& workers) {
  Sum sum = 0;
  for (Channel& worker : workers) {
    if (worker.next() != sum_of_part) throw std::runtime_error("a worker has ended");
    sum += worker.receive<Sum>().at(0);
  }
  return sum;
}

/// The master has the numbers: each worker gets its part of both rows, and answers with a sum.
Sum by_messages(Numbers a, Numbers b, std::vector<Channel>& workers) {
  for (std::size_t task = 0; task < workers.size(); ++task) {
    const Owned part = block(a.size(), workers.size(), task);
    workers[task].send(row_a, a.subspan(part.first, part.last - part.first));
    workers[task].send(row_b, b.subspan(part.first, part.last - part.first));
  }
  return sum_of_answers(workers);
}

/// Each worker has its part already: all that moves is a question and an answer.
Sum by_messages_to_owners(std::vector<Channel>& workers) {
  for (Channel& worker : workers) worker.send(add_up_own, Numbers{});
  return sum_of_answers(workers);
}

// Data parallel -------------------------------------------------------------------------------------------------------

/// One operation on the whole. Who computes what is the library's business.
Sum by_data_parallel(Numbers a, Numbers b) {
  return std::transform_reduce(std::execution::par_unseq, a.begin(), a.end(), b.begin(), Sum{0}, std::plus<>{},
                               [](Number x, Number y) { return Sum{x} * y; });
}

/// The same with the distribution written down: `owned` says which indices a task has.
template <typename Distribution>
Sum by_distribution(Numbers a, Numbers b, std::size_t tasks, Distribution owned) {
  std::vector<std::future<Sum>> parts;
  for (std::size_t task = 0; task < tasks; ++task) {
    parts.push_back(std::async(std::launch::async, [=, mine = owned(a.size(), tasks, task)] {
      Sum sum = 0;
      for (std::size_t i = mine.first; i < mine.last; i += mine.step) sum += Sum{a[i]} * b[i];
      return sum;
    }));
  }
  Sum sum = 0;
  for (std::future<Sum>& part : parts) sum += part.get();
  return sum;
}

/// Reads both rows and computes next to nothing: hardly any model can be faster than this. Whoever is free takes the
/// next piece, so a task that the system holds up delays nobody.
Number read_only(Numbers a, Numbers b, std::size_t tasks) {
  constexpr std::size_t piece = 1 << 15;
  std::atomic<std::size_t> next = 0;
  std::atomic<Number> seen = 0;
  const auto read = [&] {
    for (std::size_t i = next.fetch_add(piece); i < a.size(); i = next.fetch_add(piece)) {
      Number seen_here = 0;
      for (std::size_t k = i; k < std::min(i + piece, a.size()); ++k) seen_here ^= a[k] ^ b[k];
      seen ^= seen_here;
    }
  };
  std::vector<std::jthread> crew;
  for (std::size_t task = 1; task < tasks; ++task) crew.emplace_back(read);
  read();
  crew.clear();
  return seen;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t size = 1 << 23;
  std::size_t tasks = std::max(2U, std::thread::hardware_concurrency());
  int rounds = sanitized ? 1 : 9;
  cookbook::Options options("Compute one dot product in four programming models");
  options.add("numbers", size, "numbers in each of the two rows", 1, 1UL << 28);
  options.add("tasks", tasks, "tasks, threads or processes that share the work", 1, 64);
  options.add("rounds", rounds, "measured runs of each model", 1, 1'000);
  options.parse(argc, argv);

  // First of all, while this process has one thread and little memory: a child has a copy of both.
  Workers workers(static_cast<int>(tasks), serve);
  std::vector<Channel>& channels = workers.channels();
  distribute(size, channels);
  const tbb::global_control at_most(tbb::global_control::max_allowed_parallelism, sanitized ? 1 : tasks);

  const std::vector<Number> row_of_a = make_numbers(0, 0, size), row_of_b = make_numbers(1, 0, size);
  const Numbers a = row_of_a, b = row_of_b;
  // A lock a product and rows that are sent are slow: a sixteenth of the work shows it when they are timed.
  const Numbers few_a = a.first((size + 15) / 16), few_b = b.first((size + 15) / 16);

  cookbook::Checks checks;
  const Sum expected = dot(a, b);
  cookbook::println("dot product of two rows of {} numbers: {}", size, expected);
  checks.equal("shared memory, a lock a product, a sixteenth of it", by_shared_memory(few_a, few_b, tasks, 1),
               dot(few_a, few_b));
  checks.equal("shared memory, a lock for 4096 products", by_shared_memory(a, b, tasks, 4096), expected);
  checks.equal("threads", by_threads(a, b, tasks), expected);

  const long before = workers.messages(), bytes_before = workers.bytes();
  checks.equal("messages, the rows sent", by_messages(a, b, channels), expected);
  const long between = workers.messages(), bytes_between = workers.bytes();
  checks.equal("messages, to owners of the rows", by_messages_to_owners(channels), expected);
  checks.equal("messages sent to the workers, bytes in them",
               std::vector{between - before, bytes_between - bytes_before},
               {2 * static_cast<long>(tasks), static_cast<long>(2 * sizeof(Number) * size)});
  checks.equal("messages sent to owners, bytes in them",
               std::vector{workers.messages() - between, workers.bytes() - bytes_between},
               {static_cast<long>(tasks), 0});

  checks.equal("data parallel, std::execution::par_unseq", by_data_parallel(a, b), expected);
  checks.equal("data parallel, dealt out in blocks", by_distribution(a, b, tasks, block), expected);
  checks.equal("data parallel, dealt out in turns", by_distribution(a, b, tasks, cyclic), expected);

  if (!checks.passed()) return checks.exit_code();

  using cookbook::keep;
  const auto all = static_cast<double>(a.size()), few = static_cast<double>(few_a.size());
  cookbook::Figures figures("a product added to the sum", cookbook::cost("ns", 1e-9));
  figures.percent_of("both rows read, nothing else", "reading");
  figures.times("data parallel, oneTBB", "oneTBB");
  figures.measure({{"both rows read, nothing else", all, [&] { keep(read_only(a, b, tasks)); }},
                   {"one flow", all, [&] { keep(dot(a, b)); }},
                   {"shared memory, a lock a product", few, [&] { keep(by_shared_memory(few_a, few_b, tasks, 1)); }},
                   {"shared memory, a lock for 4096", all, [&] { keep(by_shared_memory(a, b, tasks, 4096)); }},
                   {"threads", all, [&] { keep(by_threads(a, b, tasks)); }},
                   {"messages, the rows sent", few, [&] { keep(by_messages(few_a, few_b, channels)); }},
                   {"messages, to owners of the rows", all, [&] { keep(by_messages_to_owners(channels)); }},
                   {"data parallel, oneTBB", all, [&] { keep(by_data_parallel(a, b)); }},
                   {"data parallel, in blocks", all, [&] { keep(by_distribution(a, b, tasks, block)); }},
                   {"data parallel, in turns", all, [&] { keep(by_distribution(a, b, tasks, cyclic)); }}},
                  rounds);
  figures.print(checks);
  return checks.exit_code();
}
