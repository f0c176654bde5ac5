/// What the coroutines of the recipe hold, counted, so that nothing can stay behind unnoticed.
#pragma once

#include <string>
#include <utility>
#include <vector>

/// What happened, in order, and how many things are held just now.
struct Journal {
  std::vector<std::string> lines;
  int held = 0;
  int taken = 0;  ///< in all
};

/// Stands for a thing that must be given back: a connection, a lock, a buffer. Gives it back in its destructor.
class Holding {
 public:
  Holding(Journal& journal, std::string name) : journal_(journal), name_(std::move(name)) {
    ++journal_.held;
    ++journal_.taken;
  }
  ~Holding() {
    --journal_.held;
    journal_.lines.push_back("gave back " + name_);
  }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

 private:
  Journal& journal_;
  std::string name_;
};
