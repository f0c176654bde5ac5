/// A database of SQLite in a file, with checked calls.
#pragma once

#include <fmt/format.h>
#include <sqlite3.h>

#include <memory>
#include <stdexcept>
#include <string>

/// A connection to the database in `file`, which is made if it is not there. If another connection is writing, it waits
/// for that one up to 10 seconds. All functions throw std::runtime_error with SQLite's own words.
class Database {
 public:
  explicit Database(const std::string& file) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open(file.c_str(), &opened);
    connection_.reset(opened);  // there is one to close, and to ask for the error, even if the file could not be opened
    check(code);
    check(sqlite3_busy_timeout(opened, 10'000));
  }

  /// Executes one statement, with `values` (numbers) in the places of its question marks. Returns the first number of
  /// its first row; if it has no row, how many rows it has inserted, changed or deleted.
  template <typename... Values>
  long run(const std::string& sql, Values... values) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(connection_.get(), sql.c_str(), -1, &statement, nullptr));
    int place = 0;
    (check(sqlite3_bind_int64(statement, ++place, values)), ...);
    const int before = sqlite3_total_changes(connection_.get());
    const int step = sqlite3_step(statement);
    const long result =
        step == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : sqlite3_total_changes(connection_.get()) - before;
    check(sqlite3_finalize(statement));  // reports the error of the step, if there was one
    return result;
  }

 private:
  void check(int code) const {
    if (code != SQLITE_OK) throw std::runtime_error(fmt::format("SQLite: {}", sqlite3_errmsg(connection_.get())));
  }

  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close(connection); }
  };
  std::unique_ptr<sqlite3, Close> connection_;
};

/// A message: a deposit of so many cents, with the key that its sender has given to it.
struct Deposit {
  long key, cents;
};

inline void make_tables(Database& database) {
  database.run("BEGIN");
  database.run("CREATE TABLE account (cents INTEGER)");
  database.run("INSERT INTO account VALUES (0)");
  database.run("CREATE TABLE done (key INTEGER PRIMARY KEY)");  // the keys of the messages that were handled
  database.run("COMMIT");
}

inline long balance(Database& database) { return database.run("SELECT cents FROM account"); }
