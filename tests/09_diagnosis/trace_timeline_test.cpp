// The header in the process, with times that are chosen, and the program's files, read by another program.

#include "09_diagnosis/trace_timeline/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <latch>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;
using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

/// An event of the trace file; times in milliseconds.
struct Seen {
  int process, thread;
  std::string name;
  double begin, end;
};

/// What a trace file says, as Python's JSON reads it: one line per complete event.
std::vector<Seen> events_in(const std::filesystem::path& file, Lines& thread_names) {
  const auto result = run("/usr/bin/env", {"python3", "-c",
                                           "import json, sys\n"
                                           "for e in json.load(open(sys.argv[1]))['traceEvents']:\n"
                                           "    if e['ph'] == 'X':\n"
                                           "        print('X', e['pid'], e['tid'], e['name'], e['ts'], e['dur'])\n"
                                           "    elif e['name'] == 'thread_name':\n"
                                           "        print('thread', e['args']['name'])\n",
                                           file});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  std::vector<Seen> events;
  for (const std::string& line : result.out) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "thread") thread_names.push_back(line.substr(7));
    if (kind != "X") continue;
    Seen seen;
    double duration = 0;
    words >> seen.process >> seen.thread >> seen.name >> seen.begin >> duration;
    seen.begin /= 1e3;
    seen.end = seen.begin + duration / 1e3;
    events.push_back(seen);
  }
  return events;
}

class trace_timeline : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory = std::make_unique<test_support::TemporaryDirectory>();
    json = directory->path / "trace.json";
    result = run("trace_timeline", {"--trace", json});
  }
  static void TearDownTestSuite() { directory.reset(); }

  static inline std::unique_ptr<test_support::TemporaryDirectory> directory;
  static inline std::filesystem::path json;
  static inline test_support::Result result;
};

TEST_F(trace_timeline, the_trace_file_has_every_task_of_both_jobs_once) {
  ASSERT_EQ(result.exit_code, 0) << result.text();
  Lines names;
  const auto events = events_in(json, names);
  EXPECT_EQ(events.size(), 2U * 18);
  ASSERT_EQ(names.size(), 10U);
  EXPECT_EQ(Lines(names.begin(), names.begin() + 5), (Lines{"main", "worker 1", "worker 2", "worker 3", "worker 4"}));
  std::map<std::pair<int, std::string>, int> times;
  for (const Seen& event : events) ++times[{event.process, event.name}];
  EXPECT_EQ(times.size(), 2U * 18);
  for (const Seen& event : events) {
    if (event.name.size() > 1) continue;
    EXPECT_GE(event.end - event.begin, event.name[0] - 'a' + 1 - 0.01) << event.name;
    EXPECT_GT(event.thread, 1) << "main does no task";
  }
}

TEST_F(trace_timeline, tasks_lie_between_reading_and_writing) {
  Lines names;
  const auto events = events_in(json, names);
  for (int process = 1; process <= 2; ++process) {
    double read = NAN, write = NAN, written = NAN;
    for (const Seen& event : events) {
      if (event.process == process && event.name == "READ") read = event.end;
      if (event.process != process || event.name != "WRITE") continue;
      write = event.begin;
      written = event.end;
    }
    EXPECT_GE(read, 10);
    EXPECT_GE(written - write, 10 - 0.01);
    for (const Seen& event : events) {
      if (event.process != process || event.name.size() > 1) continue;
      EXPECT_GE(event.begin, read);
      EXPECT_LE(event.end, write);
    }
  }
}

TEST_F(trace_timeline, each_job_divides_the_tasks_as_it_says) {
  Lines names;
  const auto events = events_in(json, names);
  std::vector<Seen> sorted = events;
  std::sort(sorted.begin(), sorted.end(), [](const Seen& a, const Seen& b) { return a.begin < b.begin; });
  std::map<int, std::map<int, std::string>> by_thread;
  for (const Seen& event : sorted) {
    if (event.name.size() == 1) by_thread[event.process][event.thread] += event.name;
  }
  EXPECT_EQ(by_thread[1], (std::map<int, std::string>{{2, "abcd"}, {3, "efgh"}, {4, "ijkl"}, {5, "mnop"}}));
  // The next free task is a later one than that which the thread has done before; with the longest first, an earlier
  // one.
  for (const auto& [thread, letters] : by_thread[2])
    EXPECT_TRUE(std::is_sorted(letters.begin(), letters.end())) << letters;
}

TEST_F(trace_timeline, with_the_longest_first_the_fifth_task_goes_to_the_thread_that_is_free_first) {
  // "d" takes 13 ms and "a" 16, so "e" goes to the thread of "d". If each thread took every fourth task, it would
  // always go to that of "a". On a busy machine "a" may end before "d"; not every time.
  bool seen = false;
  for (int i = 0; i < 10 && !seen; ++i) {
    const auto file = directory->path / "longest_first.json";
    const auto again = run("trace_timeline", {"--longest-first", "--trace", file});
    ASSERT_EQ(again.exit_code, 0) << again.text();
    Lines names;
    std::map<std::string, int> thread_of;
    for (const Seen& event : events_in(file, names)) {
      if (event.process == 2) thread_of[event.name] = event.thread;
      if (event.name == "a") {
        EXPECT_GE(event.end - event.begin, 16 - 0.01);
      }
    }
    seen = thread_of["e"] != thread_of["a"];
  }
  EXPECT_TRUE(seen);
}

TEST_F(trace_timeline, the_drawing_shows_the_same_as_the_numbers) {
  // "  worker 1      10 ms      48 ms  ..........abbcccdddd": as many letters as the thread was busy, up to one per
  // event; and with the idle time, all workers of a job come to the same end.
  int rows = 0;
  std::vector<double> ends;
  for (const std::string& line : result.lines_with(R"(^  (main|worker \d) +\d+ ms +(-|\d+ ms)  [.A-Za-z]+$)")) {
    const std::string drawing = line.substr(line.rfind(' ') + 1);
    const double busy = std::stod(line.substr(14));
    EXPECT_NEAR(static_cast<double>(drawing.size() - std::count(drawing.begin(), drawing.end(), '.')), busy, 16)
        << line;
    if (line.find("  main") == std::string::npos) {
      ends.push_back(static_cast<double>(drawing.size()) + std::stod(line.substr(21)));
    } else {
      EXPECT_NE(line.find(" ms          -  "), std::string::npos) << line;
    }
    ++rows;
  }
  ASSERT_EQ(rows, 10) << result.text();
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(ends[i], ends[i / 4 * 4], 1) << result.text();
}

TEST_F(trace_timeline, with_blocks_the_first_worker_is_idle_for_as_long_as_its_tasks_are_shorter) {
  // 1 + 2 + 3 + 4 = 10 ms and 13 + 14 + 15 + 16 = 58 ms; sleeps may take longer, not every time.
  bool seen = false;
  for (int i = 0; i < 10 && !seen; ++i) {
    const auto idle = run("trace_timeline").captures(R"(^  worker \d +\d+ ms +(\d+) ms  )");
    ASSERT_EQ(idle.size(), 8U);
    seen = std::abs(std::stod(idle[0]) - 48) <= 3 && idle[3] == "0";
  }
  EXPECT_TRUE(seen);
}

TEST_F(trace_timeline, a_file_that_cannot_be_written_is_an_error) {
  const auto refused = run("trace_timeline", {"--trace", "/nowhere/trace.json"});
  EXPECT_EQ(refused.exit_code, 3) << refused.text();
  EXPECT_EQ(refused.err.size(), 1U) << refused.text();
  const auto full = run("trace_timeline", {"--trace", "/dev/full"});  // can be opened
  EXPECT_EQ(full.exit_code, 3) << full.text();
  EXPECT_THAT(full.err, testing::ElementsAre("trace_timeline: cannot write /dev/full: No space left on device"));
}

TEST_F(trace_timeline, lines_that_the_file_does_not_take_are_an_error) {
  // A file may have no byte, as on a full disk. Whoever ignores SIGXFSZ gets an error instead of the signal.
  const auto refused =
      run("/bin/sh", {"-c", "trap '' XFSZ; ulimit -f 0; exec " + test_support::bin() + "/trace_timeline --cost"},
          {.probed = false});  // the probe has a file of its own
  EXPECT_EQ(refused.exit_code, 3) << refused.text();
  EXPECT_THAT(refused.err, testing::ElementsAre("trace_timeline: fflush: File too large"));
}

// The headers
// -----------------------------------------------------------------------------------------------------------

/// A trace with two tracks, at times that are known.
struct Known {
  Known() {
    Track& one = trace.add_track("one");
    one.events = {{"alpha", start + 2ms, start + 5ms}, {"beta", start + 5ms, start + 6ms}};
    Track& two = trace.add_track("two");
    two.events = {{"gamma", start + 8ms, start + 10ms}};
  }
  Clock::time_point start = Clock::now();
  Trace trace;
};

TEST(trace_timeline_header, draws_a_character_per_millisecond) {
  const Known known;
  const Extent all(known.trace);
  EXPECT_EQ(all.begin, known.start + 2ms);
  EXPECT_EQ(all.end, known.start + 10ms);
  EXPECT_EQ(drawing_of(known.trace.tracks()[0], all.begin), "aaab");
  EXPECT_EQ(drawing_of(known.trace.tracks()[1], all.begin), "......gg");
  EXPECT_EQ(drawing_of(known.trace.tracks()[1], known.start), "........gg");
  EXPECT_EQ(drawing_of(Track{"empty"}, all.begin), "");
  EXPECT_DOUBLE_EQ(busy_milliseconds(known.trace.tracks()[0]), 4);
}

TEST(trace_timeline_header, writes_microseconds_since_the_first_event) {
  const Known known;
  test_support::TemporaryDirectory directory;
  const auto file = directory.path / "trace.json";
  std::ofstream(file) << "{\"traceEvents\": [" << json_events(known.trace, 7, "a \"name\" \\ of two\nlines") << "]}";
  Lines names;
  const auto events = events_in(file, names);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(names, (Lines{"one", "two"}));
  const double begins[] = {0, 3, 6}, ends[] = {3, 4, 8};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(events[i].process, 7);
    EXPECT_NEAR(events[i].begin, begins[i], 1e-6);
    EXPECT_NEAR(events[i].end, ends[i], 1e-6);
  }
  EXPECT_NE(events[0].thread, events[2].thread);
}

TEST(trace_timeline_header, counts_the_events_that_begin_before_the_one_before_has_ended) {
  Known known;
  EXPECT_EQ(overlaps_of(known.trace), 0) << "one may begin when the other ends";
  Track& three = known.trace.add_track("three");
  const Clock::time_point start = known.start;
  three.events = {{"a", start, start + 3ms}, {"b", start + 2ms, start + 5ms}, {"c", start + 4ms, start + 6ms}};
  EXPECT_EQ(overlaps_of(known.trace), 2);
}

TEST(trace_timeline_header, records_the_end_in_whatever_way_a_block_is_left) {
  Trace trace;
  Track& track = trace.add_track("one");
  const auto leave = [&](int way) {
    const Span span(track, "work");
    std::this_thread::sleep_for(2ms);
    if (way == 1) return;
    if (way == 2) throw std::runtime_error("left");
  };
  leave(0);
  leave(1);
  EXPECT_THROW(leave(2), std::runtime_error);
  ASSERT_EQ(track.events.size(), 3U);
  for (const Event& event : track.events)
    EXPECT_GE(event.end - event.begin, 2ms) << "a thread that sleeps uses no processor";
}

TEST(trace_timeline_header, the_clock_is_never_set_back) { EXPECT_TRUE(Clock::is_steady); }

TEST(trace_timeline_header, two_tracks_share_no_cache_line) {
  Trace trace;
  const Track &one = trace.add_track("one"), &two = trace.add_track("two");
  EXPECT_NE(reinterpret_cast<std::uintptr_t>(&one) / 64, reinterpret_cast<std::uintptr_t>(&two) / 64);
  EXPECT_NE((reinterpret_cast<std::uintptr_t>(&one) + sizeof(Track) - 1) / 64,
            reinterpret_cast<std::uintptr_t>(&two) / 64);
}

TEST(trace_timeline_header, many_threads_have_a_track_each) {
  Trace trace;
  constexpr int threads = 16, events = 5'000;
  {
    std::latch start(threads);
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) {
      all.emplace_back([&, i] {
        start.arrive_and_wait();
        Track& track = trace.add_track(std::to_string(i));  // others are added while this one is in use
        for (int n = 0; n < events; ++n) const Span span(track, "work");
      });
    }
  }
  ASSERT_EQ(trace.tracks().size(), static_cast<std::size_t>(threads));
  int names = 0;
  for (const Track& track : trace.tracks()) {
    EXPECT_EQ(track.events.size(), static_cast<std::size_t>(events));
    names += std::stoi(track.name);
    for (std::size_t i = 1; i < track.events.size(); ++i) ASSERT_LE(track.events[i - 1].end, track.events[i].begin);
  }
  EXPECT_EQ(names, threads * (threads - 1) / 2);
}

TEST(trace_timeline_timing, an_event_costs_far_less_than_two_lines_in_a_file) {
  const auto measured = run("trace_timeline", {"--cost"});
  const double event = std::stod(measured.captures(R"(^an event, stored in memory +(\d+) ns$)").at(0));
  const double lines = std::stod(measured.captures(R"(^two lines in a file +(\d+) ns$)").at(0));
  const double flushed = std::stod(measured.captures(R"(^two lines in a file, each with fflush +(\d+) ns$)").at(0));
  EXPECT_LT(2 * event, lines) << measured.text();
  EXPECT_LT(2 * lines, flushed) << measured.text();
}

TEST(trace_timeline_timing, a_look_at_the_clock_takes_no_less_than_here) {
  double shortest = 1e9;  // nanoseconds
  for (int repeat = 0; repeat < 5; ++repeat) {
    const Clock::time_point begin = Clock::now();
    for (int i = 1; i < 1'000; ++i) Clock::now();
    shortest = std::min(shortest, 1e3 * milliseconds(Clock::now() - begin));
  }
  const auto measured = run("trace_timeline", {"--cost"});
  const double clock = std::stod(measured.captures(R"(^a look at the clock +(\d+) ns$)").at(0));
  EXPECT_GT(3 * clock, shortest) << measured.text();
}

TEST(trace_timeline_timing, tasks_that_are_shared_out_by_and_by_end_earlier_than_blocks) {
  const auto measured = run("trace_timeline");
  const auto time = [&](const std::string& division) {
    return std::stod(measured.captures("^" + division + " +(\\d+) ms$").at(0));
  };
  EXPECT_LT(time("next free"), time("blocks of four")) << measured.text();
}

}  // namespace
