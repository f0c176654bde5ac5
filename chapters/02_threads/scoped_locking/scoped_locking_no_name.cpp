// Pitfall: a scoped lock without a name
//
// An object without a name lives until the semicolon. So this lock is released before the block that it was meant for
// begins. The program asks another thread whether it could take the lock in the middle of that block.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/scoped_locking/scoped_locking_no_name.cpp -pthread -o scoped_locking_no_name
// Run:     scoped_locking_no_name
// Symptom: exit 1, prints "another thread could take the lock"

#include <cstdio>
#include <mutex>
#include <thread>

int main() {
  std::mutex mutex;
  bool taken = false;
  {
    std::scoped_lock{mutex};  // wrong: it is destroyed here
    std::jthread([&] { taken = std::unique_lock(mutex, std::try_to_lock).owns_lock(); }).join();
  }
  std::puts(taken ? "another thread could take the lock" : "no other thread could take the lock");
  return taken ? 1 : 0;
}
