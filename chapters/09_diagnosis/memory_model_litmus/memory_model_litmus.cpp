// Memory model litmus
//
// Four small programs of two threads, each run at least 200,000 times side by side with several memory orders. The
// program counts the runs whose outcome no schedule has, that is, no order in which one step is made after the other.
// It prints how many there were, whether C++ allows that outcome, and whether an x86 processor may produce it.
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
  int buffered = 0;  // rows with store buffering that was seen
};

/// Runs a test and prints a row. On a busy machine, the two threads may not run at the same time for a while. So a test
/// whose outcome x86 allows is repeated until it is seen, and any other one, in turns with relaxed store buffering,
/// until that is seen; or until `longest` seconds have passed.
template <typename Test>
void print_row(const std::string& what, Rule cpp, Rule x86, long runs, Totals& totals, double longest = 20) {
  Counts counts;
  bool have_met = false;  // the two threads, so closely that an outcome could be seen
  const cookbook::Stopwatch watch;
  do {
    const Counts more = run_in_two_threads<Test>(runs);
    counts.runs += more.runs;
    counts.weak += more.weak;
    have_met = counts.weak > 0;
    if (x86 == Rule::forbidden) have_met |= run_in_two_threads<StoreBuffering<relaxed, relaxed>>(runs).weak > 0;
  } while (!have_met && watch.seconds() < longest);
  const double percent = 100.0 * counts.weak / counts.runs;
  std::string seen = percent < 1 ? fmt::format("{:.1g} %", percent) : fmt::format("{:.0f} %", percent);
  if (counts.weak == 0) seen = have_met || !is_x86 ? "never" : "unknown";
  const auto word = [](Rule rule) { return rule == Rule::allowed ? "allowed" : "forbidden"; };
  cookbook::println("{:<42}{:>10}  {:<11}{}", what, seen, word(cpp), word(x86));
  if (cpp == Rule::forbidden) totals.against_cpp += counts.weak;
  if (x86 == Rule::forbidden) totals.against_x86 += counts.weak;
  if (x86 == Rule::allowed && counts.weak > 0) ++totals.buffered;
}

}  // namespace

int main(int argc, char** argv) {
  long runs = 200'000;
  cookbook::Options options("Count the outcomes that no schedule has");
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
  cookbook::println("test                                            seen  in C++     on x86");
  print_row<StoreBuffering<relaxed, relaxed>>("store buffering, relaxed", allowed, allowed, runs, totals);
  print_row<StoreBuffering<relaxed, relaxed, compiler_fence>>("store buffering, fence for the compiler", allowed,
                                                              allowed, runs, totals);
  print_row<StoreBuffering<release, acquire>>("store buffering, release and acquire", allowed, allowed, runs, totals);
  print_row<StoreBuffering<relaxed, relaxed, full_fence>>("store buffering, fence", forbidden, forbidden, runs, totals);
  print_row<StoreBuffering<seq_cst, seq_cst>>("store buffering, seq_cst", forbidden, forbidden, runs, totals);
  print_row<MessagePassing<relaxed, relaxed>>("message passing, relaxed", allowed, forbidden, runs, totals);
  print_row<MessagePassing<release, acquire>>("message passing, release and acquire", forbidden, forbidden, runs,
                                              totals);
  print_row<LoadBuffering<relaxed, relaxed>>("load buffering, relaxed", allowed, forbidden, runs, totals);
  print_row<LoadBuffering<release, acquire>>("load buffering, release and acquire", forbidden, forbidden, runs, totals);
  print_row<Coherence<relaxed, relaxed>>("coherence, relaxed", forbidden, forbidden, runs, totals);

  cookbook::Checks checks;
  checks.equal("outcomes that C++ forbids", totals.against_cpp, 0);
  if (is_x86) {
    checks.equal("outcomes that x86 forbids", totals.against_x86, 0);
    checks.equal("rows in which store buffering was seen", totals.buffered, 3);
  }
  return checks.exit_code();
}
