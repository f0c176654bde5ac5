// Pitfall: a name that is too long, and nobody notices
//
// Two workers are named connection_pool_1 and connection_pool_2. That is 17 characters, and 15 are allowed. The call
// returns an error (ERANGE) and changes nothing, but its return value is ignored. Both workers keep the name of the
// thread that made them, so no list of threads tells them apart.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/name_thread/name_thread_too_long.cpp -pthread -o name_thread_too_long
// Run:     name_thread_too_long
// Symptom: exit 1, prints "both workers have the same name: server"

#include <pthread.h>

#include <cstdio>
#include <string>
#include <thread>

namespace {

std::string name_of_worker(const char* wanted) {
  std::string name(16, '\0');
  std::jthread([&] {
    pthread_setname_np(pthread_self(), wanted);  // wrong: the return value is ignored
    pthread_getname_np(pthread_self(), name.data(), name.size());
  }).join();
  return name.c_str();  // up to the first zero
}

}  // namespace

int main() {
  pthread_setname_np(pthread_self(), "server");  // for the workers to inherit (it renames the process in ps as well)
  const std::string one = name_of_worker("connection_pool_1"), two = name_of_worker("connection_pool_2");
  if (one == two) {
    std::printf("both workers have the same name: %s\n", one.c_str());
    return 1;
  }
  std::printf("the workers have the names %s and %s\n", one.c_str(), two.c_str());
}
