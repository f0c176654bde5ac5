// The program's output, and SharedMap from inside.

#include <pthread.h>

#include <boost/interprocess/containers/map.hpp>
#include <mutex>

namespace {

void (*after_unlock)() = nullptr;  // called by a process right after it has unlocked
void (*at_insertion)() = nullptr;  // called by a process when it inserts a key

long inserted(long key) {
  if (at_insertion != nullptr) at_insertion();
  return key;
}

int unlock_and_wait(pthread_mutex_t* mutex) {
  const int error = pthread_mutex_unlock(mutex);
  if (after_unlock != nullptr) after_unlock();
  return error;
}

}  // namespace

#define pthread_mutex_unlock unlock_and_wait
#define try_emplace(key, value) try_emplace(inserted(key), value)
#include "03_processes/shared_map/shared_map.hpp"
#undef pthread_mutex_unlock
#undef try_emplace

#include <atomic>
#include <csignal>
#include <stdexcept>

#include "cookbook/process.hpp"
#include "shared_memory.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using test_support::run;
using test_support::wait_until_asleep;

TEST(shared_map, any_number_of_workers_lose_nothing) {
  for (const int workers : {1, 10, 64}) {
    const auto result = run("shared_map", {"--workers", std::to_string(workers), "--changes", "500"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::string all = std::to_string(500 * workers);
    EXPECT_TRUE(result.has_line(std::to_string(workers) + " workers add 1 to one value, 500 times each: " + all))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    the same pairs as in one process: yes")) << result.text();
    EXPECT_TRUE(result.has_line("ok    changes that were lost: 0")) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

TEST(shared_map, what_the_next_one_reads_after_each_end_of_a_worker) {
  const auto result = run("shared_map", {"--changes", "100"});
  EXPECT_TRUE(result.has_line("std::map                   0 of 10")) << result.text();
  EXPECT_TRUE(result.has_line("SharedMap                  10 of 10")) << result.text();
  EXPECT_EQ(result.lines_with("^10 workers write a key each: .0: 0, 1: 2, .*9: 18.$").size(), 1U) << result.text();
  const auto lines = result.lines_with("^(adds|reads)");
  const auto ends_with = [](const char* end, const char* value) {
    return testing::MatchesRegex(std::string(".* ") + end + " +" + value);
  };
  EXPECT_THAT(lines,
              testing::ElementsAre(ends_with("returns", "11"), ends_with("exception", "11"), ends_with("killed", "11"),
                                   ends_with("killed", "a process died within a change")))
      << result.text();
}

TEST(shared_map, its_workers_kill_themselves_also_where_the_parent_ignores_all_signals_that_one_can_ignore) {
  const auto result = run(
      "/bin/sh", {"-c", "trap '' TERM INT HUP; exec " + test_support::bin() + "/shared_map --workers 2 --changes 10"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^(adds|reads).* killed ").size(), 2U) << result.text();
}

TEST(shared_map, what_one_process_changes_all_see) {
  const Shared<SharedMap> map;
  EXPECT_THROW(map->get(1), std::out_of_range);
  EXPECT_EQ(cookbook::exit_code_of(cookbook::start_child([&] {
              map->set(1, 6);
              map->change(2, [](long& value) { value -= 5; });
            })),
            0);
  EXPECT_EQ(cookbook::exit_code_of(cookbook::start_child([&] { map->change(1, [](long& value) { value += 100; }); })),
            0);
  EXPECT_EQ(map->items(), (std::map<long, long>{{1, 106}, {2, -5}}));
}

/// Starts a child that holds the map's lock in work(until_killed), and another in next() that waits for it. Kills the
/// first; the exit code of the second.
template <typename Work, typename Next>
int kill_while_another_waits(Work work, Next next) {
  const pid_t holder = cookbook::start_child([&] {
    work([] {
      for (;;) pause();
    });
  });
  wait_until_asleep(holder);
  const pid_t waiting = cookbook::start_child([&] {
    try {
      next();
      return 0;
    } catch (const std::runtime_error&) {
      return 1;
    }
  });
  wait_until_asleep(waiting);
  EXPECT_EQ(kill(holder, SIGKILL), 0);
  EXPECT_EQ(cookbook::exit_code_of(holder), -SIGKILL);
  return cookbook::exit_code_of(waiting);
}

TEST(shared_map, a_writer_that_waits_goes_on_when_a_reader_is_killed) {
  const Shared<SharedMap> map;
  map->set(1, 10);
  const auto read = [&](auto until_killed) { map->look(1, [&](const long&) { until_killed(); }); };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(kill_while_another_waits(read, [&] { map->change(1, [](long& value) { ++value; }); }), 0);
  }
  EXPECT_EQ(map->get(1), 13);
}

TEST(shared_map, all_are_refused_when_a_writer_is_killed) {
  const Shared<SharedMap> map;
  map->set(1, 10);
  const auto write = [&](auto until_killed) { map->change(1, [&](long&) { until_killed(); }); };
  EXPECT_EQ(kill_while_another_waits(write, [&] { map->get(1); }), 1);
  EXPECT_THROW(map->get(1), std::runtime_error);
  EXPECT_THROW(map->items(), std::runtime_error);
  EXPECT_THROW(map->set(2, 1), std::runtime_error);
}

TEST(shared_map, all_are_refused_when_a_writer_is_killed_while_it_inserts_a_key) {
  const Shared<SharedMap> map;
  map->set(1, 10);
  at_insertion = [] { raise(SIGKILL); };
  const pid_t writer = cookbook::start_child([&] { map->set(2, 1); });
  at_insertion = nullptr;
  EXPECT_EQ(cookbook::exit_code_of(writer), -SIGKILL);
  EXPECT_THROW(map->get(1), std::runtime_error) << "the tree may be half rebalanced";
}

std::atomic<bool>* writer_has_begun = nullptr;

TEST(shared_map, a_process_that_leaves_does_not_take_back_the_note_of_the_next_one) {
  const Shared<SharedMap> map;
  map->set(1, 10);
  const Shared<std::atomic<bool>> begun(false), unlocked(false);
  writer_has_begun = &*begun;
  const pid_t writer = cookbook::start_child([&] {
    while (!*unlocked) usleep(1000);
    map->change(1, [&](long&) {
      *begun = true;
      pause();
    });
  });
  after_unlock = [] {
    while (!*writer_has_begun) usleep(1000);
  };
  const pid_t reader = cookbook::start_child([&] {
    map->look(1, [&](const long&) { *unlocked = true; });  // the writer asks for the lock, and gets it by the unlock
  });
  after_unlock = nullptr;
  EXPECT_EQ(cookbook::exit_code_of(reader), 0);
  EXPECT_EQ(kill(writer, SIGKILL), 0);
  EXPECT_EQ(cookbook::exit_code_of(writer), -SIGKILL);
  EXPECT_THROW(map->get(1), std::runtime_error) << "the writer was within a change";
}

TEST(shared_map, a_change_whose_work_throws_is_not_made) {
  const Shared<SharedMap> map;
  map->set(1, 10);
  const auto fail_half_way = [](long& value) {
    value = 7;
    throw std::logic_error("half-way");
  };
  EXPECT_THROW(map->change(1, fail_half_way), std::logic_error);
  EXPECT_THROW(map->change(2, fail_half_way), std::logic_error);
  EXPECT_EQ(map->items(), (std::map<long, long>{{1, 10}})) << "the old value, and no new key";
  EXPECT_THROW(map->change(1, [](long&) { throw 7; }), int);
  EXPECT_EQ(cookbook::exit_code_of(cookbook::start_child([&] { map->look(1, [](const long&) { raise(SIGKILL); }); })),
            -SIGKILL);
  EXPECT_EQ(map->get(1), 10) << "a change that failed is over: the death of the reader after it harms nobody";
}

TEST(shared_map, a_full_map_can_still_be_used_and_read_until_a_reader_dies) {
  const Shared<SharedMap> map;
  long keys = 0;
  EXPECT_THROW(
      {
        for (;; ++keys) map->set(keys, 2 * keys);
      },
      boost::interprocess::bad_alloc);
  EXPECT_GE(keys, 100);
  EXPECT_EQ(map->items().size(), static_cast<std::size_t>(keys));
  EXPECT_THROW(map->set(keys, 1), boost::interprocess::bad_alloc);
  EXPECT_EQ(cookbook::exit_code_of(cookbook::start_child([&] { map->look(0, [](const long&) { raise(SIGKILL); }); })),
            -SIGKILL);
  map->set(0, 7);  // a change that failed is over: the death of the reader after it harms nobody
  EXPECT_EQ(map->get(0), 7);
}

}  // namespace
