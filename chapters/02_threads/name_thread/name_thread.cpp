// Name a thread
//
// Three threads exist at the same time, and main reads what the system calls them, from a file in which debuggers find
// it too. Without names all three are called like the program. With names they can be told apart, unless the names are
// too long: then the system refuses them by an error code, which is easily overlooked.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/name_thread/name_thread.cpp common/cookbook/*.cpp -lfmt -pthread -o name_thread
// Run:     name_thread [--work-ms N]

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <latch>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "named_thread.hpp"

namespace {

/// The name of a thread of this process, by the number that the system has for it.
std::string name_in_proc(pid_t thread) {
  std::string name;
  std::getline(std::ifstream("/proc/self/task/" + std::to_string(thread) + "/comm"), name);
  return name;
}

/// Makes three threads, each by a call of `start(number, serve)`, and each runs `serve()`. Prints and returns the names
/// that the system has for them.
template <typename Start>
std::vector<std::string> names_of_three(std::string_view how, std::chrono::milliseconds work, Start start) {
  std::vector<pid_t> ids(3);
  std::latch all_started(3), names_read(1);
  std::vector<std::jthread> threads;
  for (int number = 0; number < 3; ++number) {
    threads.push_back(start(number, [&, number] {
      ids[number] = gettid();
      all_started.count_down();
      names_read.wait();  // the name of a thread that has ended could not be read any more
      std::this_thread::sleep_for(work);
    }));
  }
  all_started.wait();
  const std::vector<std::string> names = {name_in_proc(ids[0]), name_in_proc(ids[1]), name_in_proc(ids[2])};
  names_read.count_down();
  cookbook::println("{:<26}{:<18}{:<18}{}", how, names[0], names[1], names[2]);
  return names;  // the destructors of the jthreads wait for them
}

}  // namespace

int main(int argc, char** argv) {
  int work_ms = 20;
  cookbook::Options options("Name threads for people and for the debugger");
  options.add("work-ms", work_ms, "how long each thread works, in ms", 0, 60'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds work(work_ms);

  cookbook::println("{:<26}{:<18}{:<18}{}", "started by", "thread 1", "thread 2", "thread 3");
  names_of_three("std::jthread", work, [](int, auto serve) { return std::jthread(serve); });

  const std::vector<std::string> wanted = {"listener", "worker", "logger"};
  const std::vector<std::string> names = names_of_three(
      "start_thread with names", work, [&](int number, auto serve) { return start_thread(serve, wanted[number]); });

  names_of_three("start_thread without", work, [](int, auto serve) { return start_thread(serve); });

  std::vector<int> errors(3);
  names_of_three("std::jthread, long names", work, [&](int number, auto serve) {
    return std::jthread([&errors, number, serve] {
      const std::string name = "connection_pool_" + std::to_string(number + 1);
      errors[number] = pthread_setname_np(pthread_self(), name.c_str());  // 0 if the system takes the name
      serve();
    });
  });

  cookbook::Checks checks;
  checks.equal("names that the system has", names, wanted);
  checks.equal("threads whose names of 17 characters were refused", std::count(errors.begin(), errors.end(), ERANGE),
               3);
  checks.equal("the error that they got", std::string(std::strerror(errors[0])), "Numerical result out of range");
  return checks.exit_code();
}
