// Trace timeline
//
// Four threads do 16 tasks, between a part that main does before and one that it does after. The tasks are divided in
// two ways. What each thread did, and when, is recorded and drawn: a character per millisecond, the letter of a task.
// The drawing shows idle threads, and parts in which only main works. With --cost, the program measures instead what it
// costs to record an event.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/09_diagnosis/trace_timeline/trace_timeline.cpp common/cookbook/*.cpp -lfmt -pthread -o trace_timeline
// Run:     trace_timeline [--longest-first] [--trace FILE] [--cost]

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "timeline.hpp"
#include "trace.hpp"

namespace {

constexpr int threads = 4, tasks = 16;
constexpr const char* names[tasks] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"};

/// Takes the place of a computation, so that the timeline is the same on any number of cores.
void work(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

bool longest_first = false;  // an option

/// Task 0, "a", takes 1 ms, and task 15, "p", takes 16 ms; the other way round if the longest come first.
int length_of(int task) { return longest_first ? tasks - task : task + 1; }

void do_task(Track& track, int task) {
  const Span span(track, names[task]);
  work(length_of(task));
}

/// Each thread has four tasks that follow each other.
void blocks_of_four(Track& track, int thread, std::atomic<int>&) {
  for (int task = 4 * thread; task < 4 * (thread + 1); ++task) do_task(track, task);
}

/// Whoever is free takes the next task.
void next_free(Track& track, int, std::atomic<int>& next) {
  for (int task = next++; task < tasks; task = next++) do_task(track, task);
}

/// The whole job: main reads, the threads do the tasks, main writes.
template <typename Division>
void do_job(Trace& trace, Division division) {
  Track& main_track = trace.add_track("main");
  {
    const Span span(main_track, "READ");
    work(10);
  }
  std::atomic<int> next = 0;
  std::vector<Track*> tracks;
  for (int i = 0; i < threads; ++i) tracks.push_back(&trace.add_track("worker " + std::to_string(i + 1)));
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) workers.emplace_back([&, i] { division(*tracks[i], i, next); });
  }
  const Span span(main_track, "WRITE");
  work(10);
}

struct Job {
  std::string name;  // how its tasks are divided
  std::unique_ptr<Trace> trace = std::make_unique<Trace>();
};

void draw(const Job& job) {
  const Extent all(*job.trace);
  cookbook::println("{:<14} {:3.0f} ms", job.name, milliseconds(all.end - all.begin));
  const Track& main_track = job.trace->tracks()[0];
  for (const Track& track : job.trace->tracks()) {
    const std::string idle =
        &track == &main_track ? "-" : fmt::format("{:.0f} ms", idle_milliseconds(*job.trace, track));
    cookbook::println("  {:<12} {:3.0f} ms{:>11}  {}", track.name, busy_milliseconds(track), idle,
                      drawing_of(track, all.begin));
  }
}

/// The letters of all tasks that were recorded, in alphabetical order.
std::string tasks_of(const Trace& trace) {
  std::string letters;
  for (const Track& track : trace.tracks()) {
    for (const Event& event : track.events) {
      if (std::strlen(event.name) == 1) letters += event.name;
    }
  }
  std::sort(letters.begin(), letters.end());
  return letters;
}

/// Nanoseconds of one call of `record`: the best of five times 1000 calls.
template <typename Record>
double nanoseconds_of(Record record) {
  double best = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const cookbook::Stopwatch watch;
    for (int i = 0; i < 1'000; ++i) record();
    best = std::min(best, 1e6 * watch.seconds());
  }
  return best;
}

void measure_cost() {
  Track track{"measured"};
  track.events.resize(5'000);
  track.events.clear();  // so that the memory is there, and has been used
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  if (!file) cookbook::exit_with_errno("tmpfile");
  const auto write_two_lines = [&](bool at_once) {
    for (const char* what : {"begin", "end"}) {
      std::fprintf(file.get(), "%s a %lld\n", what, static_cast<long long>(Clock::now().time_since_epoch().count()));
      if (at_once && std::fflush(file.get()) != 0) cookbook::exit_with_errno("fflush");
    }
  };
  const auto print = [](const char* what, double nanoseconds) {
    cookbook::println("{:<38}{:5.0f} ns", what, nanoseconds);
  };
  print("a look at the clock", nanoseconds_of([] { cookbook::do_not_optimize(Clock::now()); }));
  print("an event, stored in memory", nanoseconds_of([&] { const Span span(track, "a"); }));
  print("two lines in a file", nanoseconds_of([&] { write_two_lines(false); }));
  print("two lines in a file, each with fflush", nanoseconds_of([&] { write_two_lines(true); }));
}

void write_file(const std::string& name, const std::string& text) {
  if (name.empty()) return;
  std::ofstream file(name);
  if (!(file << text << std::flush)) cookbook::exit_with_errno("cannot write " + name);
}

}  // namespace

int main(int argc, char** argv) {
  std::string trace_file;
  bool cost = false;
  cookbook::Options options("Show what each thread did, and when");
  options.add_flag("longest-first", longest_first, "let \"a\" take 16 ms, and \"p\" one");
  options.add("trace", trace_file, "file to write, for the trace viewer of a browser");
  options.add_flag("cost", cost, "measure what recording costs, and nothing else");
  options.parse(argc, argv);
  if (cost) {
    measure_cost();
    return 0;
  }

  std::vector<Job> jobs(2);
  jobs[0].name = "blocks of four";
  do_job(*jobs[0].trace, blocks_of_four);
  jobs[1].name = "next free";
  do_job(*jobs[1].trace, next_free);

  cookbook::println("{:>20}{:>11}  a character per ms", "busy", "then idle");
  std::string json;
  std::vector<std::string> recorded;
  int overlaps = 0;
  for (int i = 0; i < 2; ++i) {
    const Job& job = jobs[i];
    draw(job);
    json += (i == 0 ? "" : ",\n") + json_events(*job.trace, i + 1, job.name);
    recorded.push_back(tasks_of(*job.trace));
    overlaps += overlaps_of(*job.trace);
  }
  write_file(trace_file, "{\"traceEvents\": [\n" + json + "\n]}\n");

  cookbook::Checks checks;
  const std::string all = "abcdefghijklmnop";
  checks.equal("tasks in each timeline", recorded, {all, all});
  checks.equal("events of one thread that overlap", overlaps, 0);
  return checks.exit_code();
}
