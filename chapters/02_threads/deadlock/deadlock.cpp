// Deadlock
//
// Two threads pay each other. A payment changes two accounts, so it needs the locks of both. The program draws what the
// two threads do, turn by turn: first with the payer's lock taken first, where each comes to wait for the other, then
// with two cures. Afterwards it makes many payments with each cure, at full speed, and checks the balances.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/deadlock/deadlock.cpp common/cookbook/*.cpp -lfmt -pthread -o deadlock
// Run:     deadlock [--payments N]

#include <atomic>
#include <latch>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "traced_mutex.hpp"

namespace {

// An account has a number, a balance, and a mutex that protects the balance. There are two kinds, hence `auto`:
// Account, and TracedAccount for the drawing, whose `trace` notes what the thread does.
// The ways to pay are lambdas, because a template is not a value that one can pass to a function.

/// Transfers `amount`. The caller holds both locks.
void transfer(auto& from, auto& to, int amount) {
  from.balance -= amount;
  to.balance += amount;
  if constexpr (requires { from.trace; }) from.trace.note("pays");
}

/// The naive form: first the payer's lock, then the other one.
constexpr auto pay_payer_first = [](auto& from, auto& to, int amount) {
  std::scoped_lock first(from.mutex);
  std::scoped_lock second(to.mutex);  // never returns if the thread that holds it waits for `first`
  transfer(from, to, amount);
};

/// Cure 1, a fixed order: the lower number first, whoever pays.
constexpr auto pay_in_order = [](auto& from, auto& to, int amount) {
  const bool payer_is_lower = from.number < to.number;
  std::scoped_lock lower(payer_is_lower ? from.mutex : to.mutex);
  std::scoped_lock higher(payer_is_lower ? to.mutex : from.mutex);
  transfer(from, to, amount);
};

/// Cure 2, both at once: std::scoped_lock takes several locks without deadlock, in whatever order they are named.
constexpr auto pay_with_both = [](auto& from, auto& to, int amount) {
  std::scoped_lock both(from.mutex, to.mutex);
  transfer(from, to, amount);
};

struct TracedAccount {
  Trace& trace;
  int number;
  long balance = 0;
  TracedMutex mutex = TracedMutex(trace, number);
};

/// Lets A pay from account 1 to 2, and B from 2 to 1, and draws what they do, line by line and in a line from left to
/// right. Returns how many payments were made.
int draw(const std::string& title, auto pay) {
  Trace trace;
  TracedAccount one{trace, 1}, two{trace, 2};
  std::atomic<int> made = 0;
  const auto try_to_pay = [&](TracedAccount& from, TracedAccount& to) {
    try {
      pay(from, to, 1);
      ++made;
    } catch (const std::system_error&) {  // where a thread would wait for ever, a traced mutex throws
    }
  };
  trace.run({[&] { try_to_pay(one, two); }, [&] { try_to_pay(two, one); }});
  std::string line = title;
  int last_thread = -1;
  for (const auto& [thread, what] : trace.events()) {
    if (thread <= last_thread) cookbook::println("{}", std::exchange(line, ""));
    line = fmt::format("{:<{}}{}", line, 20 + 40 * thread, what);
    last_thread = thread;
  }
  cookbook::println("{}", line);
  return made;
}

struct Account {
  int number;
  long balance;
  std::mutex mutex = {};
};

/// At full speed, with a std::mutex: account 1 pays 1 to account 2 in one thread, and gets 3 from it in another
/// (different amounts, so that swapped accounts would show).
std::vector<long> balances_after(int payments, auto pay) {
  Account one{1, 3L * payments}, two{2, 3L * payments};
  std::latch both_started(2);  // so that one thread has not finished before the other begins
  const auto repeat = [&](Account& from, Account& to, int amount) {
    both_started.arrive_and_wait();
    for (int i = 0; i < payments; ++i) pay(from, to, amount);
  };
  {
    std::jthread a([&] { repeat(one, two, 1); });
    std::jthread b([&] { repeat(two, one, 3); });
  }
  return {one.balance, two.balance};
}

}  // namespace

int main(int argc, char** argv) {
  int payments = 100'000;
  cookbook::Options options("Take two locks without a deadlock");
  options.add("payments", payments, "payments that each thread makes with each cure", 1, 10'000'000);
  options.parse(argc, argv);

  cookbook::println("{:<20}{:<40}{}", "", "A pays from 1 to 2", "B pays from 2 to 1");
  const std::vector<int> made = {draw("payer's lock first", pay_payer_first), draw("fixed order", pay_in_order),
                                 draw("both at once", pay_with_both)};
  cookbook::Checks checks;
  checks.equal("payments made", made, {0, 2, 2});
  const std::vector<long> balances = {5L * payments, 1L * payments};
  checks.equal("balances after all payments",
               std::vector{balances_after(payments, pay_in_order), balances_after(payments, pay_with_both)},
               {balances, balances});
  return checks.exit_code();
}
