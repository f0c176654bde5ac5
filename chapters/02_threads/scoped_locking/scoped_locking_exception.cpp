// Pitfall: an exception passes over unlock()
//
// The first thread takes the lock, and its work throws before unlock(). The exception is caught further out, so the
// thread does not end the program. But it ends as the owner of the lock, which C++ does not define. With glibc the
// other threads wait for ever.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/scoped_locking/scoped_locking_exception.cpp -pthread -o scoped_locking_exception
// Run:     scoped_locking_exception, then Ctrl-C
// Symptom: hangs

#include <cstdio>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

namespace {

std::mutex mutex;
int total = 0;

void add(const std::string& text) {
  mutex.lock();
  total += std::stoi(text);  // throws if the text begins with no number, or with one too large
  mutex.unlock();
}

void add_and_report(const std::string& text) {
  try {
    add(text);
    std::printf("added %s\n", text.c_str());
  } catch (const std::exception&) {
    std::printf("'%s' is no number\n", text.c_str());
  }
  std::fflush(stdout);
}

}  // namespace

int main() {
  std::jthread(add_and_report, "seven").join();
  { std::jthread eight(add_and_report, "8"), nine(add_and_report, "9"); }
  std::printf("total: %d\n", total);
}
