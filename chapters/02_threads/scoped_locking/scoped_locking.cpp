// Scoped locking
//
// A lock has to be released on every way out of a block: at its end, at a return, at an exception. unlock() at the end
// of the block misses two of the three. A try block does it right, at some length. A scoped lock does it in its
// destructor, which runs on each of them. The program leaves a block in each way with each of these forms, and asks
// whether the lock is free afterwards.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/scoped_locking/scoped_locking.cpp common/cookbook/*.cpp -lfmt -pthread -o scoped_locking
// Run:     scoped_locking

#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "another_can_lock.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "forms.hpp"

namespace {

/// Whether the lock is free after one of the three forms has added the text, or has failed to.
std::string lock_after(void (*form)(Total&, const std::string&), const std::string& text) {
  Total total;
  try {
    form(total, text);
  } catch (const std::invalid_argument&) {
  }
  if (another_can_lock(total.mutex)) return "free";
  total.mutex.unlock();  // no mutex may be destroyed while it is locked
  return "taken";
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Release a lock on every way out of a block");
  options.parse(argc, argv);

  std::vector<std::string> after_naive, after_by_hand, after_scoped;
  cookbook::println("the block is left by         naive  by hand  scoped");
  const auto leave = [&](const std::string& way, const std::string& text) {
    after_naive.push_back(lock_after(naive, text));
    after_by_hand.push_back(lock_after(by_hand, text));
    after_scoped.push_back(lock_after(scoped, text));
    cookbook::println("{:<29}{:<7}{:<9}{}", way, after_naive.back(), after_by_hand.back(), after_scoped.back());
  };
  leave("its end, with \"7\"", "7");
  leave("a return, with \"\"", "");
  leave("an exception, with \"seven\"", "seven");

  cookbook::Checks checks;
  checks.equal("the lock after the naive form", after_naive, {"free", "taken", "taken"});
  checks.equal("the lock after the form by hand", after_by_hand, {"free", "free", "free"});
  checks.equal("the lock after the scoped form", after_scoped, {"free", "free", "free"});
  return checks.exit_code();
}
