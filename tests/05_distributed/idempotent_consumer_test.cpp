// The program's output, and the consumers from inside: twice, at the same time, and with errors.

#include "05_distributed/idempotent_consumer/consumers.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "05_distributed/idempotent_consumer/database.hpp"
#include "05_distributed/temporary_directory.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;
using test_support::TemporaryDirectory;

struct idempotent_consumer_consumers : testing::Test {
  TemporaryDirectory folder;
  Database database{(folder.path / "db").string()};
  void SetUp() override { make_tables(database); }
};

const Step nothing = [](int) {};

/// Stands for a consumer that is killed here: its connection ends, and with it its transaction.
struct Killed {};
Step killed_at(int place) {
  return [place](int number) {
    if (number == place) throw Killed();
  };
}

TEST(idempotent_consumer, only_one_transaction_is_right_wherever_it_is_killed) {
  const TemporaryDirectory scratch;
  const auto result = run("idempotent_consumer", {}, {.environment = {{"TMPDIR", scratch.path}}});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
  for (const char* row : {"no key +only one write +20.00", "key, then deposit +0.00 +10.00",
                          "deposit, then key +20.00 +10.00", "both in one transaction +10.00 +10.00"}) {
    EXPECT_EQ(result.lines_with("^" + std::string(row) + "$").size(), 1U) << result.text();
  }
  for (int i = 0; i < 500 && !std::filesystem::is_empty(scratch.path); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path));
}

TEST(idempotent_consumer_temporary_directory, at_its_end_the_folder_is_gone_and_so_is_its_process) {
  std::filesystem::path path;
  {
    const ::TemporaryDirectory folder;
    path = folder.path();
    EXPECT_TRUE(std::filesystem::is_empty(path));
    for (int i = 0; i < 1000; ++i) std::ofstream(path / std::to_string(i)) << i;  // to remove them takes a while
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "its process is left";
  EXPECT_EQ(errno, ECHILD);
}

TEST(idempotent_consumer_temporary_directory, one_that_cannot_be_made_is_an_error_that_says_why) {
  const TemporaryDirectory scratch;
  std::string deep = scratch.path;  // so long that no name fits behind it
  while (deep.size() < 4080) deep += '/' + std::string(std::min<std::size_t>(200, 4090 - deep.size() - 1), 'x');
  std::filesystem::create_directories(deep);
  const auto result = run("idempotent_consumer", {}, {.environment = {{"TMPDIR", deep}}});
  EXPECT_EQ(result.exit_code, 3) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("idempotent_consumer: mkdtemp: File name too long"));
  EXPECT_EQ(result.leaked_processes, 0);
}

TEST_F(idempotent_consumer_consumers, a_second_delivery_has_no_effect_if_there_is_a_key) {
  int key = 0;
  long expected = 0;
  for (const auto handle : {key_then_effect, effect_then_key, one_transaction}) {
    ++key;
    expected += 500;
    for (int delivery = 0; delivery < 3; ++delivery) {
      handle(database, {key, 500}, nothing);
      EXPECT_EQ(balance(database), expected);
    }
  }
  no_key(database, {1, 500}, nothing);
  no_key(database, {1, 500}, nothing);
  EXPECT_EQ(balance(database), expected + 1'000);
}

TEST_F(idempotent_consumer_consumers, messages_with_other_keys_are_others) {
  for (int key = 1; key <= 50; ++key) one_transaction(database, {key, 7}, nothing);
  EXPECT_EQ(balance(database), 350);
  EXPECT_EQ(database.run("SELECT count(*) FROM done"), 50);
}

TEST_F(idempotent_consumer_consumers, a_transaction_that_does_not_end_leaves_neither_key_nor_effect) {
  {
    Database other((folder.path / "db").string());
    EXPECT_THROW(one_transaction(other, {1, 500}, killed_at(1)), Killed);
  }
  EXPECT_EQ(balance(database), 0);
  EXPECT_EQ(database.run("SELECT count(*) FROM done"), 0);
  one_transaction(database, {1, 500}, nothing);
  EXPECT_EQ(balance(database), 500);
  {
    Database other((folder.path / "db").string());
    EXPECT_THROW(one_transaction(other, {2, 500}, killed_at(2)), Killed);  // committed, and not acknowledged
  }
  EXPECT_EQ(balance(database), 1'000);
  one_transaction(database, {2, 500}, nothing);
  EXPECT_EQ(balance(database), 1'000);
}

TEST_F(idempotent_consumer_consumers, two_writes_by_themselves_lose_or_repeat_an_effect) {
  EXPECT_THROW(key_then_effect(database, {1, 500}, killed_at(1)), Killed);
  key_then_effect(database, {1, 500}, nothing);
  EXPECT_EQ(balance(database), 0);
  EXPECT_THROW(effect_then_key(database, {2, 500}, killed_at(1)), Killed);
  effect_then_key(database, {2, 500}, nothing);
  EXPECT_EQ(balance(database), 1'000);
}

TEST_F(idempotent_consumer_consumers, the_same_messages_in_several_consumers_at_once_have_one_effect_each) {
  {
    std::vector<std::jthread> consumers;
    for (int i = 0; i < 4; ++i) {
      consumers.emplace_back([&] {
        Database own((folder.path / "db").string());
        own.run("PRAGMA synchronous = OFF");  // quick: nobody is killed here
        for (int key = 1; key <= 30; ++key) one_transaction(own, {key, 1}, nothing);
      });
    }
  }
  EXPECT_EQ(balance(database), 30);
}

TEST_F(idempotent_consumer_consumers, a_consumer_waits_for_another_one_that_is_in_the_middle_of_the_same_message) {
  std::jthread other;
  one_transaction(database, {1, 500}, [&](int number) {
    if (number != 1) return;
    other = std::jthread([&] {
      Database own((folder.path / "db").string());
      one_transaction(own, {1, 500}, nothing);  // throws if it does not wait
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // it does not matter how far the other one has come
  });
  other.join();
  EXPECT_EQ(balance(database), 500);
}

TEST_F(idempotent_consumer_consumers, the_lock_is_held_between_the_two_writes) {
  bool seen = false;
  one_transaction(database, {1, 1}, [&](int number) {
    if (number != 1) return;
    Database other((folder.path / "db").string());
    other.run("PRAGMA busy_timeout = 0");
    EXPECT_THROW(other.run("BEGIN IMMEDIATE"), std::runtime_error);
    EXPECT_EQ(other.run("SELECT cents FROM account"), 0) << "others see nothing of it yet";
    seen = true;
  });
  EXPECT_TRUE(seen);
}

TEST(idempotent_consumer_database, says_what_sqlite_says) {
  const TemporaryDirectory folder;
  Database database((folder.path / "db").string());
  try {
    database.run("SELECT cents FROM account");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "SQLite: no such table: account");
  }
  make_tables(database);
  EXPECT_EQ(database.run("INSERT INTO done VALUES (?)", 5L), 1);
  EXPECT_THROW(database.run("INSERT INTO done VALUES (?)", 5L), std::runtime_error);
  EXPECT_EQ(database.run("INSERT OR IGNORE INTO done VALUES (?)", 5L), 0);
  EXPECT_EQ(database.run("UPDATE account SET cents = ?", 3'000'000'000L), 1);
  EXPECT_EQ(balance(database), 3'000'000'000L);
  EXPECT_THROW(Database("/no/such/folder/db").run("SELECT 1"), std::runtime_error);
}

TEST(idempotent_consumer_check, handles_the_message_twice) {
  EXPECT_TRUE(run("idempotent_consumer_check").has_line("balance 2000, expected 1000"));
}

}  // namespace
