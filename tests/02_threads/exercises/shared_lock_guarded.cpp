// Tests a Guarded value whose read() and write() a learner has written.

#include "guarded.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using judge::expect;
using judge::within_two_seconds;

namespace {

using Text = Guarded<std::string>;

void results() {
  Text text(std::string("abc"));
  expect(text.read([](const std::string& value) { return value.size(); }) == 3,
         "read() does not return what the function returns.");
  expect(text.write([](std::string& value) {
    value += 'd';
    return value;
  }) == "abcd",
         "write() does not return what the function returns.");
  const std::string* place = nullptr;
  text.write([&](std::string& value) { place = &value; });
  text.read([&](const std::string& value) {
    expect(place == &value, "read() calls the function with a copy.");
    expect(value == "abcd", "A change is lost.");
  });
}

/// A function may throw whatever it likes.
template <typename Mistake>
void exceptions(const Mistake& mistake) {
  Text text(std::string("abc"));
  for (int i = 0; i < 2; ++i) {
    bool caught = false;
    const auto fail = [&](const std::string&) -> int { throw mistake; };
    try {
      i == 0 ? text.read(fail) : text.write(fail);
    } catch (const Mistake&) {
      caught = true;
    }
    expect(caught, "An exception of the function does not go on to the caller.");
    std::atomic<int> entered = 0;
    std::jthread other([&] {
      text.write([&](std::string&) { ++entered; });
      text.read([&](const std::string&) { ++entered; });
    });
    expect(within_two_seconds([&] { return entered == 2; }),
           "The function has thrown, and the lock was not given back: nobody else comes in.");
  }
}

void readers_meet() {
  Text text(std::string("abc"));
  std::atomic<int> inside = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      text.read([&](const std::string&) {
        ++inside;
        expect(within_two_seconds([&] { return inside == 2; }), "Two readers are not inside at the same time.");
      });
    });
  }
}

/// Two values have nothing to do with each other.
void each_value_has_its_own_lock() {
  Text one(std::string("abc")), other(std::string("def"));
  std::atomic<bool> entered = false;
  std::jthread thread;
  one.write([&](std::string&) {
    thread = std::jthread([&] {
      other.write([](std::string&) {});
      other.read([&](const std::string&) { entered = true; });
    });
    expect(within_two_seconds([&] { return entered.load(); }),
           "While a writer is inside one value, nobody can use another value.");
  });
}

/// While one is inside, the other one waits, and comes in afterwards.
void a_writer_is_alone(bool first_reads, bool second_reads, std::chrono::milliseconds wait = 30ms) {
  Text text(std::string("abc"));
  const std::string first_one = first_reads ? "a reader" : "a writer",
                    second_one = second_reads ? "A reader" : "A writer";
  std::atomic<bool> first_is_in = false, second_is_in = false, leave = false;
  const auto first_use = [&](const std::string&) {
    first_is_in = true;
    while (!leave) std::this_thread::sleep_for(1ms);
  };
  const auto second_use = [&](const std::string&) { second_is_in = true; };
  std::jthread first([&] { first_reads ? text.read(first_use) : text.write(first_use); });
  expect(within_two_seconds([&] { return first_is_in.load(); }), "Nobody is inside, and nobody can come in.");
  std::jthread second([&] { second_reads ? text.read(second_use) : text.write(second_use); });
  std::this_thread::sleep_for(wait);
  expect(!second_is_in, second_one + " comes in while " + first_one + " is inside.");
  leave = true;
  expect(within_two_seconds([&] { return second_is_in.load(); }),
         second_one + " does not come in when " + first_one + " has left.");
}

void many_threads() {
  Guarded<std::vector<long>> accounts(std::vector<long>(10, 100));
  std::latch all_are_there(3);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      all_are_there.arrive_and_wait();
      for (int round = 0; round < 2'000; ++round) {
        if ((round + i) % 4 == 0) {
          accounts.write([](std::vector<long>& balances) {
            --balances.front();
            ++balances.back();
          });
        } else {
          const long total = accounts.read([](const std::vector<long>& balances) {
            long sum = 0;
            for (const long balance : balances) sum += balance;
            return sum;
          });
          expect(total == 1000, "A reader sees a change that is half made: a writer is inside, too.");
        }
      }
    });
  }
}

}  // namespace

int main() {
  results();
  readers_meet();
  for (const bool first_reads : {true, false}) {
    for (const bool second_reads : {true, false}) {
      if (!first_reads || !second_reads) a_writer_is_alone(first_reads, second_reads);
    }
  }
  // Meanwhile two of them have to wait for a long time.
  std::jthread patient_writer([] { a_writer_is_alone(true, false, 1500ms); });
  std::jthread patient_reader([] { a_writer_is_alone(false, true, 1500ms); });
  each_value_has_its_own_lock();
  exceptions(std::runtime_error("mine"));
  exceptions(7);
  many_threads();
  patient_writer.join();
  patient_reader.join();
  std::puts("readers and writers keep apart");
}
