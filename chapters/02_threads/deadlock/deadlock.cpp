// Deadlock
//
// Two threads pay each other. A payment changes two accounts, so it needs the locks of both. If every payment takes the
// payer's lock first, one thread can hold lock 1 and wait for lock 2 while the other holds 2 and waits for 1: both wait
// for ever. The program forces that moment once, with a timeout so that it can go on. Then it makes all payments in
// three ways that cannot deadlock: locks in a fixed order, both locks at once, a second lock that is only tried.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/deadlock/deadlock.cpp common/cookbook/*.cpp -lfmt -pthread -o deadlock
// Run:     deadlock [--payments N]

#include <atomic>
#include <barrier>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"

namespace {

using namespace std::chrono_literals;

struct Account {
  int number;
  long balance;
  std::timed_mutex mutex = {};  // a std::mutex would do for the cures, but it has no timeout
};

/// Moves `amount`. The caller holds both locks.
void move(Account& from, Account& to, int amount) {
  from.balance -= amount;
  to.balance += amount;
}

/// The naive form: first the payer's lock, then the other one. Returns whether it got both. The barrier forces the
/// deadlock: both threads hold one lock before either asks for its second, and keep it until both have given up.
bool lock_crosswise(Account& from, Account& to, std::barrier<>& barrier) {
  std::scoped_lock first(from.mutex);
  barrier.arrive_and_wait();
  std::unique_lock second(to.mutex, 50ms);  // without a timeout it would wait for ever
  barrier.arrive_and_wait();
  return second.owns_lock();
}

/// Cure 1, a fixed order: everybody takes the lock of the lower number first, whoever pays.
void pay_in_order(Account& from, Account& to, int amount) {
  const bool payer_is_lower = from.number < to.number;
  std::scoped_lock lower(payer_is_lower ? from.mutex : to.mutex);
  std::scoped_lock higher(payer_is_lower ? to.mutex : from.mutex);
  move(from, to, amount);
}

/// Cure 2, both at once: std::scoped_lock takes several locks without deadlock, in whatever order they are named.
void pay_with_both(Account& from, Account& to, int amount) {
  std::scoped_lock both(from.mutex, to.mutex);
  move(from, to, amount);
}

/// Cure 3, try and give back: if the second lock is taken, the first is given back, and all begins again.
void pay_with_try(Account& from, Account& to, int amount) {
  for (;;) {
    {
      std::scoped_lock first(from.mutex);
      std::unique_lock second(to.mutex, std::try_to_lock);  // never waits
      if (second) return move(from, to, amount);
    }
    std::this_thread::yield();  // the other thread may need the processor to finish
  }
}

/// Lets account 1 pay 1 to account 2 in one thread, and account 2 pay 3 to account 1 in another.
template <typename Pay>
std::vector<long> balances_after(int payments, Pay pay) {
  Account one{1, 3L * payments}, two{2, 3L * payments};
  const auto repeat = [&](Account& from, Account& to, int amount) {
    for (int i = 0; i < payments; ++i) pay(from, to, amount);
  };
  std::jthread a([&] { repeat(one, two, 1); });
  std::jthread b([&] { repeat(two, one, 3); });
  a.join();
  b.join();
  return {one.balance, two.balance};
}

}  // namespace

int main(int argc, char** argv) {
  int payments = 100'000;
  cookbook::Options options("Take two locks without a deadlock");
  options.add("payments", payments, "payments that each thread makes", 1, 10'000'000);
  options.parse(argc, argv);

  Account one{1, 0}, two{2, 0};
  std::barrier barrier(2);
  std::atomic<int> got_both = 0;
  std::jthread a([&] { got_both += lock_crosswise(one, two, barrier); });
  std::jthread b([&] { got_both += lock_crosswise(two, one, barrier); });
  a.join();
  b.join();

  cookbook::Checks checks;
  const std::vector<long> expected = {5L * payments, 1L * payments};
  checks.equal("threads that got both locks, taken crosswise", got_both.load(), 0);
  checks.equal("balances, fixed order", balances_after(payments, pay_in_order), expected);
  checks.equal("balances, both at once", balances_after(payments, pay_with_both), expected);
  checks.equal("balances, tried and given back", balances_after(payments, pay_with_try), expected);
  return checks.exit_code();
}
