// Name a thread
//
// Three threads run the same function, each under a name of its own. They read the name and print it. Main reads all
// names from the files in which ps, top and debuggers find them too. Then the program shows what a thread is called
// that nobody has named, and that a name can have 15 characters and no more.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/name_thread/name_thread.cpp common/cookbook/*.cpp -lfmt -pthread -o name_thread
// Run:     name_thread [--work-ms N]

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "named_thread.hpp"

namespace {

/// The names of all threads of this program, each once and sorted, from /proc/self/task/<number of the thread>/comm.
std::vector<std::string> names_in_proc() {
  std::set<std::string> names;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    names.insert(name);
  }
  return {names.begin(), names.end()};
}

}  // namespace

int main(int argc, char** argv) {
  int work_ms = 50;
  cookbook::Options options("Name threads for people and for the debugger");
  options.add("work-ms", work_ms, "how long each thread works, in ms", 0, 60'000);
  options.parse(argc, argv);

  std::latch all_started(3), names_read(1);
  const auto serve = [&] {
    cookbook::println("{} is starting", thread_name());
    all_started.count_down();
    names_read.wait();  // the name of a thread that has ended could not be read any more
    std::this_thread::sleep_for(std::chrono::milliseconds(work_ms));
    cookbook::println("{} is exiting", thread_name());
  };
  std::vector<std::jthread> threads;
  for (const char* name : {"first_function", "second_function", "third_function"}) {
    threads.push_back(start_thread(serve, name));
  }

  all_started.wait();
  const std::vector<std::string> names = names_in_proc();
  names_read.count_down();
  threads.clear();  // the destructors of the jthreads wait for them

  std::string unnamed, first_default, second_default;
  std::jthread([&] { unnamed = thread_name(); }).join();
  start_thread([&] { first_default = thread_name(); }).join();
  start_thread([&] { second_default = thread_name(); }).join();

  cookbook::Checks checks;
  checks.equal("names in /proc/self/task", names,
               {"first_function", "name_thread", "second_function", "third_function"});
  checks.equal("name of a thread that main made without a name", unnamed, thread_name());
  checks.equal("first name by default", first_default, "Thread-1");
  checks.equal("second name by default", second_default, "Thread-2");
  const int error = pthread_setname_np(pthread_self(), "sixteen_letters!");
  checks.that("a name of 16 characters is refused", error == ERANGE);
  return checks.exit_code();
}
