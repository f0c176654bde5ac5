// Memory organisation
//
// How far away is a number? The time of one load is measured while ever more memory is in use: it rises in steps, and
// each step is the end of a cache. The same with huge pages shows what finding the address costs. Two threads that
// count in two variables get into each other's way if those lie in one cache line, since caches keep whole lines equal.
// And `load R0, i` on two processors: with a shared memory both see one cell i, with private ones each has its own.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/01_getting_started chapters/01_getting_started/memory_organisation/memory_organisation.cpp common/cookbook/*.cpp -lfmt -pthread -o memory_organisation
// Run:     memory_organisation [--largest MIB]

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/pin.hpp"
#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"
#include "ladder.hpp"
#include "pages.hpp"
#include "sharing.hpp"
#include "topology.hpp"

namespace {

// The ladder of latencies ---------------------------------------------------------------------------------------------

/// A cache line of memory. Each says where to go next, so a processor cannot load the next one before it has this one.
struct alignas(64) Line {
  const Line* next;
  std::size_t number;  ///< in the order of the visits
};

/// Joins the lines to a ring in random order: no hardware guesses which comes next and loads it ahead.
void join_in_random_order(std::span<Line> lines) {
  std::vector<std::uint32_t> order(lines.size());
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  for (std::size_t i = 0; i < order.size(); ++i) {
    lines[order[i]] = {&lines[order[i + 1 < order.size() ? i + 1 : 0]], i};
  }
}

/// Whether a walk comes by every line once before it is back: the numbers along it are 0, 1, 2, ... and again 0.
bool is_one_ring(std::span<const Line> lines) {
  return std::ranges::all_of(lines, [&](const Line& line) {
    return line.next->number == (line.number + 1 < lines.size() ? line.number + 1 : 0);
  });
}

/// The time of a walk, from some of them; each goes on where the one before has ended.
cookbook::Timing time_of_a_walk(const Line* line) {
  const cookbook::Row walk("walk", loads, [line]() mutable {
    for (int i = 0; i < loads; ++i) line = line->next;
    cookbook::keep(line);
  });
  return cookbook::measure_in_turns({walk}, 5).front();
}

struct Climb {
  Ladder ladder = {};
  long broken = 0;  ///< sizes whose lines were not one ring
  std::size_t in_huge_pages = 0;
};

/// Measures all sizes.
Climb climb(std::size_t largest, Pages pages) {
  const Memory memory(largest, pages);
  Climb climb;
  for (const std::size_t size : sizes_up_to(largest)) {
    const std::span lines(static_cast<Line*>(memory.begin()), size / sizeof(Line));
    join_in_random_order(lines);
    climb.broken += !is_one_ring(lines);  // also brings them into the caches, as far as they have room
    climb.ladder.push_back({size, time_of_a_walk(lines.data())});
  }
  climb.in_huge_pages = huge_bytes();
  return climb;
}

/// Does `work` on a processor of this node; false if this program may use none of them.
bool do_on(const topology::Node& node, const std::function<void()>& work) {
  const std::vector<int> allowed = topology::allowed_processors();
  const auto there = std::ranges::find_first_of(allowed, node.processors);
  if (there == allowed.end()) return false;
  std::jthread([&] {
    cookbook::pin(static_cast<int>(there - allowed.begin()));
    work();
  }).join();
  return true;
}

/// Where the memory is in several nodes: the time of a load from each, by a processor of the first one that has any.
std::string times_by_node(const std::vector<topology::Node>& nodes, std::size_t bytes) {
  const auto home = std::ranges::find_if(nodes, [](const topology::Node& node) { return !node.processors.empty(); });
  std::string times;
  for (const topology::Node& node : nodes) {
    const Memory memory(bytes, Pages::small);
    const std::span lines(static_cast<Line*>(memory.begin()), bytes / sizeof(Line));
    double seconds = 0;
    // A page of memory comes from the node whose processor touches it first.
    const bool there = home != nodes.end() && do_on(node, [&] { join_in_random_order(lines); }) &&
                       do_on(*home, [&] { seconds = time_of_a_walk(lines.data()).minimum / loads; });
    times += fmt::format("{}node {}: {}", times.empty() ? "" : ", ", node.number,
                         there ? fmt::format("{:.1f} ns", seconds * 1e9) : "no processor for this program");
  }
  return times;
}

// Shared and private memory -------------------------------------------------------------------------------------------

/// Two processors, here processes, carry out `load R0, i`, after the second has stored an 11 in i. Returns both R0. Is
/// i one cell (MAP_SHARED) or has each its own (MAP_PRIVATE)? With `message` the second sends its i to the first.
std::vector<int> load_by_two(int memory, bool message) {
  volatile int& i = *static_cast<int*>(
      check(mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, memory | MAP_ANONYMOUS, -1, 0), "mmap"));
  i = 10;
  int channel[2];
  check(pipe(channel), "pipe");
  const pid_t second = check(fork(), "fork");
  if (second == 0) {
    i = 11;  // at the same address as the first one's i
    const int r0 = i;
    if (message) check(write(channel[1], &r0, sizeof r0), "write");
    _exit(r0);
  }
  int status = 0;
  check(waitpid(second, &status, 0), "waitpid");
  if (message) {
    int received = 0;
    check(read(channel[0], &received, sizeof received), "read");
    i = received;
  }
  const int r0 = i;
  close(channel[0]);
  close(channel[1]);
  munmap(const_cast<int*>(&i), sizeof(int));
  return {r0, WEXITSTATUS(status)};
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t mebibytes = 128;
  cookbook::Options options("Measure how far away memory is, and what it means to share it");
  options.add("largest", mebibytes, "memory of the longest walk, in MiB", 1, 16'384);
  options.parse(argc, argv);

  cookbook::Checks checks;
  checks.equal("load R0, i: shared memory", load_by_two(MAP_SHARED, false), {11, 11});
  checks.equal("load R0, i: private memories", load_by_two(MAP_PRIVATE, false), {10, 11});
  checks.equal("load R0, i: private memories and a message", load_by_two(MAP_PRIVATE, true), {11, 11});

  const std::size_t largest = mebibytes << 20;
  const Climb small = climb(largest, Pages::small), huge = climb(largest, Pages::huge);
  const std::vector<topology::Node> nodes = topology::nodes();
  const std::string by_node = nodes.size() == 1 ? "one, so all memory is equally far" : times_by_node(nodes, largest);
  checks.equal("walks that do not come by every line once", small.broken + huge.broken, 0);

  const std::vector<int> allowed = topology::allowed_processors();
  const Pair processors = two_processors(allowed);
  std::vector<cookbook::Row> ways;
  long lost = 0;
  for (const Sharing& way : ways_to_share()) {
    ways.emplace_back(std::string(way.name), counts, [=, &lost] { return share(way, processors, lost); });
  }
  const std::vector<cookbook::Timing> timings = cookbook::measure_in_turns(ways, 41);
  checks.equal("counts that two threads lose, shared in whatever way", lost, 0);
  if (!checks.passed()) return checks.exit_code();

  print_ladders(checks, small.ladder, huge.ladder);
  const std::vector<topology::Cache> caches = topology::caches(allowed.front());
  std::vector<std::string> steps, reported;
  for (const std::size_t step : steps_of(huge.ladder)) steps.push_back(topology::bytes_text(step));
  for (const topology::Cache& cache : caches) {
    reported.push_back(fmt::format("L{} {}", cache.level, topology::bytes_text(cache.bytes)));
  }
  cookbook::println("it rises after: {}", steps.empty() ? "no size" : fmt::format("{}", fmt::join(steps, ", ")));
  cookbook::println("caches, as the system reports them: {}",
                    reported.empty() ? "none" : fmt::format("{}", fmt::join(reported, ", ")));
  cookbook::println("in huge pages: {} MiB of {} MiB", huge.in_huge_pages >> 20, mebibytes);
  cookbook::println("nodes of memory: {}", by_node);

  cookbook::Figures times(
      fmt::format("a count, processors {} and {}", allowed[processors.first], allowed[processors.second]),
      cookbook::cost("ns", 1e-9));
  for (std::size_t i = 0; i < ways.size(); ++i) times.add(ways[i].name, timings[i], counts);
  times.print(checks);
  cookbook::println(
      "two counters in one line: {:.1f} x the time of two lines by atomic add, {:.1f} x by load and store",
      timings[1].median / timings[3].median, timings[4].median / timings[5].median);
  return checks.exit_code();
}
