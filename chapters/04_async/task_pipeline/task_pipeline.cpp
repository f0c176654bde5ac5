// Pipeline
//
// Texts are read in order, pairs of their letters are counted by several threads at the same time, and they are written
// in order. Who reads all texts first has all of them in memory. In a pipeline a text needs a token to be read, and
// gives it back when it has been written; so no more texts are in memory than there are tokens. The program does the
// same texts one after another, all at once and by pipelines with more and more tokens, and prints the times and how
// many texts were in memory.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/task_pipeline/task_pipeline.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o task_pipeline
// Run:     task_pipeline [--texts N] [--tokens N]

#include <tbb/parallel_for_each.h>
#include <tbb/parallel_pipeline.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "job.hpp"

namespace {

void one_after_another(Job& job) {
  for (Text text; job.read(text);) {
    Job::count(text);
    job.write(text);
  }
}

/// Naive: all texts are in memory at the same time.
void all_at_once(Job& job) {
  std::vector<Text> texts;
  for (Text text; job.read(text);) texts.push_back(text);
  tbb::parallel_for_each(texts, Job::count);
  for (const Text& text : texts) job.write(text);
}

void by_pipeline(Job& job, int tokens) {
  const auto read = [&](tbb::flow_control& control) {
    Text text;
    if (!job.read(text)) control.stop();  // then the text that is returned is ignored
    return text;
  };
  const auto count = [](Text text) {
    Job::count(text);
    return text;
  };
  const auto write = [&](const Text& text) { job.write(text); };
  tbb::parallel_pipeline(tokens, tbb::make_filter<void, Text>(tbb::filter_mode::serial_in_order, read) &
                                     tbb::make_filter<Text, Text>(tbb::filter_mode::parallel, count) &
                                     tbb::make_filter<Text, void>(tbb::filter_mode::serial_in_order, write));
}

}  // namespace

int main(int argc, char** argv) {
  int texts = 400, tokens = 8;
  cookbook::Options options("A pipeline of three stages with a limit for what is in memory");
  options.add("texts", texts, "texts that go through the pipeline", 1, 100'000);
  options.add("tokens", tokens, "at most so many tokens: there are pipelines with 1, 2, 4 and so on", 1, 1'000);
  options.parse(argc, argv);

  std::vector<int> expected;  // the results, in the order of reading
  int wrong = 0, above_limit = 0;
  cookbook::println("{:>6} texts                    time    in memory at most", texts);
  const auto row = [&](const std::string& form, auto run, int limit) {
    double best = 1e9;
    int in_memory = 0;
    for (int i = 0; i < 3; ++i) {
      Job job(texts);
      const cookbook::Stopwatch watch;
      run(job);
      best = std::min(best, watch.seconds());
      in_memory = std::max(in_memory, job.max_in_flight);
      if (expected.empty()) expected = job.written;
      wrong += job.written != expected;
    }
    above_limit += std::max(0, in_memory - limit);
    cookbook::println("{:<26}{:8.2f} ms{:21}", form, best * 1e3, in_memory);
  };
  row("one after another", one_after_another, 1);
  row("all at once", all_at_once, texts);
  for (int n = 1; n <= tokens; n *= 2) {
    const auto with_tokens = [n](Job& job) { by_pipeline(job, n); };
    row(fmt::format("pipeline, tokens: {}", n), with_tokens, n);
  }

  cookbook::Checks checks;
  checks.equal("runs whose results are not in the order of reading", wrong, 0);
  checks.equal("texts in memory above the limit", above_limit, 0);
  return checks.exit_code();
}
