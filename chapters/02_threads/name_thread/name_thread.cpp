// Name the current thread
//
// Three threads serve at the same time, each under a name of its own, and say when they start and when they exit. The
// system knows these names, not the program alone: main reads them from /proc, where ps, top and a debugger find them
// too. Then the rules: 15 characters and no more, and what a thread is called that nobody has named.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/name_thread/name_thread.cpp common/cookbook/*.cpp -lfmt -pthread -o name_thread
// Run:     name_thread [--delay-ms N]

#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <latch>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"

namespace {

/// Names the calling thread; the system refuses a name of more than 15 characters.
void name_this_thread(const std::string& name) {
  const int error = pthread_setname_np(pthread_self(), name.c_str());
  if (error != 0) throw std::system_error(error, std::generic_category(), "pthread_setname_np " + name);
}

/// The name of a thread of this program, the caller or another.
std::string name_of(pthread_t thread) {
  char name[16];  // 15 characters and the zero at the end
  const int error = pthread_getname_np(thread, name, sizeof name);
  if (error != 0) throw std::system_error(error, std::generic_category(), "pthread_getname_np");
  return name;
}

/// The name of a thread as the system shows it to every process.
std::string name_in_proc(pid_t thread) {
  std::ifstream file(fmt::format("/proc/self/task/{}/comm", thread));
  std::string name;
  std::getline(file, name);
  return name;
}

/// The next of Thread-1, Thread-2 and so on.
std::string default_name() {
  static std::atomic<int> count = 0;
  return fmt::format("Thread-{}", ++count);
}

/// Makes a thread that names itself before it works. Only a thread that is given no name uses up a default name.
template <typename Work>
std::jthread start_thread(Work work, const std::string& name = default_name()) {
  return std::jthread([work, name] {
    name_this_thread(name);
    work();
  });
}

/// What was seen of some threads: their names, in three ways, and how many had started when each exited.
struct Seen {
  std::vector<std::string> inside, by_maker, in_proc;
  std::vector<int> started;
};

/// Runs a thread for each name, all at the same time, each of which serves for `delay`.
Seen serve(const std::vector<std::string>& names, std::chrono::milliseconds delay) {
  const std::size_t count = names.size();
  Seen seen;
  seen.inside.resize(count);
  seen.started.resize(count);
  std::vector<pid_t> ids(count);
  std::vector<std::jthread> threads;
  std::atomic<int> started = 0;
  std::latch all_started(static_cast<std::ptrdiff_t>(count)), names_read(1);
  for (std::size_t i = 0; i < count; ++i) {
    const auto work = [&, i] {
      seen.inside[i] = name_of(pthread_self());
      ids[i] = gettid();
      cookbook::println("{} is starting", seen.inside[i]);
      ++started;
      all_started.count_down();
      names_read.wait();  // when a thread has ended, its name is gone
      std::this_thread::sleep_for(delay);
      seen.started[i] = started;
      cookbook::println("{} is exiting", seen.inside[i]);
    };
    threads.push_back(start_thread(work, names[i]));
  }
  all_started.wait();
  for (std::jthread& thread : threads) seen.by_maker.push_back(name_of(thread.native_handle()));
  for (const pid_t id : ids) seen.in_proc.push_back(name_in_proc(id));
  names_read.count_down();
  for (std::jthread& thread : threads) thread.join();
  return seen;
}

/// What the system calls a thread that nobody names, when a thread called `maker` makes it.
std::string inherited_name(const std::string& maker) {
  std::string name;
  const auto unnamed = [&name] { name = name_of(pthread_self()); };
  start_thread([unnamed] { std::jthread(unnamed).join(); }, maker).join();
  return name;
}

/// A thread with a name of 15 characters tries to take one of 16, by the two calls that there are.
struct LongNames {
  int error = 0;
  std::string after_refusal, after_prctl;
};

LongNames try_long_names() {
  LongNames tried;
  const auto work = [&tried] {
    tried.error = pthread_setname_np(pthread_self(), "sixteen_letters!");
    tried.after_refusal = name_of(pthread_self());
    if (prctl(PR_SET_NAME, "sixteen_letters!") != 0) cookbook::system_refused("prctl");
    tried.after_prctl = name_of(pthread_self());
  };
  start_thread(work, "fifteen_letters").join();
  return tried;
}

}  // namespace

int main(int argc, char** argv) {
  int delay_ms = 50;
  cookbook::Options options("Name threads for people and for the debugger");
  options.add("delay-ms", delay_ms, "how long each service takes, in ms", 1, 10'000);
  options.parse(argc, argv);

  const std::vector<std::string> names = {"first_function", "second_function", "third_function"};
  const cookbook::Stopwatch watch;
  const Seen seen = serve(names, std::chrono::milliseconds(delay_ms));
  const double took_ms = watch.seconds() * 1e3;
  cookbook::println("three services of {} ms took {:.0f} ms", delay_ms, took_ms);

  cookbook::Verdict verdict;
  verdict.that("that is one delay or more", took_ms >= delay_ms);
  verdict.equal("services that had started when each exited", seen.started, {3, 3, 3});
  verdict.equal("names seen inside", seen.inside, names);
  verdict.equal("names seen by their maker", seen.by_maker, names);
  verdict.equal("names seen in /proc", seen.in_proc, names);

  std::vector<std::string> unnamed(2);
  for (std::string& name : unnamed) start_thread([&name] { name = name_of(pthread_self()); }).join();
  verdict.equal("names of threads that were given none", unnamed, {"Thread-1", "Thread-2"});
  verdict.equal("the system's own name for such a thread", inherited_name("its_maker"), "its_maker");

  const LongNames tried = try_long_names();
  verdict.equal("a name of 16 characters is refused", tried.error == ERANGE, true);
  verdict.equal("name of the thread after that", tried.after_refusal, "fifteen_letters");
  verdict.equal("name after prctl with 16 characters", tried.after_prctl, "sixteen_letters");
  return verdict.exit_code();
}
