// Pitfall: a reader that wants to write
//
// A function looks a word up, holding the lock as a reader. It does not find the word, and locks for writing to add it.
// A writer waits until all readers have left. This thread is one of them: it waits for itself. (The standard allows no
// thread that holds a std::shared_mutex to lock it again, in either way.)
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/shared_lock/shared_lock_upgrade.cpp -pthread -o shared_lock_upgrade
// Run:     shared_lock_upgrade, then Ctrl-C
// Symptom: hangs

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

std::shared_mutex mutex;
std::map<std::string, int> lengths;  // protected by the mutex

int length_of(const std::string& word) {
  std::shared_lock reading(mutex);
  if (const auto found = lengths.find(word); found != lengths.end()) return found->second;
  std::puts("the word is not there; it is to be added");
  std::fflush(stdout);
  // Missing: reading.unlock();
  std::scoped_lock writing(mutex);
  return lengths[word] = static_cast<int>(word.size());
}

int main() {
  std::atomic<int> letters = 0;
  const auto look_up = [&] {
    for (const char* word : {"shared", "lock", "shared"}) letters += length_of(word);
  };
  { std::jthread one(look_up), two(look_up); }  // the destructors wait for both
  std::printf("%d letters\n", letters.load());
}
