// Tests a SmallLoop whose run() a learner has written.

#include "small_loop.hpp"

#include <cstdio>
#include <string>

using judge::expect;

namespace {

void nothing_is_queued() {
  SmallLoop loop;
  loop.run();
  expect(loop.time() == 0, "The clock has moved, and nothing was queued.");
}

void callbacks_in_order() {
  SmallLoop loop;
  std::string called;
  loop.call_soon([&] {
    loop.call_soon([&] { called += 'c'; });
    called += 'a';
  });
  loop.call_soon([&] { called += 'b'; });
  loop.run();
  expect(called == "abc", "Callbacks are not called in the order of queueing: " + called + " instead of abc.");
  expect(loop.time() == 0, "The clock has moved although no timer was queued.");
  expect(loop.pending() == 0, "A callback that was called is still queued.");
}

void timers_in_order() {
  SmallLoop loop;
  std::string called;
  const auto at = [&](double due, char letter) {
    loop.call_later(due, [&, due, letter] {
      expect(loop.time() == due, "In the callback of a timer, time() is not the time when it is due.");
      called += letter;
    });
  };
  at(3, 'e');
  at(1, 'a');
  at(1.000001, 'c');
  at(2.5, 'd');
  at(1, 'b');
  loop.run();
  expect(called == "abcde", "Timers are not called in the order in which they are due: " + called + ", not abcde.");
  loop.call_later(2, [&] { expect(loop.time() == 5, "In the callback of a later timer, time() is wrong."); });
  loop.run();
  expect(loop.time() == 5, "After all timers time() is not when the last one was due.");
  expect(loop.pending() == 0, "A timer that was called is still queued.");
}

void timers_due_together_are_one_turn() {
  SmallLoop loop;
  std::string called;
  loop.call_later(1, [&] {
    called += 'a';
    loop.call_soon([&] { called += 'c'; });
  });
  loop.call_later(1, [&] { called += 'b'; });
  loop.run();
  expect(called == "abc", "Two timers are due at the same time, and what the first one queues comes between them.");
}

void the_clock_waits_while_callbacks_are_ready() {
  SmallLoop loop;
  loop.call_later(10, [] {});
  loop.call_soon([&] {
    expect(loop.time() == 0, "The clock was set forward although callbacks were ready.");
    loop.call_soon([&] { expect(loop.time() == 0, "The clock was set forward although callbacks were ready."); });
  });
  loop.run();
  expect(loop.time() == 10, "The clock is not set to the time of the timer.");
}

/// Callbacks are ready, and two timers are due: they all are one turn, and stop() ends it at its end only.
void timers_join_what_is_ready(bool stops) {
  SmallLoop loop;
  std::string called;
  loop.call_soon([&] {
    loop.call_later(0, [&] { called += 'c'; });
    loop.call_later(0, [&] { called += 'd'; });
    loop.call_soon([&] {
      if (stops) loop.stop();
      loop.call_soon([&] { called += 'e'; });
      called += 'b';
    });
    called += 'a';
  });
  loop.run();
  if (stops) {
    expect(called == "abcd",
           "stop() is called in a turn that two timers have joined: this turn is not done to its end.");
    loop.run();
  }
  expect(called == "abcde",
         "Timers that are due do not all join the callbacks that are ready: " + called + ", not abcde.");
}

/// What a turn queues belongs to the next one, which begins with the timers that are due.
void nobody_keeps_the_timers_waiting() {
  SmallLoop loop;
  int turns = 0, turns_before_the_timer = -1;
  std::function<void()> again = [&] {
    if (++turns == 1) loop.call_later(0, [&] { turns_before_the_timer = turns; });
    if (turns < 100) loop.call_soon(again);
  };
  loop.call_soon(again);
  loop.run();
  expect(turns == 100, "A callback that was queued was not called.");
  expect(turns_before_the_timer == 2, "Callbacks that queue others keep a timer that is due waiting.");
}

void stop_ends_the_run_after_the_turn() {
  SmallLoop loop;
  std::string called;
  loop.call_soon([&] {
    loop.stop();
    loop.call_soon([&] { called += 'c'; });
    called += 'a';
  });
  loop.call_soon([&] { called += 'b'; });
  loop.call_later(7, [&] { called += 'd'; });
  loop.run();
  expect(called != "a", "A callback that belongs to the turn in which stop() is called was not called.");
  expect(called == "ab", "After the turn in which stop() was called run() goes on.");
  expect(loop.pending() == 2, "What was still queued at the end of run() is lost.");
  expect(loop.time() == 0, "The clock has moved after stop().");
  loop.run();
  expect(called == "abcd", "A second run() does not go on with what the first one has left.");
  loop.stop();  // outside of run(), of no effect on the next one
  loop.call_soon([&] { called += 'e'; });
  loop.run();
  expect(called == "abcde", "A second run() does not call anything after stop().");
}

}  // namespace

int main() {
  nothing_is_queued();
  callbacks_in_order();
  timers_in_order();
  timers_due_together_are_one_turn();
  the_clock_waits_while_callbacks_are_ready();
  timers_join_what_is_ready(false);
  timers_join_what_is_ready(true);
  nobody_keeps_the_timers_waiting();
  stop_ends_the_run_after_the_turn();
  std::puts("all turns came in order");
}
