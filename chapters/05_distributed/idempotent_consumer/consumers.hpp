/// Four ways to handle a message that may be delivered twice. Each returns when the message may be acknowledged.
#pragma once

#include <functional>

#include "database.hpp"

/// Called between the steps of a consumer, which may be killed there: with 1 between its two writes, and with 2 after
/// the last one.
using Step = std::function<void(int)>;

inline void add(Database& database, long cents) { database.run("UPDATE account SET cents = cents + ?", cents); }

/// Stores the key of a message. True if it is new; false if it is there already: the message has been handled.
inline bool is_new(Database& database, long key) {
  return database.run("INSERT OR IGNORE INTO done VALUES (?)", key) == 1;
}

inline void no_key(Database& database, const Deposit& deposit, const Step& step) {
  add(database, deposit.cents);
  step(2);
}

inline void key_then_effect(Database& database, const Deposit& deposit, const Step& step) {
  if (!is_new(database, deposit.key)) return;
  step(1);
  add(database, deposit.cents);
  step(2);
}

inline void effect_then_key(Database& database, const Deposit& deposit, const Step& step) {
  if (database.run("SELECT count(*) FROM done WHERE key = ?", deposit.key) == 1) return;
  add(database, deposit.cents);
  step(1);
  database.run("INSERT INTO done VALUES (?)", deposit.key);
  step(2);
}

inline void one_transaction(Database& database, const Deposit& deposit, const Step& step) {
  database.run("BEGIN IMMEDIATE");  // takes the lock for writing now: another consumer waits here
  if (is_new(database, deposit.key)) {
    step(1);
    add(database, deposit.cents);
  }
  database.run("COMMIT");  // both writes, or none
  step(2);
}
