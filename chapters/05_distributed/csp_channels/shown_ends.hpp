/// The ends of a channel of numbers, which print what happens: of interest for the output only.
#pragma once

#include "channel.hpp"
#include "cookbook/print.hpp"

/// For the counter.
struct ShownWriter {
  Channel<int>::Writer end;
  void operator()(int i) {
    cookbook::println("writes {}{}", i, end.would_wait() ? ", waits" : "");
    try {
      end(i);
    } catch (const std::exception& over) {
      cookbook::println("hears: {}", over.what());
      throw;
    }
    cookbook::println("goes on after {}", i);
  }
  void poison() { end.poison(); }
  void retire() { end.retire(); }
};

/// For the printer, whose lines stand further to the right.
struct ShownReader {
  Channel<int>::Reader end;
  int operator()() {
    cookbook::println("{:20}reads{}", "", end.would_wait() ? ", waits" : "");
    try {
      const int i = end();
      cookbook::println("{:20}has {}", "", i);
      return i;
    } catch (const std::exception& over) {
      cookbook::println("{:20}hears: {}", "", over.what());
      throw;
    }
  }
  void poison() {
    cookbook::println("{:20}poisons the channel", "");
    end.poison();
  }
  void retire() { end.retire(); }
};
