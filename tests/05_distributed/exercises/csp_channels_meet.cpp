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

/// A channel ends, by poison or since one side has retired, before a process of the other side comes or while it waits.
/// What that process is told.
template <bool writes>
std::string end_of_one(bool poisoned, bool waits) {
  Channel<int> a;
  std::string end;
  const auto one = [&](Channel<int>::End<writes>& of_a) {
    if (!waits) let_others_run();
    end = end_of([&] {
      if constexpr (writes) {
        of_a(1);
      } else {
        of_a();
      }
    });
  };
  const auto ends = [&](Channel<int>::End<!writes>& of_a) {
    if (waits) let_others_run();
    if (poisoned) {
      of_a.poison();
    } else {
      of_a.retire();
    }
  };
  parallel(process(one, Channel<int>::End<writes>(a)), process(ends, Channel<int>::End<!writes>(a)));
  return end;
}

void the_end(bool waits) {
  const std::string poisoned = Poisoned().what(), retired = Retired().what();
  expect(end_of_one<false>(true, waits) == poisoned && end_of_one<true>(true, waits) == poisoned &&
             end_of_one<false>(false, waits) == retired && end_of_one<true>(false, waits) == retired,
         waits ? "Whoever waits is not told that the channel has ended, or not how."
               : "Whoever comes to a channel that is over is not told so, or not how.");
}

/// The fiber that has waited runs only after the channel has ended.
void a_value_handed_over_counts(bool poisoned) {
  Channel<Item> a, b;
  bool written = false, read = false;
  const auto write_a = [&](Writer& out) { written = end_of([&] { out(item(1)); }).empty(); };
  const auto read_b = [&](Reader& in) {
    read = end_of([&] { expect(number_of(in()) == 2, "A reader gets another value than was written."); }).empty();
  };
  const auto end = [&](auto& of) {
    if (poisoned) {
      of.poison();
    } else {
      of.retire();
    }
  };
  const auto other = [&](Reader& of_a, Writer& of_b) {
    let_others_run();
    expect(number_of(of_a()) == 1, "A reader gets another value than was written.");
    end(of_a);
    of_b(item(2));
    end(of_b);
  };
  parallel(process(write_a, a.writer()), process(read_b, b.reader()), process(other, a.reader(), b.writer()));
  expect(written && read, "A value was handed over before the end of the channel, and its process is told the end.");
}

}  // namespace

int main() {
  whoever_comes_first_waits(true);
  whoever_comes_first_waits(false);
  two_of_one_side_do_not_meet();
  for (const bool yes : {false, true}) {
    the_end(yes);
    a_value_handed_over_counts(yes);
  }
  the_first_one_is_served_first(true);
  the_first_one_is_served_first(false);
  many_values();
  std::puts("writers and readers have met");
}
