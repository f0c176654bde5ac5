// Memory model litmus
//
// Three small programs, each of two threads with two steps, run at least 200,000 times side by side. Each row says
// in how many of the runs an outcome was seen that is possible only if the processor or the compiler changes the order
// of a thread's steps. Beside it stands whether C++ allows that outcome, and whether an x86 processor may produce it.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/09_diagnosis/memory_model_litmus/memory_model_litmus.cpp common/cookbook/*.cpp -lfmt -pthread -o memory_model_litmus
// Run:     memory_model_litmus [--runs N]

#include <string>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "litmus.hpp"

namespace {

#if defined(__x86_64__)
constexpr bool is_x86 = true;
#else
constexpr bool is_x86 = false;
#endif

enum class Rule { forbidden, allowed };

struct Totals {
  long against_cpp = 0, against_x86 = 0;
  int buffered = 0;  // rows in which store buffering was seen
};

/// Whether the two threads run at the same time at present: whether they see the outcome of relaxed store buffering.
bool threads_meet(long runs) { return run_in_two_threads<StoreBuffering<relaxed, relaxed>>(runs).weak > 0; }

/// Runs a test and prints a row. On a busy machine, the two threads may not run at the same time for a while. So a test
/// whose outcome x86 allows is repeated until it is seen, and any other one until the threads meet right after it; or
/// until `longest` seconds have passed.
template <typename Test>
void print_row(const std::string& what, Rule cpp, Rule x86, long runs, Totals& totals, double longest = 20) {
  Counts counts;
  bool is_known = false;
  const cookbook::Stopwatch watch;
  do {
    const Counts more = run_in_two_threads<Test>(runs);
    counts.runs += more.runs;
    counts.weak += more.weak;
    is_known = counts.weak > 0 || (x86 == Rule::forbidden && threads_meet(runs));
  } while (!is_known && watch.seconds() < longest);
  const std::string seen = is_known || !is_x86 ? fmt::format("{} of {}", counts.weak, counts.runs) : "unknown";
  const auto word = [](Rule rule) { return rule == Rule::allowed ? "allowed" : "forbidden"; };
  cookbook::println("    {:<40}{:<20}{:<11}{}", what, seen, word(cpp), word(x86));
  if (cpp == Rule::forbidden) totals.against_cpp += counts.weak;
  if (x86 == Rule::forbidden) totals.against_x86 += counts.weak;
  if (x86 == Rule::allowed && counts.weak > 0) ++totals.buffered;
}

}  // namespace

int main(int argc, char** argv) {
  long runs = 200'000;
  cookbook::Options options("Look for outcomes that no schedule of the steps has");
  options.add("runs", runs, "runs of each test", 1, 100'000'000);
  options.parse(argc, argv);
  if (cookbook::allowed_processors() < 2) {
    cookbook::print_error("skipped, this takes two processors");
    return 77;
  }
#if defined(__SANITIZE_THREAD__)
  cookbook::print_error("skipped, what ThreadSanitizer does at each atomic operation hides the effect");
  return 77;
#endif

  constexpr Rule forbidden = Rule::forbidden, allowed = Rule::allowed;
  Totals totals;
  cookbook::println("                                            out of order        in C++     on x86");
  cookbook::println("A: x = 1, load y;  B: y = 1, load x.  Do both load 0?");
  print_row<StoreBuffering<relaxed, relaxed>>("relaxed", allowed, allowed, runs, totals);
  print_row<StoreBuffering<release, acquire>>("release and acquire", allowed, allowed, runs, totals);
  print_row<StoreBuffering<relaxed, relaxed, compiler_fence>>("relaxed, fence for the compiler only", allowed, allowed,
                                                              runs, totals);
  print_row<StoreBuffering<relaxed, relaxed, full_fence>>("relaxed, full fence", forbidden, forbidden, runs, totals);
  print_row<StoreBuffering<seq_cst, seq_cst>>("seq_cst", forbidden, forbidden, runs, totals);
  cookbook::println("A: x = 1, y = 1;  B: load y, load x.  Does B load 1, and then 0?");
  print_row<MessagePassing<relaxed, relaxed>>("relaxed", allowed, forbidden, runs, totals);
  print_row<MessagePassing<release, acquire>>("release and acquire", forbidden, forbidden, runs, totals);
  cookbook::println("A: load x, y = 1;  B: load y, x = 1.  Do both load 1?");
  print_row<LoadBuffering<relaxed, relaxed>>("relaxed", allowed, forbidden, runs, totals);

  cookbook::Checks checks;
  checks.equal("outcomes that C++ forbids", totals.against_cpp, 0);
  if (is_x86) {
    checks.equal("outcomes that x86 forbids", totals.against_x86, 0);
    checks.equal("rows of the first test in which both load 0", totals.buffered, 3);
  }
  return checks.exit_code();
}
