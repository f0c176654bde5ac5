// Channels in the sense of CSP: the program seen from outside. Catalogue: 5.C7, 5.9, 5.11.

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;
using testing::ElementsAre;

using Lines = std::vector<std::string>;

Lines quickly(Lines arguments) {
  arguments.insert(arguments.end(), {"--values", "100", "--repeats", "1"});
  return arguments;
}

/// The records of one process, without its name.
Lines records_of(const Result& result, const std::string& process) {
  return result.captures("^" + process + ": (.*)$");
}

TEST(csp_channels, counter_and_printer_give_the_numbers_in_order_and_end) {
  for (const int limit : {1, 5, 100}) {
    std::string numbers = "0";
    for (int i = 1; i < limit; ++i) numbers.append(" ").append(std::to_string(i));
    const auto result = run("csp_channels", quickly({"--limit", std::to_string(limit)}));
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.out.front(), numbers);
  }
  EXPECT_EQ(run("csp_channels", quickly({"--limit", "1000000"})).exit_code, 0);
}

TEST(csp_channels, without_a_number_nothing_is_printed_and_both_end) {
  const auto result = run("csp_channels", quickly({"--limit", "0"}));
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.out.front(), "ok    the same numbers as in one program: yes");
}

TEST(csp_channels, writer_and_reader_meet) {
  const auto result = run("csp_channels", quickly({}));
  EXPECT_TRUE(result.has_line(R"(ok    the writer comes first: ["writes", "reads", "has written"])"));
  EXPECT_TRUE(result.has_line(R"(ok    the reader comes first: ["reads", "writes", "has written", "has read"])"));
}

TEST(csp_channels, poison_reaches_who_waits_and_who_comes_later) {
  const auto result = run("csp_channels", quickly({}));
  EXPECT_THAT(result.captures("^ok    (.*): the channel is poisoned$"),
              ElementsAre("a read that waits when poison comes", "a write that waits when poison comes",
                          "a read after poison", "a write after poison"))
      << result.text();
}

TEST(csp_channels, each_number_arrives_once_whatever_the_kind_of_channel) {
  EXPECT_THAT(run("csp_channels", quickly({})).captures("^ok    (.*) numbers, each once: yes$"),
              ElementsAre("one to one: 100", "one to any: 100", "any to one: 200", "any to any: 200"));
}

TEST(csp_channels, poison_by_two_writers_loses_numbers) {
  const auto result = run("csp_channels_poison");
  EXPECT_EQ(result.exit_code, 1);
  const auto received = result.captures("^FAIL  numbers received: (\\d+), expected 30$");
  ASSERT_EQ(received.size(), 1U) << result.text();
  EXPECT_GE(std::stoi(received[0]), 10) << "what the shorter writer wrote before its poison must have arrived";
}

TEST(csp_channels, trace_has_13_records_and_4_for_each_number) {
  for (const int limit : {0, 1, 3, 5, 1000}) {
    const auto result = run("csp_channels", quickly({"--traced", std::to_string(limit)}));
    const std::string count = std::to_string(13 + 4 * limit), n = std::to_string(limit);
    EXPECT_TRUE(result.has_line("ok    records of a run with limit " + n + ": " + count)) << result.text();
    if (limit > 5) continue;
    EXPECT_EQ(result.lines_with("^(main|counter|printer): ").size(), 13U + 4U * static_cast<unsigned>(limit));

    Lines counter = {"StartProcess"}, printer = {"StartProcess"};
    for (int i = 0; i < limit; ++i) {
      counter.insert(counter.end(), {"BlockOnWrite A " + std::to_string(i), "DoneWrite A " + std::to_string(i)});
      printer.insert(printer.end(), {"BlockOnRead A " + std::to_string(i), "DoneRead A " + std::to_string(i)});
    }
    counter.insert(counter.end(), {"Poison A " + n, "QuitProcess"});
    printer.insert(printer.end(), {"BlockOnRead A " + n, "QuitProcess", "Poison A " + n});
    EXPECT_EQ(records_of(result, "counter"), counter);
    EXPECT_EQ(records_of(result, "printer"), printer);
    EXPECT_THAT(records_of(result, "main"),
                ElementsAre("Channel A", "ChannelEndWrite A", "ChannelEndRead A", "BlockOnParallel counter, printer",
                            "DoneParallel counter, printer", "TraceQuit"));
  }
}

TEST(csp_channels, in_the_trace_a_read_is_done_before_its_write) {
  const auto result = run("csp_channels", quickly({"--traced", "5"}));
  const auto place = [&](const std::string& record) {
    return std::find(result.out.begin(), result.out.end(), record) - result.out.begin();
  };
  for (const std::string i : {"0", "1", "2", "3", "4"}) {
    EXPECT_LT(place("counter: BlockOnWrite A " + i), place("printer: DoneRead A " + i));
    EXPECT_LT(place("printer: BlockOnRead A " + i), place("printer: DoneRead A " + i));
    EXPECT_LT(place("printer: DoneRead A " + i), place("counter: DoneWrite A " + i));
  }
}

TEST(csp_channels, costs_stand_beside_the_limit_and_the_libraries) {
  const auto result = run("csp_channels", {"--values", "1000", "--repeats", "3"});
  EXPECT_EQ(result.lines_with(" ns .* %.* x$").size(), 5U) << result.text();
}

TEST(csp_channels, ctrl_c_ends_it_at_once) {
  const auto result = run("csp_channels", {"--values", "10000000", "--repeats", "1000"}, {.interrupt_after_ms = 200});
  EXPECT_EQ(result.exit_code, -2) << result.text();
}

}  // namespace
