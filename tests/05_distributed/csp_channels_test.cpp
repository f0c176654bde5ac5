// The program's output, and Channel from inside.

#include <algorithm>
#include <boost/fiber/algo/round_robin.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/unbuffered_channel.hpp>
#include <concepts>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "05_distributed/csp_channels/process.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;
using testing::ElementsAre;

using Lines = std::vector<std::string>;
using Writer = Channel<int>::Writer;
using Reader = Channel<int>::Reader;

struct Step {
  std::string process, what;
};

using Steps = std::vector<Step>;

/// An end of channel A, with a record of each call.
template <typename End>
struct TracedEnd {
  void operator()(int value) requires std::same_as<End, Writer> {
    note("BlockOnWrite");
    end(value);
    note("DoneWrite");
    ++number;
  }
  int operator()() requires std::same_as<End, Reader> {
    note("BlockOnRead");
    const int value = end();
    note("DoneRead");
    ++number;
    return value;
  }
  void poison() {
    note("Poison");
    end.poison();
  }
  void retire() { end.retire(); }
  void note(const std::string& what) { steps->push_back({process, what + " A " + std::to_string(number)}); }

  Steps* steps;
  std::string process;
  End end;
  int number = 0;
};

/// A process from its beginning to its end.
struct TracedLife {
  TracedLife(Steps& all_steps, const std::string& name) : steps(all_steps), process_name(name) {
    steps.push_back({process_name, "StartProcess"});
  }
  ~TracedLife() { steps.push_back({process_name, "QuitProcess"}); }
  Steps& steps;
  std::string process_name;
};

/// A run of counter and printer, step by step; the steps have the names that PyCSP gives them.
Steps trace_up_to(int limit) {
  Steps steps;
  const auto note = [&](const std::string& what) { steps.push_back({"main", what}); };
  Channel<int> a;
  note("Channel A");
  TracedEnd<Writer> out{&steps, "counter", a.writer()};
  note("ChannelEndWrite A");
  TracedEnd<Reader> in{&steps, "printer", a.reader()};
  note("ChannelEndRead A");
  const auto counter = [&](TracedEnd<Writer>& to) {
    const TracedLife life(steps, "counter");
    for (int i = 0; i < limit; ++i) to(i);
    to.poison();
  };
  const auto printer = [&](TracedEnd<Reader>& from) {
    const TracedLife life(steps, "printer");
    for (int i = 0;; ++i) EXPECT_EQ(from(), i);
  };
  note("BlockOnParallel counter printer");
  parallel(process(counter, std::move(out)), process(printer, std::move(in)));
  note("DoneParallel counter printer");
  note("TraceQuit");
  return steps;
}

/// The steps of one process, in order.
Lines steps_of(const Steps& steps, const std::string& process_name) {
  Lines lines;
  for (const Step& step : steps) {
    if (step.process == process_name) lines.push_back(step.what);
  }
  return lines;
}

TEST(csp_channels, counter_and_printer_do_their_steps_in_this_order) {
  const auto result = run("csp_channels");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  Lines steps;
  for (std::size_t i = 1; i < result.out.size() && !result.out[i].starts_with("counter to"); ++i) {
    const bool printer = result.out[i].starts_with(" ");
    steps.push_back((printer ? "printer " : "counter ") + result.out[i].substr(printer ? 20 : 0));
  }
  EXPECT_EQ(steps, (Lines{"counter writes 0, waits", "printer reads", "printer has 0", "printer reads, waits",
                          "counter goes on after 0", "counter writes 1", "counter goes on after 1", "printer has 1",
                          "printer reads", "printer hears: nobody is left at the other end of the channel"}));
}

TEST(csp_channels, all_numbers_arrive_and_all_end) {
  for (const std::string limit : {"0", "1", "5", "10000"}) {
    const auto result = run("csp_channels", {"--limit", limit});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    the first printer has all numbers in order: yes"));
    EXPECT_EQ(result.lines_with("^ +has \\d+$").size(), std::stoul(limit) + 1);  // 1: the second printer's
  }
}

TEST(csp_channels, a_printer_that_has_enough_ends_the_counter_at_its_next_write) {
  const auto result = run("csp_channels");
  const auto begin = std::find_if(result.out.begin(), result.out.end(),
                                  [](const std::string& line) { return line.starts_with("counter to 1000"); });
  ASSERT_GE(result.out.end() - begin, 8) << result.text();
  EXPECT_EQ(Lines(begin + 1, begin + 8), (Lines{"writes 0, waits", "                    reads",
                                                "                    has 0", "                    poisons the channel",
                                                "goes on after 0", "writes 1", "hears: the channel is poisoned"}));
  EXPECT_TRUE(result.has_line("ok    the second printer has: [0]")) << result.text();
}

TEST(csp_channels_trace, has_13_records_and_4_per_number) {
  for (const int limit : {0, 1, 3, 5, 1000}) {
    const Steps steps = trace_up_to(limit);
    EXPECT_EQ(steps.size(), 13U + 4U * static_cast<unsigned>(limit));

    const std::string n = std::to_string(limit);
    Lines counter = {"StartProcess"}, printer = {"StartProcess"};
    for (int i = 0; i < limit; ++i) {
      counter.insert(counter.end(), {"BlockOnWrite A " + std::to_string(i), "DoneWrite A " + std::to_string(i)});
      printer.insert(printer.end(), {"BlockOnRead A " + std::to_string(i), "DoneRead A " + std::to_string(i)});
    }
    counter.insert(counter.end(), {"Poison A " + n, "QuitProcess"});
    printer.insert(printer.end(), {"BlockOnRead A " + n, "QuitProcess", "Poison A " + n});
    EXPECT_EQ(steps_of(steps, "counter"), counter);
    EXPECT_EQ(steps_of(steps, "printer"), printer);
    EXPECT_EQ(steps[3].what, "BlockOnParallel counter printer");
    EXPECT_EQ((steps.end() - 2)->what, "DoneParallel counter printer");
    EXPECT_EQ(steps.back().what, "TraceQuit");
  }
}

TEST(csp_channels_trace, both_sides_block_before_either_is_done) {
  const Steps steps = trace_up_to(5);
  const auto place = [&](const std::string& what) {
    return std::find_if(steps.begin(), steps.end(), [&](const Step& step) { return step.what == what; }) -
           steps.begin();
  };
  for (const std::string i : {"0", "1", "2", "3", "4"}) {
    const auto blocked = std::max(place("BlockOnWrite A " + i), place("BlockOnRead A " + i));
    EXPECT_LT(blocked, place("DoneRead A " + i));
    EXPECT_LT(blocked, place("DoneWrite A " + i));
  }
}

TEST(csp_channels, poison_by_two_writers_loses_numbers) {
  const auto result = run("csp_channels_poison");
  EXPECT_EQ(result.exit_code, 1);
  const auto received = result.captures("^FAIL  numbers received: (\\d+), expected 30$");
  ASSERT_EQ(received.size(), 1U) << result.text();
  EXPECT_EQ(received[0], "15") << "10 of the shorter writer and, as the page says, half as many of the other";
}

/// What the exception says that `action` ends with.
template <typename Action>
std::string end_of(Action&& action) {
  try {
    action();
    return "none";
  } catch (const std::exception& end) {
    return end.what();
  }
}

TEST(csp_channels_channel, poison_reaches_who_waits_and_who_comes_later) {
  Channel<int> a, b;
  std::string reader, writer;
  const auto read = [&](Reader& in) { reader = end_of(in); };
  const auto write = [&](Writer& out) { writer = end_of([&] { out(1); }); };
  const auto poison = [](Writer& out, Reader& in) { out.poison(), in.poison(); };
  parallel(process(read, a.reader()), process(write, b.writer()), process(poison, a.writer(), b.reader()));
  EXPECT_EQ(reader, Poisoned().what());
  EXPECT_EQ(writer, Poisoned().what());
  EXPECT_THROW(a.reader()(), Poisoned);
  EXPECT_THROW(b.writer()(1), Poisoned);
}

TEST(csp_channels_channel, poison_spreads_through_a_copier_against_the_stream) {
  Channel<int> a, b;
  int accepted = 0;
  const auto count = [&](Writer& out) {
    for (;; ++accepted) out(accepted);
  };
  const auto copy = [](Reader& in, Writer& out) {
    for (;;) out(in());
  };
  const auto read_two = [](Reader& in) { in(), in(), in.poison(); };
  parallel(process(count, a.writer()), process(copy, a.reader(), b.writer()), process(read_two, b.reader()));
  EXPECT_GE(accepted, 2);
  EXPECT_LE(accepted, 3);
}

TEST(csp_channels_channel, a_reader_that_comes_first_waits_for_the_writer) {
  Lines steps;
  Channel<int> a;
  const auto read = [&](Reader& in) {
    steps.push_back("reads");
    EXPECT_EQ(in(), 7);
    steps.push_back("has read");
  };
  const auto write_late = [&](Writer& out) {
    for (int turn = 0; turn < 10; ++turn) boost::this_fiber::yield();
    steps.push_back("writes");
    out(7);
  };
  parallel(process(read, a.reader()), process(write_late, a.writer()));
  EXPECT_EQ(steps, (Lines{"reads", "writes", "has read"}));
}

TEST(csp_channels_channel, a_value_that_was_taken_is_not_lost_by_poison) {
  Channel<int> a;
  std::vector<int> received;
  const auto read = [&](Reader& in) {
    for (;;) received.push_back(in());
  };
  const auto write = [](Writer& out) {
    out(1);
    out.poison();  // the reader has been given 1, but has not run since
  };
  parallel(process(read, a.reader()), process(write, a.writer()));
  EXPECT_EQ(received, (std::vector<int>{1}));
}

TEST(csp_channels_channel, each_number_arrives_once_whatever_the_number_of_ends) {
  for (const int writers : {1, 2, 5}) {
    for (const int readers : {1, 3}) {
      Channel<int> a;
      std::vector<int> received, all(100 * writers);
      std::iota(all.begin(), all.end(), 0);
      std::vector<boost::fibers::fiber> fibers;
      for (int w = 0; w < writers; ++w) {
        const auto write = [w](Writer& out) {
          for (int i = 0; i < 100; ++i) out(100 * w + i);
        };
        fibers.emplace_back(process(write, a.writer()));
      }
      for (int r = 0; r < readers; ++r) {
        const auto read = [&](Reader& in) {
          for (;;) received.push_back(in());
        };
        fibers.emplace_back(process(read, a.reader()));
      }
      for (auto& fiber : fibers) fiber.join();
      std::sort(received.begin(), received.end());
      EXPECT_EQ(received, all);
    }
  }
}

TEST(csp_channels_channel, who_waits_longest_is_served_first) {
  Channel<int> a;
  std::vector<int> received;
  const auto write = [](int value) { return [value](Writer& out) { out(value); }; };
  const auto read_late = [&](Reader& in) {
    boost::this_fiber::yield();  // by now all three writers wait
    for (;;) received.push_back(in());
  };
  parallel(process(write(1), a.writer()), process(write(2), a.writer()), process(write(3), a.writer()),
           process(read_late, a.reader()));
  EXPECT_EQ(received, (std::vector<int>{1, 2, 3}));
}

TEST(csp_channels_channel, writers_are_told_when_the_last_reader_has_retired) {
  Channel<int> a;
  std::string writer;
  const auto write = [&](Writer& out) {
    writer = end_of([&] {
      for (;;) out(1);
    });
  };
  const auto read_once = [](Reader& in) { in(); };
  parallel(process(write, a.writer()), process(read_once, a.reader()), process(read_once, a.reader()));
  EXPECT_EQ(writer, Retired().what());
}

TEST(csp_channels_channel, a_retired_end_cannot_be_used) {
  Channel<int> a;
  Writer out = a.writer();
  out.retire();
  EXPECT_THROW(out(1), Retired);
  EXPECT_FALSE(out.would_wait());
}

TEST(csp_channels_channel, an_end_knows_whether_a_call_would_wait) {
  Channel<int> a, poisoned, left;
  const auto write_two = [](Writer& out) {
    EXPECT_TRUE(out.would_wait());
    out(1);
    EXPECT_FALSE(out.would_wait()) << "by now the reader waits";
    out(2);
    EXPECT_TRUE(out.would_wait()) << "the reader has been woken";
  };
  const auto read_two = [](Reader& in) {
    EXPECT_FALSE(in.would_wait()) << "the writer waits";
    in();
    EXPECT_TRUE(in.would_wait());
    in();
    EXPECT_FALSE(in.would_wait()) << "no writer is left";
  };
  parallel(process(write_two, a.writer()), process(read_two, a.reader()));
  poisoned.writer().poison();
  EXPECT_FALSE(poisoned.reader().would_wait());
  { const Reader gone = left.reader(); }
  EXPECT_FALSE(left.writer().would_wait());
}

/// As fibers run by default, and a count of how often one is chosen to run (not Boost's own, which looks for sleepers).
struct CountedTurns : boost::fibers::algo::round_robin {
  explicit CountedTurns(int& all_turns) : turns(all_turns) {}
  boost::fibers::context* pick_next() noexcept override {
    boost::fibers::context* const next = round_robin::pick_next();
    turns += next != nullptr && !next->is_context(boost::fibers::type::dispatcher_context);
    return next;
  }
  int& turns;
};

/// How often a fiber was chosen to run while `run` ran in a thread of its own.
template <typename Run>
int turns_of(Run run) {
  int turns = 0;
  std::thread([&] {
    boost::fibers::use_scheduling_algorithm<CountedTurns>(turns);
    run();
  }).join();
  return turns;
}

TEST(csp_channels_channel, needs_one_switch_of_fibers_per_value_and_the_unbuffered_channel_of_boost_two) {
  constexpr int values = 1'000;
  const int ours = turns_of([] {
    Channel<int> a;
    const auto write = [](Writer& out) {
      for (int i = 0; i < values; ++i) out(i);
    };
    const auto read = [](Reader& in) {
      for (;;) in();
    };
    parallel(process(write, a.writer()), process(read, a.reader()));
  });
  const int of_boost = turns_of([] {
    boost::fibers::unbuffered_channel<int> a;
    boost::fibers::fiber write([&] {
      for (int i = 0; i < values; ++i) a.push(i);
      a.close();
    });
    boost::fibers::fiber read([&] {
      for ([[maybe_unused]] const int value : a) continue;
    });
    write.join();
    read.join();
  });
  EXPECT_NEAR(ours, values, 20);
  EXPECT_NEAR(of_boost, 2 * values, 20);
}

}  // namespace
