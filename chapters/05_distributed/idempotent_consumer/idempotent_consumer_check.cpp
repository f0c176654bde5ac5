// Pitfall: check, and then act
//
// Two consumers have the same message. Each asks whether the key is there, finds that it is not, stores the key, and
// adds the deposit. Effect and key are even in one transaction, but the question is not. Both connections are in this
// program, which lets them take turns.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/idempotent_consumer/idempotent_consumer_check.cpp common/cookbook/*.cpp -lsqlite3 -lfmt -pthread -o idempotent_consumer_check
// Run:     idempotent_consumer_check
// Symptom: exit 1, prints "balance 2000, expected 1000"

#include "cookbook/print.hpp"
#include "database.hpp"
#include "temporary_directory.hpp"

namespace {

constexpr Deposit deposit = {1, 1000};

/// A consumer whose work has two parts, so that another one can come in between.
struct Consumer {
  Database database;
  bool handled = false;

  void look() { handled = database.run("SELECT count(*) FROM done WHERE key = ?", deposit.key) == 1; }

  void handle() {
    database.run("BEGIN IMMEDIATE");
    database.run("INSERT OR IGNORE INTO done VALUES (?)", deposit.key);
    if (!handled)
      database.run("UPDATE account SET cents = cents + ?", deposit.cents);  // wrong: it may be handled by now
    database.run("COMMIT");
  }
};

}  // namespace

int main() {
  const TemporaryDirectory folder;
  Consumer first = {Database(folder.path() + "/db")}, second = {Database(folder.path() + "/db")};
  make_tables(first.database);
  first.look();
  second.look();
  first.handle();
  second.handle();
  const long cents = balance(first.database);
  cookbook::println("balance {}, expected {}", cents, deposit.cents);
  return cents == deposit.cents ? 0 : 1;
}
