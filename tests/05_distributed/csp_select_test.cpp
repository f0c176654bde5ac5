// The program's output, which is the same in every run, and select from inside.

#include "05_distributed/csp_select/select.hpp"

#include <string>
#include <vector>

#include "support/run.hpp"

namespace {

using boost::fibers::fiber;
using test_support::run;
using testing::ElementsAre;

constexpr long far = 1'000;

/// Lets the processes run until tick `far`; all must have ended by then.
template <typename... Work>
void run_all(World& world, Work... work) {
  std::vector<fiber> processes;
  (processes.emplace_back(work), ...);
  world.run_until(far);
  for (fiber& process : processes) process.join();
}

TEST(csp_select, the_order_is_the_same_in_every_run) {
  const auto first = run("csp_select");
  ASSERT_EQ(first.exit_code, 0) << first.text();
  EXPECT_TRUE(first.has_line("in turn: a1@10 b1@40 a2@40 b2@80 a3@80 timeout at 130")) << first.text();
  EXPECT_TRUE(first.has_line("planned: a1@10 a2@20 a3@30 a4@40 b1@40 a5@50 b2@80")) << first.text();
  EXPECT_TRUE(first.has_line("values read: 5 in turn, 7 with select")) << first.text();
  EXPECT_TRUE(first.has_line("longest wait of a writer: 50 ticks in turn, 0 with select")) << first.text();
  EXPECT_TRUE(first.has_line("select:  a1@10 a2@20 a3@30 b1@40 a4@40 a5@50 b2@80 timeout at 130")) << first.text();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run("csp_select").out, first.out);
}

TEST(csp_select, a_short_timeout_ends_the_reading_early) {
  const auto result = run("csp_select", {"--timeout", "12"});
  EXPECT_TRUE(result.has_line("select:  a1@10 a2@20 a3@30 b1@40 a4@40 a5@50 timeout at 62")) << result.text();
  EXPECT_TRUE(result.has_line("in turn: a1@10 timeout at 22")) << result.text();
  EXPECT_TRUE(result.has_line("values read: 1 in turn, 6 with select")) << result.text();
  EXPECT_TRUE(result.has_line("longest wait of a writer: 2 ticks in turn, 0 with select")) << result.text();
  EXPECT_TRUE(result.has_line("FAIL  values read by select: 6, expected 7")) << result.text();
}

TEST(csp_select_select, takes_a_value_that_waits_without_waiting) {
  World world;
  Channel a(world), b(world);
  bool taken = false;
  Channel::Selected got = {};
  long at = -1;
  run_all(
      world, [&] { taken = b.write(7); },
      [&] {
        world.sleep_until(5);
        got = Channel::select(world, {&a, &b}, far);
        at = world.now;
      });
  EXPECT_TRUE(taken);
  EXPECT_EQ(got.channel, 1);
  EXPECT_EQ(got.value, 7);
  EXPECT_EQ(at, 5);
}

TEST(csp_select_select, waits_for_the_first_of_its_channels) {
  World world;
  Channel a(world), b(world), c(world);
  std::vector<int> channels;
  std::vector<long> at;
  const auto write_at = [&](Channel& to, long tick) {
    return [&world, &to, tick] {
      world.sleep_until(tick);
      to.write(static_cast<int>(tick));
    };
  };
  run_all(world, write_at(c, 3), write_at(a, 9), write_at(b, 6), [&] {
    for (int i = 0; i < 3; ++i) {
      const auto got = Channel::select(world, {&a, &b, &c}, far);
      channels.push_back(got.channel);
      at.push_back(world.now);
      EXPECT_EQ(got.value, world.now);
    }
  });
  EXPECT_THAT(channels, ElementsAre(2, 1, 0));
  EXPECT_THAT(at, ElementsAre(3, 6, 9));
}

TEST(csp_select_select, gives_up_at_its_deadline_and_takes_nothing_then) {
  World world;
  Channel a(world);
  std::vector<int> got;
  long gave_up = -1;
  bool late = false;
  run_all(
      world,
      [&] {
        got.push_back(Channel::select(world, {&a}, 10).channel);
        gave_up = world.now;
        got.push_back(Channel::select(world, {&a}, far).channel);
      },
      [&] {
        world.sleep_until(20);
        late = a.write(1);
      });
  EXPECT_THAT(got, ElementsAre(-1, 0));
  EXPECT_EQ(gave_up, 10);
  EXPECT_TRUE(late);
}

TEST(csp_select_select, a_deadline_that_has_passed_still_takes_what_is_ready) {
  World world;
  Channel a(world), b(world);
  int ready = -2, empty = -2;
  run_all(
      world, [&] { a.write(1); },
      [&] {
        world.sleep_until(5);
        ready = Channel::select(world, {&b, &a}, 0).channel;
        empty = Channel::select(world, {&b, &a}, 0).channel;
      });
  EXPECT_EQ(ready, 1);
  EXPECT_EQ(empty, -1);
}

TEST(csp_select_select, looks_from_the_given_place_on_so_that_no_channel_starves) {
  World world;
  Channel a(world), b(world);
  std::string order, first_only;
  run_all(
      world,
      [&] {
        for (int i = 0; a.write(i);) ++i;
      },
      [&] {
        for (int i = 0; b.write(i);) ++i;
      },
      [&] {
        for (int i = 0, last = 1; i < 6; ++i) {
          last = Channel::select(world, {&a, &b}, far, last + 1).channel;
          order += last == 0 ? 'a' : 'b';
          boost::this_fiber::yield();  // the writer offers its next value
          boost::this_fiber::yield();
        }
        for (int i = 0; i < 4; ++i) {
          first_only += Channel::select(world, {&a, &b}, far).channel == 0 ? 'a' : 'b';
          boost::this_fiber::yield();
          boost::this_fiber::yield();
        }
        a.close();
        b.close();
      });
  EXPECT_EQ(order, "ababab");
  EXPECT_EQ(first_only, "aaaa");
}

TEST(csp_select_channel, two_readers_get_different_values_and_writers_are_served_in_order) {
  World world;
  Channel a(world);
  std::vector<int> values;
  const auto reader = [&] {
    for (int i = 0; i < 2; ++i) values.push_back(Channel::select(world, {&a}, far).value);
  };
  run_all(
      world, [&] { a.write(1); }, [&] { a.write(2); }, [&] { a.write(3); }, [&] { a.write(4); }, reader, reader);
  EXPECT_THAT(values, testing::UnorderedElementsAre(1, 2, 3, 4));
  EXPECT_EQ(values.front(), 1);
}

TEST(csp_select_channel, a_write_waits_until_it_has_been_read_or_the_channel_is_closed) {
  World world;
  Channel a(world), closed(world);
  long written_at = -1;
  bool refused = true;
  run_all(
      world,
      [&] {
        a.write(1);
        written_at = world.now;
      },
      [&] { refused = !closed.write(1); },
      [&] {
        world.sleep_until(30);
        Channel::select(world, {&a}, far);
        closed.close();
      });
  EXPECT_EQ(written_at, 30);
  EXPECT_TRUE(refused);
}

TEST(csp_select_channel, a_closed_channel_takes_no_offers_and_keeps_none) {
  World world;
  Channel a(world);
  bool early = true, late = true;
  int got = -2;
  run_all(
      world, [&] { early = a.write(1); },
      [&] {
        world.sleep_until(5);
        a.close();
        got = Channel::select(world, {&a}, 0).channel;  // the offer of the writer that was waiting is gone
        EXPECT_EQ(got, -1);
        late = a.write(2);
        got = Channel::select(world, {&a}, 0).channel;
      });
  EXPECT_FALSE(early);
  EXPECT_FALSE(late);
  EXPECT_EQ(got, -1);
}

// With threads instead of fibers, this lock is what keeps them from looking at a channel while another one changes it.
TEST(csp_select_channel, while_a_process_holds_the_lock_nothing_changes_not_even_the_time) {
  World world;
  Channel written(world), read(world), closed(world);
  std::vector<long> steps, times;
  run_all(
      world, [&] { read.write(1); },
      [&] {
        const std::unique_lock lock(world.mutex);
        for (int turn = 0; turn < 10; ++turn) {
          boost::this_fiber::yield();  // to all others, which ask for the lock and sleep
          steps.push_back(world.steps);
          times.push_back(world.now);
        }
      },
      [&] { written.write(2); }, [&] { Channel::select(world, {&read}, far); }, [&] { closed.close(); },
      [&] { Channel::select(world, {&written}, far); });
  EXPECT_THAT(steps, testing::Each(1)) << "the first process had written before";
  EXPECT_THAT(times, testing::Each(0));
  EXPECT_EQ(world.steps, 5) << "two values were written and read, and a channel was closed";
}

TEST(csp_select_starved, never_reads_the_request_to_stop) {
  EXPECT_TRUE(run("csp_select_starved").has_line("1000 numbers were read, and the request to stop is still unread"));
}

}  // namespace
