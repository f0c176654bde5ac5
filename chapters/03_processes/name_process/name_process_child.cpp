// The child of name_process
//
// A program that name_process.cpp starts under another name: it says what it is called by its first argument, and waits
// until its standard input ends, so that others can look at it meanwhile.
//
// Compile: g++ -std=c++20 -O2 chapters/03_processes/name_process/name_process_child.cpp -o name_process_child
// Run:     name_process_child

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  std::cout << (argc > 0 ? argv[0] : "nothing") << std::flush;
  for (std::string line; std::getline(std::cin, line);) {
  }
}
