// The program's output, and the chain of processes from inside.

#include "03_processes/process_pipe/squares.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;
using testing::ElementsAre;

TEST(process_pipe, prints_the_ten_squares_in_order_and_who_has_seen_the_end) {
  const auto result = run("process_pipe", {}, {.descriptors_left = 1});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("the squares: 0 1 4 9 16 25 36 49 64 81")) << result.text();
  const std::string ms = " +\\d+\\.\\d ms +";
  for (const std::string& row : {"the parent closes all its unused ends +10 +after" + ms + "ends by itself",
                                 "the parent forgets numbers.writing +10 +none within" + ms + "ends by itself",
                                 "the squarer is killed +[1-9]\\d* +after" + ms + "is ended by SIGPIPE"}) {
    EXPECT_EQ(result.lines_with("^" + row + "$").size(), 1U) << row << '\n' << result.text();
  }
  for (const std::string line : {"squares in the first two rows: [10, 10]", "wrong squares: 0",
                                 "no end-of-file in the second row: yes", "SIGPIPE in the third row alone: yes"}) {
    EXPECT_TRUE(result.has_line("ok    " + line)) << result.text();
  }
  EXPECT_EQ(result.leaked_processes, 0);
}

TEST(process_pipe, an_end_of_file_that_does_not_come_is_awaited_for_200_ms) {
  double shortest = 1e9;
  for (int attempt = 0; attempt < 10 && shortest > 1000; ++attempt) {  // on a busy machine it may take longer
    const auto result = run("process_pipe", {}, {.descriptors_left = 1});
    const auto waited = result.captures("^the parent forgets numbers.writing +10 +none within +(\\d+\\.\\d) ms");
    ASSERT_EQ(waited.size(), 1U) << result.text();
    EXPECT_GE(std::stod(waited[0]), 200);
    shortest = std::min(shortest, std::stod(waited[0]));
  }
  EXPECT_LE(shortest, 1000);
}

TEST(process_pipe, without_numbers_there_is_only_the_end) {
  const auto result = run("process_pipe", {"--items", "0"}, {.descriptors_left = 1});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_THAT(result.captures("^the parent closes all its unused ends +(\\d+) +after"), ElementsAre("0"));
}

TEST(process_pipe, of_many_squares_it_prints_the_first_hundred) {
  const auto result = run("process_pipe", {"--items", "1000"}, {.descriptors_left = 1});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  std::string line = "the squares:";
  for (int i = 0; i < 100; ++i) line += " " + std::to_string(i * i);
  EXPECT_TRUE(result.has_line(line)) << result.text();
}

TEST(process_pipe_squares, any_number_of_items_arrives_in_order) {
  for (const long items : {0L, 1L, 8191L, 8192L, 8193L, 100'000L}) {  // 8192 numbers fill a pipe of 64 KiB
    const Squares squares = start_squares(items);
    long received = 0, sum = 0, square = 0;
    for (; read_number(squares.results, square); ++received) {
      ASSERT_EQ(square, received * received);
      sum += square;
    }
    close(squares.results.reading);
    EXPECT_EQ(received, items);
    EXPECT_EQ(sum, (items - 1) * items * (2 * items - 1) / 6);
    EXPECT_EQ(cookbook::exit_code_of(squares.sender), 0);
    EXPECT_EQ(cookbook::exit_code_of(squares.squarer), 0);
  }
}

TEST(process_pipe_squares, a_killed_squarer_ends_the_sender_by_sigpipe_and_the_reader_by_end_of_file) {
  const Squares squares = start_squares(1'000'000'000'000);
  long square = -1;
  ASSERT_TRUE(read_number(squares.results, square));
  EXPECT_EQ(square, 0);
  ASSERT_EQ(kill(squares.squarer, SIGKILL), 0);
  EXPECT_EQ(cookbook::exit_code_of(squares.squarer), -SIGKILL);
  while (read_number(squares.results, square)) continue;  // what was in the pipe, and then end-of-file
  close(squares.results.reading);
  EXPECT_EQ(cookbook::exit_code_of(squares.sender), -SIGPIPE);
}

TEST(process_pipe_squares, the_end_of_file_after_a_killed_squarer_does_not_wait_for_the_sender) {
  const Squares squares = start_squares(1'000'000'000'000);
  long square = -1;
  ASSERT_TRUE(read_number(squares.results, square));
  ASSERT_EQ(kill(squares.sender, SIGSTOP), 0);
  siginfo_t stopped = {};  // until it has stopped, it could still be ended by SIGPIPE
  check(waitid(P_PID, static_cast<id_t>(squares.sender), &stopped, WSTOPPED | WEXITED | WNOWAIT), "waitid");
  ASSERT_EQ(stopped.si_code, CLD_STOPPED);
  ASSERT_EQ(kill(squares.squarer, SIGKILL), 0);
  EXPECT_EQ(cookbook::exit_code_of(squares.squarer), -SIGKILL);
  bool more = true;
  while (more) {
    pollfd news = {squares.results.reading, POLLIN, 0};
    ASSERT_EQ(check(poll(&news, 1, 10'000), "poll"), 1) << "the sender has a writing end of the results";
    more = read_number(squares.results, square);
  }
  close(squares.results.reading);
  check(kill(squares.sender, SIGKILL), "kill");
  EXPECT_EQ(cookbook::exit_code_of(squares.sender), -SIGKILL);
}

TEST(process_pipe_squares, a_reader_that_closes_its_end_ends_both_children) {
  const Squares squares = start_squares(1'000'000'000'000);
  close(squares.results.reading);
  EXPECT_EQ(cookbook::exit_code_of(squares.squarer), -SIGPIPE);
  EXPECT_EQ(cookbook::exit_code_of(squares.sender), -SIGPIPE);
}

TEST(process_pipe_read_number, refuses_a_file_that_ends_within_a_number) {
  const Pipe pipe = make_pipe();
  ASSERT_EQ(write(pipe.writing, "abc", 3), 3);
  close(pipe.writing);
  long number = 0;
  EXPECT_THROW(read_number(pipe, number), std::runtime_error);
  close(pipe.reading);
}

TEST(process_pipe_read_number, refuses_a_part_of_a_number_whose_writer_has_not_ended) {
  const Pipe pipe = make_pipe();
  ASSERT_EQ(write(pipe.writing, "abc", 3), 3);
  long number = 0;
  EXPECT_THROW(read_number(pipe, number), std::runtime_error);
  close(pipe.writing);
  close(pipe.reading);
}

TEST(process_pipe_make_pipe, a_program_that_is_started_by_exec_does_not_keep_the_ends) {
  const Pipe pipe = make_pipe();
  const pid_t program = cookbook::start_child([] {  // it says that it has begun, and runs until it is killed
    execl("/bin/sh", "sh", "-c", "kill -STOP $$; exec sleep 60", nullptr);
  });
  siginfo_t stopped = {};
  check(waitid(P_PID, static_cast<id_t>(program), &stopped, WSTOPPED | WEXITED | WNOWAIT), "waitid");
  EXPECT_EQ(stopped.si_code, CLD_STOPPED);
  close(pipe.writing);
  pollfd news = {pipe.reading, POLLIN, 0};
  EXPECT_EQ(check(poll(&news, 1, 0), "poll"), 1) << "the program has the writing end, and holds back the end-of-file";
  check(kill(program, SIGKILL), "kill");
  cookbook::exit_code_of(program);
  close(pipe.reading);
}

TEST(process_pipe_open_end, gives_all_numbers_and_no_end) {
  test_support::Result result;
  for (const auto limit : {300ms, 3000ms, 20000ms}) {  // on a busy machine the numbers may come late
    result = run("process_pipe_open_end", {}, {.limit = limit});
    if (!result.timed_out || result.out.size() == 3) break;
  }
  EXPECT_TRUE(result.timed_out) << "it hangs";
  EXPECT_THAT(result.out, ElementsAre("0", "1", "2"));
}

}  // namespace
