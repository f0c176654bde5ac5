// Tests a consumer that a learner has written: a message counts once, whenever the consumer is killed.

#include "consumers.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

using judge::expect;

namespace {

bool is_done(Database& database, const Deposit& deposit) {
  return database.run("SELECT count(*) FROM done WHERE key = ?", deposit.key) == 1;
}

/// A child handles the message and is killed at that step, or not at all with 0.
void handle(const std::string& file, const Deposit& deposit, int killed_at) {
  const pid_t child = fork();
  if (child == 0) {
    Database database(file);
    const bool first = !is_done(database, deposit);
    const long before = balance(database);
    one_transaction(database, deposit, [&](int step) {
      if (step == 1 && first) {
        expect(is_done(database, deposit) != (balance(database) != before),
               "step(1) is not called between the two writes: none is made yet, or both are.");
      }
      if (step == 2) {
        Database other(file);  // Another connection sees what is written for good.
        expect(is_done(other, deposit),
               "step(2) is called when the message is not written yet: acknowledged then, it would be lost.");
      }
      if (step == killed_at) _exit(9);
    });
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9), "The consumer fails.");
  if (killed_at == 2) expect(WEXITSTATUS(status) == 9, "step(2) is not called behind the last write.");
}

/// One write fails, as where the disk is full.
void a_write_fails(const std::string& file, const Deposit& deposit) {
  Database(file).run("CREATE TRIGGER full BEFORE UPDATE ON account BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
  const pid_t child = fork();
  if (child == 0) {
    try {
      Database own(file);
      one_transaction(own, deposit, [](int step) {
        expect(step != 2,
               "step(2) is called although a write has failed: acknowledged then, the message would be lost.");
      });
    } catch (const std::exception&) {  // the consumer ends, and the message comes again
    }
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  Database database(file);
  database.run("DROP TRIGGER full");
  expect(!is_done(database, deposit), "A write has failed, and the key of the message is stored: it would be lost.");
}

/// A consumer that goes on: on one connection a message comes twice, and then another one.
void on_one_connection(const std::string& file, long key) {
  Database database(file);
  const long before = balance(database);
  try {
    for (const long one : {key, key, key + 1}) one_transaction(database, {one, 1}, [](int) {});
  } catch (const std::runtime_error& error) {
    judge::refuse("On the connection on which a message came twice, the next one fails: " + std::string(error.what()));
  }
  expect(balance(database) == before + 2, "On one connection, a message that comes twice does not count once.");
}

}  // namespace

int main() {
  char folder[] = "exercise-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 3;
  const std::string file = std::string(folder) + "/account";
  {
    Database database(file);
    make_tables(database);
  }
  long expected = 0;
  for (long key = 1; key <= 4; ++key) {
    const Deposit deposit{key, 100 * key};
    expected += 100 * key;
    // The message is delivered again as long as it has not been acknowledged.
    if (key == 2) handle(file, deposit, 1);
    if (key == 3) handle(file, deposit, 2);
    handle(file, deposit, 0);
    handle(file, deposit, 0);
    Database database(file);
    expect(balance(database) == expected,
           key == 2   ? "Killed between its two writes, it counts a message never, or twice."
           : key == 3 ? "Killed before the acknowledgement, it counts a message never, or twice."
                      : "A message that is delivered twice does not count once.");
  }
  const Deposit failing{100, 1'000};
  expected += failing.cents;
  a_write_fails(file, failing);
  handle(file, failing, 0);
  {
    Database database(file);
    expect(balance(database) == expected,
           "A message of which a write has failed is delivered again, and does not count.");
  }
  on_one_connection(file, 101);
  expected += 2;
  for (int i = 0; i < 2; ++i) {  // two consumers get the same message at the same time
    if (fork() == 0) {
      for (long key = 5; key < 55; ++key) {
        Database database(file);
        one_transaction(database, {key, 1}, [](int) {});
      }
      _exit(0);
    }
  }
  for (int status = 0; wait(&status) > 0;) expect(status == 0, "Two consumers at the same time: one of them fails.");
  {
    Database database(file);
    expect(balance(database) == expected + 50, "Two consumers with the same message: it does not count once.");
  }
  unlink(file.c_str());
  rmdir(folder);
  std::puts("every message counts once");
}
