// Pitfall: a copy of the rest for every step
//
// A worker looks at each task of a chain before it executes the first one, by recursion: it takes one task from the
// chain and looks at the rest. Each call has a copy of the rest, and all these copies exist at the same time. So a
// chain that is twice as long takes four times the memory, and a message of 1 MiB can end the worker.
//
// Compile: g++ -std=c++20 -O2 chapters/05_distributed/celery_chain/celery_chain_copies.cpp -lboost_json -o celery_chain_copies
// Run:     celery_chain_copies
// Symptom: exit 1, prints "memory grows faster than the chain"

#include <sys/resource.h>

#include <boost/json.hpp>
#include <cstdio>

namespace json = boost::json;

namespace {

bool is_task(const json::value& signature) { return signature.is_object() && signature.get_object().contains("task"); }

/// Whether all elements of a chain are tasks.
bool is_right(const json::array& chain) {
  if (chain.empty()) return true;
  const json::array rest(chain.begin() + 1, chain.end());  // wrong: a copy, which lives as long as the next call
  return is_task(chain.front()) && is_right(rest);
}

/// The most memory that this process has had so far, in KiB.
long peak() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

int main() {
  const long start = peak();
  long more = 0;
  for (const int length : {200, 400, 800}) {
    const json::object options = {{"task_id", "3f1c7c0e-0d2c-4d0a-9b57-2b1a4f0e8a11"}, {"queue", "celery"}};
    const json::object signature = {{"task", "app.add"}, {"args", {1}}, {"options", options}};
    const json::array chain(length, signature);
    if (!is_right(chain)) return 2;
    more = peak() - start;
    std::printf("a chain of %d tasks: %ld MiB more than at the start\n", length, more / 1024);
  }
  if (more < 20'000) return 0;  // the longest chain itself has less than 1000
  std::puts("memory grows faster than the chain");
  return 1;
}
