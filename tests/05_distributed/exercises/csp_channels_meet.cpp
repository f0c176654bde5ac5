// Tests a channel whose meet() a learner has written.

#include "channel.hpp"

#include <boost/fiber/operations.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "process.hpp"

using judge::expect;

namespace {

using Item = std::unique_ptr<int>;  // can only be moved
using Writer = Channel<Item>::Writer;
using Reader = Channel<Item>::Reader;

Item item(int number) { return std::make_unique<int>(number); }

int number_of(const Item& one) {
  expect(one != nullptr, "A reader gets no value.");
  return *one;
}

/// Lets the other fibers run until each of them waits or has ended.
void let_others_run() {
  for (int i = 0; i < 10; ++i) boost::this_fiber::yield();
}

/// What a process gets at the end: a text of Poisoned or Retired, or nothing.
template <typename Use>
std::string end_of(Use use) {
  try {
    use();
  } catch (const Poisoned& end) {
    return end.what();
  } catch (const Retired& end) {
    return end.what();
  }
  return "";
}

void whoever_comes_first_waits(bool writer_first) {
  Channel<Item> a;
  bool written = false, read = false;
  const auto write = [&](Writer& out) {
    if (!writer_first) let_others_run();
    expect(!read, "A reader goes on although nobody has written.");
    out(item(7));
    written = true;
    expect(!writer_first || read, "A writer goes on although nobody has read.");
  };
  const auto reader = [&](Reader& in) {
    if (writer_first) let_others_run();
    expect(!written, "A writer goes on although nobody has read.");
    expect(number_of(in()) == 7, "A reader gets another value than was written.");
    read = true;
  };
  parallel(process(write, a.writer()), process(reader, a.reader()));
  expect(written && read, "A writer and a reader do not meet: one of them is told that the channel has ended.");
}

void two_of_one_side_do_not_meet() {
  Channel<Item> a;
  bool read = false;
  const auto write = [&](Writer& out) {
    out(item(1));
    expect(read, "A writer goes on although nobody has read.");
  };
  const auto reader = [&](Reader& in) {
    let_others_run();
    read = true;
    for (int i = 0; i < 2; ++i) number_of(in());
  };
  parallel(process(write, a.writer()), process(write, a.writer()), process(reader, a.reader()));
}

/// Three of one side wait, and are served in the order in which they came.
void the_first_one_is_served_first(bool writers_wait) {
  Channel<Item> a;
  std::string served;
  const auto write = [&](int number) {
    return [&served, number, writers_wait](Writer& out) {
      if (!writers_wait) let_others_run();
      out(item(number));
      served += writers_wait ? std::to_string(number) : "";
    };
  };
  const auto reader = [&](int number) {
    return [&served, number, writers_wait](Reader& in) {
      if (writers_wait) let_others_run();
      number_of(in());
      served += writers_wait ? "" : std::to_string(number);
    };
  };
  parallel(process(write(1), a.writer()), process(write(2), a.writer()), process(write(3), a.writer()),
           process(reader(1), a.reader()), process(reader(2), a.reader()), process(reader(3), a.reader()));
  expect(served == "123", "Those who wait are not served in the order in which they came.");
}

void many_values() {
  Channel<Item> a;
  std::vector<int> times(300);
  const auto write = [](int first) {
    return [first](Writer& out) {
      for (int i = 0; i < 100; ++i) {
        out(item(first + i));
        if (i % 7 == 0) boost::this_fiber::yield();
      }
    };
  };
  const auto reader = [&](Reader& in) {
    for (int last[3] = {-1, -1, -1};;) {
      const int number = number_of(in());
      ++times[number];
      expect(last[number / 100] < number, "The values of one writer do not keep their order.");
      last[number / 100] = number;
      if (number % 5 == 0) boost::this_fiber::yield();
    }
  };
  parallel(process(write(0), a.writer()), process(write(100), a.writer()), process(write(200), a.writer()),
           process(reader, a.reader()), process(reader, a.reader()));
  for (const int one : times) expect(one == 1, "A value was read twice, or never.");
}

void the_end_while_they_wait() {
  Channel<int> a, b, c;
  std::string reader_end, writer_end, left_end;
  const auto read_a = [&](Channel<int>::Reader& in) { reader_end = end_of([&] { in(); }); };
  const auto write_b = [&](Channel<int>::Writer& out) { writer_end = end_of([&] { out(1); }); };
  const auto read_c = [&](Channel<int>::Reader& in) { left_end = end_of([&] { in(); }); };
  const auto ends = [&](Channel<int>::Writer& of_a, Channel<int>::Reader& of_b, Channel<int>::Writer& of_c) {
    let_others_run();
    of_a.poison();
    of_b.poison();
    of_c.retire();
  };
  parallel(process(read_a, a.reader()), process(write_b, b.writer()), process(read_c, c.reader()),
           process(ends, a.writer(), b.reader(), c.writer()));
  expect(reader_end == Poisoned().what() && writer_end == Poisoned().what() && left_end == Retired().what(),
         "Whoever waits is not told that the channel has ended.");
}

void the_end_before_they_come() {
  Channel<int> a, b;
  std::string reader_end, writer_end;
  const auto read_a = [&](Channel<int>::Reader& in) {
    let_others_run();
    reader_end = end_of([&] { in(); });
  };
  const auto write_b = [&](Channel<int>::Writer& out) {
    let_others_run();
    writer_end = end_of([&] { out(1); });
  };
  const auto ends = [&](Channel<int>::Writer& of_a, Channel<int>::Reader& of_b) {
    of_a.poison();
    of_b.retire();
  };
  parallel(process(read_a, a.reader()), process(write_b, b.writer()), process(ends, a.writer(), b.reader()));
  expect(reader_end == Poisoned().what() && writer_end == Retired().what(),
         "Whoever comes to a channel that is over is not told so.");
}

/// The fiber that has waited runs only after the channel has ended.
void a_value_handed_over_counts() {
  Channel<Item> a, b;
  bool written = false, read = false;
  const auto write_a = [&](Writer& out) { written = end_of([&] { out(item(1)); }).empty(); };
  const auto read_b = [&](Reader& in) {
    read = end_of([&] { expect(number_of(in()) == 2, "A reader gets another value than was written."); }).empty();
  };
  const auto other = [&](Reader& of_a, Writer& of_b) {
    let_others_run();
    expect(number_of(of_a()) == 1, "A reader gets another value than was written.");
    of_a.poison();
    of_b(item(2));
    of_b.retire();
  };
  parallel(process(write_a, a.writer()), process(read_b, b.reader()), process(other, a.reader(), b.writer()));
  expect(written && read, "A value was handed over before the end of the channel, and its process is told the end.");
}

}  // namespace

int main() {
  whoever_comes_first_waits(true);
  whoever_comes_first_waits(false);
  two_of_one_side_do_not_meet();
  the_end_before_they_come();
  the_end_while_they_wait();
  a_value_handed_over_counts();
  the_first_one_is_served_first(true);
  the_first_one_is_served_first(false);
  many_values();
  std::puts("writers and readers have met");
}
