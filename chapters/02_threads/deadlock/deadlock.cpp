// Deadlock
//
// Two threads pay each other through two accounts, each with its own lock. If each takes the lock of the payer first,
// one holds lock 1 and wants 2, the other holds 2 and wants 1, and both wait for ever. The program forces that
// crossing, with a time limit instead of for ever, then pays a hundred thousand times each way in three ways that
// cannot deadlock: locks in a fixed order, both locks at once, and a second lock that is only tried. The same with
// semaphores.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/deadlock/deadlock.cpp common/cookbook/*.cpp -lfmt -pthread -o deadlock
// Run:     deadlock [--payments N] [--patience-ms N]

#include <atomic>
#include <barrier>
#include <chrono>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"

namespace {

using std::chrono::milliseconds;

/// Takes two locks crosswise: thread A takes one, then two; thread B takes two, then one. Returns how many of them got
/// their second lock within `patience`. It must be 0: neither can, as long as the other keeps its first.
int crossed_locks(milliseconds patience) {
  std::timed_mutex one, two;
  std::barrier together(2);
  std::atomic<int> got_both = 0;
  const auto take = [&](std::timed_mutex& first, std::timed_mutex& second) {
    std::scoped_lock hold(first);
    together.arrive_and_wait();  // now each holds one
    if (second.try_lock_for(patience)) {
      ++got_both;
      second.unlock();
    }
    together.arrive_and_wait();  // until here nobody gives anything back
  };
  std::jthread a([&] { take(one, two); });
  std::jthread b([&] { take(two, one); });
  a.join();
  b.join();
  return got_both;
}

/// The same with two semaphores of 1. They have no owner, and deadlock all the same.
int crossed_semaphores(milliseconds patience) {
  std::binary_semaphore one(1), two(1);
  std::barrier together(2);
  std::atomic<int> got_both = 0;
  const auto take = [&](std::binary_semaphore& first, std::binary_semaphore& second) {
    first.acquire();
    together.arrive_and_wait();
    if (second.try_acquire_for(patience)) {
      ++got_both;
      second.release();
    }
    together.arrive_and_wait();
    first.release();
  };
  std::jthread a([&] { take(one, two); });
  std::jthread b([&] { take(two, one); });
  a.join();
  b.join();
  return got_both;
}

struct Account {
  int number;
  std::mutex guard = {};
  long balance = 1000;  // below 0 on the way, if one thread runs far ahead
  long payments = 0;
};

/// Moves 1. The caller holds both locks.
void move_one(Account& from, Account& to) {
  --from.balance;
  ++to.balance;
  ++to.payments;
}

/// Cure 1: everybody takes the lock of the lower number first, whoever pays.
void pay_in_order(Account& from, Account& to) {
  Account& first = from.number < to.number ? from : to;
  Account& second = from.number < to.number ? to : from;
  std::scoped_lock hold_first(first.guard);
  std::scoped_lock hold_second(second.guard);
  move_one(from, to);
}

/// Cure 2: std::scoped_lock takes both, in whatever order they are named; while it waits for one it holds none.
void pay_with_both(Account& from, Account& to) {
  std::scoped_lock hold(from.guard, to.guard);
  move_one(from, to);
}

/// Cure 3: the second lock is only tried; if another holds it, the first is given back, and all begins again. Returns
/// how often that happened.
long pay_with_back_off(Account& from, Account& to) {
  for (long given_back = 0;; ++given_back) {
    {
      std::scoped_lock hold(from.guard);
      std::unique_lock attempt(to.guard, std::try_to_lock);
      if (attempt) {
        move_one(from, to);
        return given_back;
      }
    }
    std::this_thread::yield();  // lets the other one finish
  }
}

/// Pays `payments` times from account 1 to 2 in one thread, and as often from 2 to 1 in another, and checks that every
/// payment was made and no money was lost.
template <typename Pay>
void pay_both_ways(cookbook::Verdict& verdict, const std::string& cure, long payments, Pay pay) {
  Account one{1}, two{2};
  std::jthread there([&] {
    for (long i = 0; i < payments; ++i) pay(one, two);
  });
  std::jthread back([&] {
    for (long i = 0; i < payments; ++i) pay(two, one);
  });
  there.join();
  back.join();
  verdict.equal("payments, " + cure, one.payments + two.payments, 2 * payments);
  verdict.equal("balances, " + cure, std::vector{one.balance, two.balance}, {1000, 1000});
}

/// Cure 1 for semaphores: both threads take one before two. Returns how often they had both, counted under both.
long semaphores_in_order(long rounds) {
  std::binary_semaphore one(1), two(1);
  long had_both = 0;
  const auto take_often = [&] {
    for (long i = 0; i < rounds; ++i) {
      one.acquire();
      two.acquire();
      ++had_both;
      two.release();
      one.release();
    }
  };
  std::jthread a(take_often), b(take_often);
  a.join();
  b.join();
  return had_both;
}

}  // namespace

int main(int argc, char** argv) {
  long payments = 100'000, patience_ms = 50;
  cookbook::Options options("Take two locks without a deadlock");
  options.add("payments", payments, "payments that each thread makes", 1, 10'000'000);
  options.add("patience-ms", patience_ms, "how long a thread waits for its second lock if taken crosswise", 0, 60'000);
  options.parse(argc, argv);

  cookbook::Verdict verdict;
  const milliseconds patience(patience_ms);
  verdict.equal("threads that got both locks, taken crosswise", crossed_locks(patience), 0);
  verdict.equal("threads that got both semaphores, taken crosswise", crossed_semaphores(patience), 0);

  std::atomic<long> given_back = 0;
  pay_both_ways(verdict, "fixed order", payments, pay_in_order);
  pay_both_ways(verdict, "both at once", payments, pay_with_both);
  pay_both_ways(verdict, "tried and given back", payments,
                [&](Account& from, Account& to) { given_back += pay_with_back_off(from, to); });
  cookbook::println("      the first lock was given back {} times", given_back.load());
  verdict.equal("rounds with both semaphores, fixed order", semaphores_in_order(payments), 2 * payments);
  return verdict.exit_code();
}
