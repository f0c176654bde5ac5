// A first thread
//
// A program starts a thread that greets ten times, with a pause behind each greeting, and says at once that it has
// ended. The call that made the thread is over, the last line of main is printed, and the greetings go on. They do so
// only because main joins the thread before it returns: the end of main is the end of all threads.
// The pitfall, first_thread_unjoined.cpp, shows both ways to leave that out.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/first_thread/first_thread.cpp common/cookbook/*.cpp -lfmt -pthread -o first_thread
// Run:     first_thread [--delay-ms N] [--greetings N]

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

/// The lines of all threads in the order in which they were printed. Two threads write here, hence the lock.
class Journal {
 public:
  void print(const std::string& line) {
    std::scoped_lock hold(guard_);
    cookbook::println("{}", line);
    lines_.push_back(line);
  }

  /// To be called when no other thread prints any more.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::mutex guard_;
  std::vector<std::string> lines_;
};

/// Work with its own data: what it says, how often, and how long it pauses.
class Greeter {
 public:
  Greeter(Journal& journal, int greetings, std::chrono::milliseconds delay)
      : journal_(journal), greetings_(greetings), delay_(delay) {}

  /// What the thread runs. At the end it waits for main's last line, which has long been printed by then, unless
  /// the system let main wait for all that time; so the order is the same in every run. It does not wait for ever: if
  /// main waited for the thread first, they would wait for each other.
  void run(std::future<void>& main_is_done) const {
    journal_.print("Thread Starting");
    for (int i = 0; i < greetings_; ++i) {
      journal_.print(message_);
      std::this_thread::sleep_for(delay_);
    }
    main_is_done.wait_for(std::chrono::seconds(10));
    journal_.print("Thread Ended");
  }

 private:
  Journal& journal_;
  int greetings_;
  std::chrono::milliseconds delay_;
  std::string message_ = "Hello Parallel C++ CookBook!!";
};

/// Starts the thread and returns; the thread lives on. The greeter is copied into it, for the caller's will be gone.
std::jthread start_greeting(Journal& journal, int greetings, std::chrono::milliseconds delay, std::future<void>& done) {
  const Greeter greeter(journal, greetings, delay);
  return std::jthread(&Greeter::run, greeter, std::ref(done));
}

/// What a thread has done when the block with its std::jthread is over: the destructor waits for it.
std::string done_at_the_end_of_the_block() {
  std::string done = "nothing";
  {
    std::jthread slow([&done] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      done = "all";
    });
  }
  return done;
}

/// Where `line` stands in `lines`.
long place(const std::vector<std::string>& lines, const std::string& line) {
  return std::ranges::find(lines, line) - lines.begin();
}

}  // namespace

int main(int argc, char** argv) {
  int delay_ms = 50, greetings = 10;
  cookbook::Options options("Let a thread greet ten times while main goes on");
  options.add("delay-ms", delay_ms, "pause behind each greeting, in milliseconds", 0, 60'000);
  options.add("greetings", greetings, "greetings", 0, 10'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds delay(delay_ms);

  Journal journal;
  std::promise<void> last_line;
  std::future<void> main_is_done = last_line.get_future();
  const cookbook::Stopwatch watch;
  journal.print("Process Started");
  std::jthread thread = start_greeting(journal, greetings, delay, main_is_done);
  journal.print("Process Ended");
  last_line.set_value();

  thread.join();
  const double seconds = watch.seconds();

  const std::vector<std::string>& lines = journal.lines();
  const std::string message = "Hello Parallel C++ CookBook!!";
  cookbook::Checks checks;
  checks.equal("greetings", std::ranges::count(lines, message), greetings);
  checks.equal("first line of all", lines.front(), "Process Started");
  checks.equal("last line of all", lines.back(), "Thread Ended");
  checks.that("the thread's start line stands before its greetings",
              place(lines, "Thread Starting") < place(lines, message));
  checks.that("main's end line stands before the thread's",
              place(lines, "Process Ended") < place(lines, "Thread Ended"));
  checks.that("the thread took its pauses", seconds >= std::chrono::duration<double>(greetings * delay).count());
  checks.equal("what a thread did by the end of the block of its jthread", done_at_the_end_of_the_block(), "all");
  return checks.exit_code();
}
