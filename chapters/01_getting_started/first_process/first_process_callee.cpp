// The callee of first_process
//
// What first_process.cpp starts: a program that says who and where it is, what it was given, waits for ENTER and ends.
// It runs alone as well; then the shell is its caller.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/first_process/first_process_callee.cpp common/cookbook/*.cpp -lfmt -o first_process_callee
// Run:     first_process_callee [ARGUMENT [DESCRIPTOR...]]

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "cookbook/print.hpp"

int main(int argc, char** argv) {
  const auto say = [](const std::string& text) { cookbook::println("callee {}: {}", getpid(), text); };
  say("Hello Parallel Programming Cookbook!!");
  say(fmt::format("my parent is {}", getppid()));
  for (int i = 0; i < argc; ++i) say(fmt::format("argv[{}] = {}", i, argv[i]));
  for (int i = 2; i < argc; ++i) {
    const bool is_open = fcntl(std::atoi(argv[i]), F_GETFD) != -1;
    say(fmt::format("descriptor {} is {}", argv[i], is_open ? "open" : "closed"));
  }
  const char* const greeting = std::getenv("GREETING");
  say(fmt::format("GREETING = {}", greeting != nullptr ? greeting : "(not set)"));

  say("Press ENTER to exit");
  std::string line;
  std::getline(std::cin, line);  // end-of-file will do as well
  say("Closing");
}
