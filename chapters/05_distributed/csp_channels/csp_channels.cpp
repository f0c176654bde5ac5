// Communicating sequential processes
//
// A counter and a printer are two sequential programs, joined by a channel and by nothing else. A channel keeps no
// value: writer and reader must meet, and who comes first waits. So it orders the two in time as well. The counter ends
// by poisoning the channel; the printer never asks for an end, its next read raises an exception. With several writers
// poison is a race (csp_channels_poison.cpp): there each writer retires, and the last one ends the channel.
// At the end: what a value through a channel costs.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/05_distributed/csp_channels/csp_channels.cpp common/cookbook/*.cpp -lfmt -lboost_fiber -lboost_context -pthread -o csp_channels
// Run:     csp_channels [--limit N] [--traced N] [--values N] [--repeats N]

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "channel.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "costs.hpp"
#include "process.hpp"

namespace {

using Numbers = std::vector<int>;
using Writer = Channel<int>::Writer;
using Reader = Channel<int>::Reader;

Numbers counted_in_one_program(int limit) {
  Numbers seen;
  for (int i = 0; i < limit; ++i) seen.push_back(i);
  return seen;
}

/// The same by two processes.
Numbers counted_by_two_processes(int limit) {
  Numbers seen;
  const auto counter = [limit](Writer& out) {
    for (int i = 0; i < limit; ++i) out(i);
    out.poison();
  };
  const auto printer = [&seen](Reader& in) {
    for (;;) seen.push_back(in());  // poison is the way out
  };
  Channel<int> a("A");
  Writer out = a.writer();
  Reader in = a.reader();
  parallel(process("counter", counter, std::move(out)), process("printer", printer, std::move(in)));
  return seen;
}

/// What the processes said, in order, when the writer came first and when the reader came first.
std::vector<std::string> meeting(bool reader_first) {
  std::vector<std::string> said;
  Channel<int> a("A");
  const auto writer = [&](Writer& out) {
    said.push_back("writes");
    out(1);
    said.push_back("has written");
  };
  const auto reader = [&](Reader& in) {
    // Every other process gets a turn, and then another: time enough for a write that did not wait.
    for (int turn = 0; turn < 10; ++turn) boost::this_fiber::yield();
    said.push_back("reads");
    in();
  };
  const auto early_reader = [&](Reader& in) {
    said.push_back("reads");
    in();
    said.push_back("has read");
  };
  if (reader_first) {
    parallel(process("reader", early_reader, a.reader()), process("writer", writer, a.writer()));
  } else {
    parallel(process("writer", writer, a.writer()), process("reader", reader, a.reader()));
  }
  return said;
}

/// Which exception `action` ends with.
template <typename Action>
std::string end_of(Action&& action) {
  try {
    action();
    return "none";
  } catch (const std::exception& end) {
    return end.what();
  }
}

void poison(cookbook::Checks& checks) {
  const std::string poisoned = Poisoned().what();
  Channel<int> a("A"), b("B");
  std::string blocked_reader, blocked_writer;
  parallel(process(
               "reader", [&](Reader& in) { blocked_reader = end_of(in); }, a.reader()),
           process(
               "writer", [&](Writer& out) { blocked_writer = end_of([&] { out(1); }); }, b.writer()),
           process(
               "poisoner", [](Writer& out, Reader& in) { out.poison(), in.poison(); }, a.writer(), b.reader()));
  checks.equal("a read that waits when poison comes", blocked_reader, poisoned);
  checks.equal("a write that waits when poison comes", blocked_writer, poisoned);
  checks.equal("a read after poison", end_of(a.reader()), poisoned);
  checks.equal("a write after poison", end_of([&, out = b.writer()]() mutable { out(1); }), poisoned);

  // From the printer poison spreads against the stream: up to the first of two copiers, and to the counter.
  Channel<int> c("C"), d("D");
  int accepted = 0;
  const auto copier = [](Reader& in, Writer& out) {
    for (;;) out(in());
  };
  parallel(process(
               "counter",
               [&](Writer& out) {
                 for (;; ++accepted) out(accepted);
               },
               c.writer()),
           process("copier", copier, c.reader(), d.writer()),
           process(
               "printer", [](Reader& in) { in(), in(), in.poison(); }, d.reader()));
  checks.within("numbers a counter without limit got rid of, before poison came from below", accepted, 2, 3);
}

/// `writers` processes write `each` different numbers, `readers` share them; all that arrived, sorted.
Numbers shared(int writers, int readers, int each) {
  Channel<int> a("A");
  Numbers seen;
  std::vector<boost::fibers::fiber> fibers;
  for (int w = 0; w < writers; ++w) {
    const auto count = [w, each](Writer& out) {
      for (int i = 0; i < each; ++i) out(w * each + i);
    };
    fibers.emplace_back(process(fmt::format("writer {}", w), count, a.writer()));
  }
  for (int r = 0; r < readers; ++r) {
    const auto collect = [&seen](Reader& in) {
      for (;;) seen.push_back(in());
    };
    fibers.emplace_back(process(fmt::format("reader {}", r), collect, a.reader()));
  }
  for (auto& fiber : fibers) fiber.join();
  std::sort(seen.begin(), seen.end());
  return seen;
}

/// The counter and the printer again, watched.
void watch(int limit, cookbook::Checks& checks) {
  Trace records;
  trace = &records;
  counted_by_two_processes(limit);
  note("TraceQuit", "main");
  trace = nullptr;
  for (const Record& record : records) {
    if (limit <= 5) cookbook::println("{}", record.text());
  }
  checks.equal(fmt::format("records of a run with limit {}", limit), records.size(),
               13U + 4U * static_cast<unsigned>(limit));
}

}  // namespace

int main(int argc, char** argv) {
  int limit = 5, traced = 3, values = 100'000, repeats = 5;
  cookbook::Options options("Join sequential processes by channels on which they must meet");
  options.add("limit", limit, "how far the counter counts", 0, 1'000'000);
  options.add("traced", traced, "how far it counts when it is watched", 0, 100'000);
  options.add("values", values, "values to measure with", 1, 10'000'000);
  options.add("repeats", repeats, "how often to measure", 1, 1000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  const Numbers seen = counted_by_two_processes(limit);
  if (!seen.empty() && limit <= 100) cookbook::println("{}", fmt::join(seen, " "));
  checks.that("the same numbers as in one program", seen == counted_in_one_program(limit));
  checks.equal("the writer comes first", meeting(false), {"writes", "reads", "has written"});
  checks.equal("the reader comes first", meeting(true), {"reads", "writes", "has written", "has read"});
  poison(checks);
  for (const auto& [kind, writers, readers] :
       {std::tuple{"one to one", 1, 1}, {"one to any", 1, 3}, {"any to one", 2, 1}, {"any to any", 2, 3}}) {
    Numbers all(static_cast<std::size_t>(writers) * 100);
    std::iota(all.begin(), all.end(), 0);
    const Numbers arrived = shared(writers, readers, 100);
    checks.that(fmt::format("{}: {} numbers, each once", kind, all.size()), arrived == all);
  }
  watch(traced, checks);
  print_costs(values, repeats, checks);
  return checks.exit_code();
}
