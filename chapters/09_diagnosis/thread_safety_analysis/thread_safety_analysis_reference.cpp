// Pitfall: a reference to what a lock protects
//
// all() locks the mutex and returns a reference to the guarded names. The lock ends with the function, the reference
// does not: the caller reads without a lock, while another thread adds a name. Clang's analysis sees a lock at each use
// of names_ and is silent. ThreadSanitizer reports the race.
//
// Compile: g++ -std=c++20 -O1 -g -fsanitize=thread chapters/09_diagnosis/thread_safety_analysis/thread_safety_analysis_reference.cpp -o thread_safety_analysis_reference
// Run:     thread_safety_analysis_reference
// Symptom: exit 0, prints "2 names"
// Symptom under thread: prints "WARNING: ThreadSanitizer: data race"

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "annotated_mutex.hpp"

namespace {

class Names {
 public:
  void add(const std::string& name) {
    Lock lock(mutex_);
    names_.push_back(name);
  }
  const std::vector<std::string>& all() {
    Lock lock(mutex_);
    return names_;  // wrong: the caller uses it when the mutex is unlocked again
  }

 private:
  Mutex mutex_;
  std::vector<std::string> names_ GUARDED_BY(mutex_);
};

}  // namespace

int main() {
  Names names;
  names.add("Ada");
  std::jthread other([&names] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    names.add("Grace");
  });
  std::printf("first name: %s\n", names.all().front().c_str());
  while (names.all().size() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::printf("%zu names\n", names.all().size());
}
