// Pitfall: names that differ too late
//
// The system keeps 15 bytes of a name, and cuts off the others without an error. The names of these two children
// differ in their 17th byte only. So both are called "image_converter", and whoever looks for a process with the
// name "image_converter_2", as pgrep -x does, finds none.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/name_process/name_process_too_long.cpp common/cookbook/*.cpp -lfmt -o name_process_too_long
// Run:     name_process_too_long
// Symptom: exit 1, prints "image_converter_2 is called image_converter"

#include <sys/prctl.h>

#include <fstream>
#include <string>

#include "cookbook/process.hpp"

int main() {
  int cut_off = 0;
  for (const std::string name : {"image_converter_1", "image_converter_2"}) {
    cut_off += cookbook::exit_code_of(cookbook::start_child([&] {
      check(prctl(PR_SET_NAME, name.c_str()), "prctl");  // wrong: the name is too long; the call succeeds all the same
      std::string seen;
      std::getline(std::ifstream("/proc/self/comm"), seen);
      cookbook::println("{} is called {}", name, seen);
      return seen == name ? 0 : 1;
    }));
  }
  return cut_off == 0 ? 0 : 1;
}
