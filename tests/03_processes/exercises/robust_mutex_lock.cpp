// Tests a Monitor whose lock() a learner has written.

#include "monitor.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "shared_memory.hpp"

using namespace std::chrono_literals;
using judge::expect;

namespace {

/// No std::runtime_error: that is what those get who come later.
struct Hopeless : std::exception {
  const char* what() const noexcept override { return "hopeless"; }
};

struct Data {
  int first = 0, second = 0;  // equal, except in the middle of a change
  int repairs = 0;
  bool hopeless = false;

  void repair() {
    if (hopeless) throw Hopeless();
    judge::number(0) = 1;  // others must not be inside now
    usleep(30'000);
    judge::number(0) = 0;
    second = first;
    ++repairs;
  }
};

using Monitored = Monitor<Data>;

/// A child that dies in the middle of a change.
void die_inside(Monitored& monitor) {
  const pid_t child = cookbook::start_child([&] {
    const Monitored::Access data(monitor);
    ++data->first;
    raise(SIGKILL);
  });
  expect(cookbook::exit_code_of(child) == -SIGKILL, "A process does not get access.");
}

enum Fate { admitted, runtime_error, other_error, waits };

/// What becomes of another process that asks for access.
Fate fate(Monitored& monitor) {
  const pid_t child = cookbook::start_child([&]() -> int {
    try {
      const Monitored::Access data(monitor);
      return admitted;
    } catch (const std::runtime_error&) {
      return runtime_error;
    }
  });
  const auto code = cookbook::exit_code_of(child, 2s);
  if (!code) kill(child, SIGKILL);
  return !code ? waits : *code == admitted ? admitted : *code == runtime_error ? runtime_error : other_error;
}

void nobody_dies() {
  const Shared<Monitored> monitor;
  for (int i = 0; i < 3; ++i) {
    cookbook::start_child([&] {
      for (int change = 0; change < 500; ++change) {
        const Monitored::Access data(*monitor);
        ++data->first;
        ++data->second;
      }
    });
  }
  for (int status = 0; wait(&status) > 0;) expect(status == 0, "A process does not get access.");
  const Monitored::Access data(*monitor);
  expect(data->first == 1500 && data->second == 1500, "Two processes have access at the same time.");
  expect(data->repairs == 0, "repair() is called, and nobody has died.");
}

void an_owner_dies() {
  const Shared<Monitored> monitor;
  for (int death = 1; death <= 2; ++death) {
    die_inside(*monitor);
    {
      const Monitored::Access data(*monitor);
      expect(data->repairs >= death && data->first == data->second,
             "An owner has died, and the data are not repaired.");
      expect(data->repairs == death, "repair() is called more than once for one death.");
    }
    expect(fate(*monitor) == admitted, "The data were repaired, and the next process does not get access.");
    const Monitored::Access data(*monitor);
    expect(data->repairs == death, "repair() is called more than once for one death.");
  }
}

void an_owner_dies_while_others_wait() {
  const Shared<Monitored> monitor;
  const pid_t owner = cookbook::start_child([&] {
    const Monitored::Access data(*monitor);
    judge::number(1) = 1;
    for (;;) pause();
  });
  expect(judge::within_two_seconds([] { return judge::number(1) == 1; }), "A process does not get access.");
  pid_t others[3];
  for (pid_t& other : others) {
    other = cookbook::start_child([&]() -> int {
      const Monitored::Access data(*monitor);
      const bool repaired_meanwhile = judge::number(0) == 1;
      usleep(2'000);
      return repaired_meanwhile || judge::number(0) == 1 ? 50 : data->repairs == 1 ? 0 : 51;
    });
  }
  expect(judge::sleeps_in(others[0]), "A process that waits for access keeps its processor busy.");
  kill(owner, SIGKILL);
  expect(cookbook::exit_code_of(owner) == -SIGKILL, "A process does not get access.");
  for (const pid_t other : others) {
    const auto code = cookbook::exit_code_of(other, 2s);
    expect(code.has_value(), "The owner has died, and a process that waits for access goes on waiting.");
    expect(*code != 50, "A process is inside while the data are repaired.");
    expect(*code != 51, "An owner has died, and the data are not repaired before the next process has access.");
    expect(*code == 0, "The owner has died, and a process that waited does not get access.");
  }
}

void the_repair_fails() {
  const Shared<Monitored> monitor;
  {
    const Monitored::Access data(*monitor);
    data->hopeless = true;
  }
  die_inside(*monitor);
  std::string told;
  try {
    const Monitored::Access data(*monitor);
  } catch (const Hopeless& error) {
    told = error.what();
  } catch (...) {
    told = "something else";
  }
  expect(told == "hopeless", "repair() has thrown, and its exception does not go to the caller.");
  for (int i = 0; i < 2; ++i) {
    const Fate next = fate(*monitor);
    expect(next != waits, "repair() has thrown, and the next process waits for ever.");
    expect(next != admitted, "A process gets access to data that could not be repaired.");
    expect(next == runtime_error, "Where the data cannot be repaired, lock() does not throw std::runtime_error.");
  }
}

void the_repair_fails_while_others_wait() {
  const Shared<Monitored> monitor;
  const pid_t owner = cookbook::start_child([&] {
    const Monitored::Access data(*monitor);
    data->hopeless = true;
    judge::number(2) = 1;
    for (;;) pause();
  });
  expect(judge::within_two_seconds([] { return judge::number(2) == 1; }), "A process does not get access.");
  // Two: glibc 2.36 wakes one process when such a mutex is unlocked, and whoever then learns that it is lost, nobody.
  pid_t others[2];
  for (pid_t& other : others) {
    other = cookbook::start_child([&]() -> int {
      try {
        const Monitored::Access data(*monitor);
        return admitted;
      } catch (const Hopeless&) {
        ++judge::number(3);
        return runtime_error;
      } catch (const std::runtime_error&) {
        return runtime_error;
      }
    });
    expect(judge::sleeps_in(other), "A process that waits for access keeps its processor busy.");
  }
  kill(owner, SIGKILL);
  expect(cookbook::exit_code_of(owner) == -SIGKILL, "A process does not get access.");
  for (const pid_t other : others) {
    const auto code = cookbook::exit_code_of(other, 2s);
    expect(code.has_value(), "repair() has thrown, and a process that waited for access goes on waiting.");
    expect(*code != admitted, "A process gets access to data that could not be repaired.");
    expect(*code == runtime_error, "Where the data cannot be repaired, lock() does not throw std::runtime_error.");
  }
  expect(judge::number(3) == 1, "repair() has thrown, and its exception does not go to the one who called it.");
}

}  // namespace

int main() {
  nobody_dies();
  an_owner_dies();
  the_repair_fails();
  an_owner_dies_while_others_wait();
  the_repair_fails_while_others_wait();
  std::puts("the data outlive their owners");
}
