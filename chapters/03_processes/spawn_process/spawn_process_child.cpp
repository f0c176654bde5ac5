// The child of spawn_process
//
// The program that spawn_process.cpp starts by posix_spawn. It calls the function with the number that it is given, and
// ends. It starts no process.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/spawn_process/spawn_process_child.cpp common/cookbook/*.cpp -lfmt -o spawn_process_child
// Run:     spawn_process_child [--number N]

#include "cookbook/options.hpp"
#include "start_two_ways.hpp"

int main(int argc, char** argv) {
  int number = 0;
  cookbook::Options options("The child program of spawn_process: calls one function");
  options.add("number", number, "the number of the child", 0, 9);
  options.parse(argc, argv);
  return called_function(number) == 1 ? 0 : 1;
}
