// Tests a SharedQueue whose put() and get() a learner has written.

#include "shared_queue.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "cookbook/process.hpp"
#include "shared_memory.hpp"

using judge::expect;
using judge::within_two_seconds;

namespace {

void one_process() {
  const Shared<SharedQueue<int, 3>> queue;
  for (int round = 0; round < 5; ++round) {  // so that the places are used again
    for (int i = 0; i < 3; ++i) queue->put(10 * round + i);
    expect(queue->size() == 3, "size() is wrong: put() does not count the items.");
    for (int i = 0; i < 3; ++i) expect(queue->get() == 10 * round + i, "get() does not return the oldest item.");
    expect(queue->size() == 0, "size() is wrong: get() does not count the items.");
  }
}

/// The items that stay in the queue stay where they are: only then is each of them in memory once.
void ring() {
  using Queue = SharedQueue<long, 3>;
  const Shared<Queue> queue;
  constexpr long first = 0x1F2E3D4C5B6A7988;
  for (long i = 0; i < 3; ++i) queue->put(first + i);
  expect(queue->get() == first, "get() does not return the oldest item.");
  for (long i = 1; i < 3; ++i) {
    int times = 0;
    for (std::size_t at = 0; at + sizeof(long) <= sizeof(Queue); at += alignof(long)) {
      long here = 0;
      std::memcpy(&here, reinterpret_cast<const char*>(&*queue) + at, sizeof here);
      times += here == first + i;
    }
    expect(times == 1, "get() moves the items that stay in the queue: the array is not used as a ring.");
  }
}

void processes_wait_for_each_other() {
  const Shared<SharedQueue<int, 2>> queue;
  const pid_t consumer = cookbook::start_child([&] { judge::number(0) = queue->get(); });
  expect(judge::sleeps_in(consumer), "get() keeps its processor busy while it waits.");
  expect(judge::waits_begun_in(consumer) <= 2, "get() looks again and again, instead of waiting until it is woken.");
  expect(judge::number(0) == 0, "get() does not wait for an item.");
  queue->put(7);
  expect(within_two_seconds([] { return judge::number(0) == 7; }),
         "A process that waits in get() is not woken by put().");
  queue->put(1);
  queue->put(2);
  const pid_t producer = cookbook::start_child([&] {
    queue->put(3);
    judge::number(1) = 1;
  });
  expect(judge::sleeps_in(producer), "put() keeps its processor busy while it waits.");
  expect(judge::waits_begun_in(producer) <= 2, "put() looks again and again, instead of waiting until it is woken.");
  expect(judge::number(1) == 0, "put() does not wait although the queue is full.");
  expect(queue->get() == 1, "get() does not return the oldest item.");
  expect(within_two_seconds([] { return judge::number(1) == 1; }),
         "A process that waits in put() is not woken by get().");
  for (int status = 0; wait(&status) > 0;) expect(status == 0, "A process that uses the queue fails.");
}

/// Two consumers wait, and are stopped, so that they do not go on at once when they are woken. So a producer comes to
/// wait while a consumer does.
void both_sides_wait() {
  const Shared<SharedQueue<int, 1>> queue;
  pid_t consumers[2];
  for (pid_t& consumer : consumers) {
    consumer = cookbook::start_child([&] { judge::number(2) += queue->get(); });
    expect(judge::sleeps_in(consumer), "get() keeps its processor busy while it waits.");
  }
  for (const pid_t consumer : consumers) {
    kill(consumer, SIGSTOP);
    int status = 0;
    expect(waitpid(consumer, &status, WUNTRACED) == consumer && WIFSTOPPED(status), "get() does not wait for an item.");
  }
  queue->put(1);
  const pid_t producer = cookbook::start_child([&] {
    queue->put(2);
    judge::number(3) = 1;
  });
  expect(judge::sleeps_in(producer), "put() keeps its processor busy while it waits.");
  kill(consumers[0], SIGCONT);
  expect(within_two_seconds([] { return judge::number(2) == 1; }),
         "A process that waits in get() is not woken by put().");
  expect(within_two_seconds([] { return judge::number(3) == 1; }),
         "get() has made a place, and has not woken the process that waits in put().");
  kill(consumers[1], SIGCONT);
  expect(within_two_seconds([] { return judge::number(2) == 3; }),
         "put() has brought an item, and has not woken the process that waits in get().");
  for (int status = 0; wait(&status) > 0;) expect(status == 0, "A process that uses the queue fails.");
}

void many_processes() {
  constexpr int items = 2'000;
  const Shared<SharedQueue<int, 3>> queue;
  struct Taken {
    std::atomic<int> times[items];
  };
  const Shared<Taken> taken;
  for (int i = 0; i < 2; ++i) {
    cookbook::start_child([&, i] {
      for (int item = i; item < items; item += 2) queue->put(item);
    });
    cookbook::start_child([&] {
      for (int n = 0; n < items / 2; ++n) {
        ++taken->times[queue->get()];
        queue->task_done();
      }
    });
  }
  for (int status = 0; wait(&status) > 0;) expect(status == 0, "A process that uses the queue fails.");
  for (const std::atomic<int>& times : taken->times) expect(times == 1, "An item was taken twice, or never.");
  queue->join();  // all are done
}

}  // namespace

int main() {
  one_process();
  ring();
  processes_wait_for_each_other();
  both_sides_wait();
  many_processes();
  std::puts("every item has come through");
}
