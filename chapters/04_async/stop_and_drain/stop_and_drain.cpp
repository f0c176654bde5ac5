// Stop and drain
//
// A service has twenty orders in its queue, and three workers. While the workers are busy, it is asked to end by
// SIGTERM, as every service manager does it. By default the signal ends the process at once: orders that were begun are
// never finished, and the others are forgotten. In good order, the queue is closed, what nobody has begun is handed
// back, and what is in flight is finished. The program starts both forms as child processes, and the second one once
// more, to kill it while its workers finish. It prints what has become of the orders.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/stop_and_drain/stop_and_drain.cpp common/cookbook/*.cpp -lfmt -pthread -o stop_and_drain
// Run:     stop_and_drain [--orders N] [--workers N] [--order-ms N]

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "closable_queue.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"

namespace {

using cookbook::println;
using namespace std::chrono_literals;

struct Settings {
  int orders = 20, workers = 3, order_ms = 150;
};

/// Takes one order after another until the queue is closed. An order that was begun is finished.
void work(ClosableQueue<int>& queue, int order_ms) {
  while (const std::optional<int> order = queue.pop()) {
    println("began {}", *order);
    std::this_thread::sleep_for(std::chrono::milliseconds(order_ms));  // stands for the work
    println("finished {}", *order);
  }
}

/// Puts the orders into the queue, and starts the workers.
std::vector<std::jthread> start(ClosableQueue<int>& queue, const Settings& settings) {
  for (int order = 0; order < settings.orders; ++order) queue.push(order);
  std::vector<std::jthread> workers;
  for (int i = 0; i < settings.workers; ++i) workers.emplace_back([&] { work(queue, settings.order_ms); });
  return workers;
}

/// Drains: reads the signal as a message, and ends in three steps.
void serve_until_asked_to_end(const Settings& settings) {
  sigset_t end_signals;
  sigemptyset(&end_signals);
  sigaddset(&end_signals, SIGTERM);
  sigaddset(&end_signals, SIGINT);
  // Before there are other threads: they inherit the mask, so none of them is ended or interrupted by these signals.
  check_error(pthread_sigmask(SIG_BLOCK, &end_signals, nullptr), "pthread_sigmask");
  const int signals = check(signalfd(-1, &end_signals, SFD_CLOEXEC), "signalfd");

  ClosableQueue<int> queue;
  std::vector<std::jthread> workers = start(queue, settings);

  signalfd_siginfo signal = {};
  check(read(signals, &signal, sizeof signal), "read");  // waits for it, as one waits for a message
  const std::deque<int> not_begun = queue.close();       // from here on nothing is begun
  for (const int order : not_begun) println("hands back {}", order);
  println("waits for {} workers", workers.size());
  workers.clear();  // joins them: what is in flight is finished
}

/// Naive: nobody reads the signal, so it ends the process, wherever its threads are.
void serve_until_killed(const Settings& settings) {
  ClosableQueue<int> queue;
  const std::vector<std::jthread> workers = start(queue, settings);
  pause();
}

// What follows is the manager: it starts the services, ends them, and counts what they say.

/// What became of the orders of a service.
struct Outcome {
  std::vector<int> began, finished, handed_back;
  int exit_code = 0;
};

/// Starts a service, asks it to end when its workers have begun their second orders, and reads what it says. An
/// impatient manager kills it as soon as it waits for its workers.
Outcome ask_to_end(void (*serve)(const Settings&), const Settings& settings, bool impatient = false) {
  cookbook::ChildProcess service([&] { serve(settings); });
  const int enough = std::min(settings.orders, 2 * settings.workers);
  for (int begun = 0; begun < enough; ++begun) service.read_until("began");
  service.send_signal(SIGTERM);
  if (impatient) {
    std::string said;
    while (said.find("waits for") == std::string::npos && !service.wait(0ms)) said += service.read_all(10ms);
    service.send_signal(SIGKILL);
  }
  service.read_all();
  Outcome outcome;
  outcome.exit_code = service.wait();
  for (const std::string& line : service.lines()) {
    const std::size_t blank = line.rfind(' ');
    if (line.starts_with("began ")) outcome.began.push_back(std::stoi(line.substr(blank)));
    if (line.starts_with("finished ")) outcome.finished.push_back(std::stoi(line.substr(blank)));
    if (line.starts_with("hands back ")) outcome.handed_back.push_back(std::stoi(line.substr(blank)));
  }
  return outcome;
}

/// Prints a row, and returns the orders that were finished or handed back, sorted.
std::vector<int> row(const char* name, const Outcome& outcome, int orders) {
  std::vector<int> safe = outcome.finished;
  safe.insert(safe.end(), outcome.handed_back.begin(), outcome.handed_back.end());
  std::sort(safe.begin(), safe.end());
  const auto begun = std::ssize(outcome.began), finished = std::ssize(outcome.finished);
  const auto handed_back = std::ssize(outcome.handed_back);
  println("{:<21}{:9}{:14}{:13}{:11}{:11}", name, finished, begun - finished, handed_back, orders - begun - handed_back,
          outcome.exit_code);
  return safe;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  cookbook::Options options("Stop a service without losing work");
  options.add("orders", settings.orders, "orders that are in the queue", 1, 1'000);
  options.add("workers", settings.workers, "threads that work", 1, 64);
  options.add("order-ms", settings.order_ms, "milliseconds that an order takes", 0, 10'000);
  options.parse(argc, argv);

  const Outcome killed = ask_to_end(serve_until_killed, settings);
  const Outcome ended = ask_to_end(serve_until_asked_to_end, settings);
  const Outcome lost_patience = ask_to_end(serve_until_asked_to_end, settings, true);
  println("SIGTERM               finished    broken off  handed back  forgotten  exit code");
  row("no handling", killed, settings.orders);
  const std::vector<int> safe = row("drained", ended, settings.orders);
  row("drained, then SIGKILL", lost_patience, settings.orders);

  std::vector<int> all(settings.orders);
  std::iota(all.begin(), all.end(), 0);
  cookbook::Checks checks;
  checks.that("in good order each order is finished or handed back, once", safe == all);
  checks.equal("in good order, begun and not finished", static_cast<int>(ended.began.size() - ended.finished.size()),
               0);
  checks.equal("killed while it waits, neither begun nor handed back",
               settings.orders - static_cast<int>(lost_patience.began.size() + lost_patience.handed_back.size()), 0);
  // the third one may end before SIGKILL comes, if its orders are short
  checks.equal("exit codes", std::vector{killed.exit_code, ended.exit_code}, {-SIGTERM, 0});
  return checks.exit_code();
}
