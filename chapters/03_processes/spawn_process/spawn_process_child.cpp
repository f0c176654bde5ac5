// The child of spawn_process
//
// A program of its own, which spawn_process.cpp starts by posix_spawn: it runs the function with the number that it is
// given, and ends. It makes no process, so nothing in it can make too many.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/spawn_process/spawn_process_child.cpp common/cookbook/*.cpp -lfmt -o spawn_process_child
// Run:     spawn_process_child NUMBER

#include <charconv>
#include <string_view>

#include "cookbook/print.hpp"
#include "target.hpp"

int main(int argc, char** argv) {
  const std::string_view text = argc == 2 ? argv[1] : "";
  int id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size()) {
    cookbook::complain("one argument is needed, a whole number");
    return 2;
  }
  called_function(id);
}
