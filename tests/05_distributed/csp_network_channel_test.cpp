// The program's output, and NetworkChannel from inside: every way in which the far end can go.

#include "05_distributed/csp_network_channel/network_channel.hpp"

#include <atomic>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "cookbook/measure.hpp"
#include "random_bytes.hpp"
#include "support/eventually.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;
using test_support::run;

TEST(csp_network_channel, numbers_arrive_in_order_whatever_their_count) {
  for (const int numbers : {0, 1, 3, 5}) {
    const auto result = run("csp_network_channel", {"--numbers", std::to_string(numbers)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    std::vector<std::string> expected;
    for (int i = 0; i < 2 * numbers; ++i) expected.push_back(std::to_string(i));
    EXPECT_EQ(result.captures("^host: (\\d+)$"), expected);
    EXPECT_EQ(result.lines_with("^host: the far end has disconnected$").size(), 1U);
    EXPECT_EQ(result.lines_with("^host: the channel is poisoned$").size(), 1U);
    EXPECT_TRUE(result.lines_with("^$").empty()) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
  for (const char* many : {"6", "1000"}) {
    const auto result = run("csp_network_channel", {"--numbers", many});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.lines_with("^host:").empty()) << "more lines than one reads\n" << result.text();
  }
}

TEST(csp_network_channel, it_kills_a_host_also_where_the_parent_ignores_all_signals_that_one_can_ignore) {
  const auto result = run(
      "/bin/sh", {"-c", "trap '' TERM INT HUP; exec " + test_support::bin() + "/csp_network_channel"}, {.limit = 10s});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    a write to a host that was killed: no answer: End of file")) << result.text();
}

TEST(csp_network_channel, a_write_takes_as_long_as_the_host_is_busy_and_a_mere_send_does_not) {
  for (int attempt = 0; attempt < 10; ++attempt) {  // on a busy machine the send may be late
    const auto result = run("csp_network_channel");
    const auto write = result.captures("^write\\(\\) to a host that is busy for 50 ms +([\\d.]+) ms$");
    const auto send = result.captures("^the same line, and no wait for an answer +([\\d.]+) ms$");
    const auto to_waiting = result.captures("^write\\(\\) to a host that waits already +([\\d.]+) ms$");
    ASSERT_EQ(write.size() + send.size() + to_waiting.size(), 3U) << result.text();
    EXPECT_GE(std::stod(write[0]), 25) << "it begins when the host is already busy, but hardly later";
    if (std::stod(send[0]) < 25 && std::stod(to_waiting[0]) < 25) return;
  }
  FAIL() << "a send, or a write to a host that waits, took half as long as the other write should, in each of ten runs";
}

TEST(csp_network_channel, nothing_is_left_when_the_program_is_killed) {
  for (const int ms : {5, 20, 60}) {
    const auto result = run("csp_network_channel", {"--numbers", "1000"}, {.kill_after_ms = ms});
    EXPECT_EQ(result.leaked_processes, 0) << ms;
  }
}

TEST(csp_network_channel, a_port_that_is_taken_is_an_error_of_the_host) {
  boost::asio::io_context io;
  tcp::acceptor taken(io, {boost::asio::ip::address_v4::loopback(), 0});
  const auto result =
      run("csp_network_channel_host", {"--port", std::to_string(taken.local_endpoint().port())}, {.limit = 10s});
  EXPECT_EQ(result.exit_code, 3) << result.text();
  EXPECT_EQ(result.err.size(), 1U) << result.text();
}

/// A host in another thread, which runs `serve` with its end of the channel B, and a port to connect to.
class Host {
 public:
  explicit Host(std::function<void(NetworkChannel&)> serve)
      : acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}), thread_([this, serve] {
          NetworkChannel b("B", acceptor_, 2s);
          try {
            serve(b);
          } catch (const std::exception& end) {
            end_ = end.what();
          }
        }) {}

  int port() const { return acceptor_.local_endpoint().port(); }
  std::string end() {  ///< how serving ended
    thread_.join();
    return end_;
  }

 private:
  boost::asio::io_context io_;
  tcp::acceptor acceptor_;
  std::string end_ = "returned";
  std::jthread thread_;
};

void read_all(NetworkChannel& b) {
  for (;;) b.read();
}

/// Somebody who connects and speaks for himself.
std::string answer_to(int port, const std::string& bytes) {
  NetworkChannel::Stream stream("127.0.0.1", std::to_string(port));
  stream.expires_after(10s);
  stream << bytes << std::flush;
  std::string line;
  std::getline(stream, line);
  return line;
}

TEST(csp_network_channel_network_channel, poison_and_disconnection_reach_a_reader) {
  Host poisoned(read_all), disconnected(read_all);
  NetworkChannel("B", "127.0.0.1", poisoned.port()).poison();
  NetworkChannel("B", "127.0.0.1", disconnected.port()).disconnect();
  EXPECT_EQ(poisoned.end(), Poisoned().what());
  EXPECT_EQ(disconnected.end(), Disconnected().what());
}

TEST(csp_network_channel_network_channel, poison_reaches_a_writer_that_waits) {
  Host host([](NetworkChannel& b) { b.poison(); });
  NetworkChannel b("B", "127.0.0.1", host.port());
  EXPECT_THROW(b.write(1), Poisoned);
}

TEST(csp_network_channel_network_channel, values_go_in_both_directions) {
  Host host([](NetworkChannel& b) {
    for (;;) b.write(-b.read());
  });
  NetworkChannel b("B", "127.0.0.1", host.port());
  for (const long value : {0L, 5L, -7L, 9'223'372'036'854'775'807L}) {
    b.write(value);
    EXPECT_EQ(b.read(), -value);
  }
  b.disconnect();
  EXPECT_EQ(host.end(), Disconnected().what());
}

TEST(csp_network_channel_network_channel, values_in_both_directions_do_not_wait_for_the_confirmation_of_a_line) {
  Host host([](NetworkChannel& b) {
    for (;;) b.write(b.read());  // two lines, one after the other: "taken" and the value
  });
  NetworkChannel b("B", "127.0.0.1", host.port());
  for (int attempt = 0; attempt < 5; ++attempt) {  // on a busy machine it may take longer
    const cookbook::Stopwatch watch;
    for (int value = 0; value < 10; ++value) {
      b.write(value);
      EXPECT_EQ(b.read(), value);
    }
    if (watch.seconds() < 10 * 0.040) return;
  }
  FAIL() << "an exchange took more than the 40 ms after which Linux confirms a line, in each of five runs";
}

TEST(csp_network_channel_network_channel, a_write_waits_for_its_read) {
  std::atomic<bool> read = false;
  Host host([&](NetworkChannel& b) {
    std::this_thread::sleep_for(100ms);
    read = true;
    b.read();
  });
  NetworkChannel b("B", "127.0.0.1", host.port());
  b.write(1);
  EXPECT_TRUE(read);
}

TEST(csp_network_channel_network_channel, a_far_end_that_goes_without_a_word_is_an_error_on_both_sides) {
  Host leaving([](NetworkChannel& b) { b.read(); });
  NetworkChannel to_leaving("B", "127.0.0.1", leaving.port());
  to_leaving.write(1);
  leaving.end();
  EXPECT_THROW(to_leaving.write(2), ChannelLost);

  Host staying(read_all);
  { NetworkChannel("B", "127.0.0.1", staying.port()).write(1); }
  EXPECT_NE(staying.end().find("no answer"), std::string::npos);
}

TEST(csp_network_channel_network_channel, what_a_far_end_sent_last_is_read_before_its_end_is_noticed) {
  long value = 0;
  Host host([&](NetworkChannel& b) {
    std::this_thread::sleep_for(50ms);  // in which the far end goes
    value = b.read();
    b.read();
  });
  { EXPECT_EQ(answer_to(host.port(), "open B\nvalue 7\n"), "opened"); }
  EXPECT_NE(host.end(), "returned");
  EXPECT_EQ(value, 7);
}

TEST(csp_network_channel_network_channel, a_value_is_no_answer_so_two_ends_that_both_write_lose_the_channel) {
  Host host([](NetworkChannel& b) { b.write(1); });
  NetworkChannel b("B", "127.0.0.1", host.port());
  std::string end;
  try {
    b.write(2);
  } catch (const ChannelLost& lost) {
    end = lost.what();
  }
  EXPECT_EQ(end, "not an answer: value 1");
  EXPECT_EQ(host.end(), "not an answer: value 2");
}

TEST(csp_network_channel_network_channel, two_ends_that_both_read_lose_the_channel_after_the_timeout) {
  Host host(read_all);
  {
    NetworkChannel b("B", "127.0.0.1", host.port(), 50ms);
    EXPECT_THROW(b.read(), ChannelLost);
  }
  EXPECT_THAT(host.end(), testing::StartsWith("no answer: "));
}

TEST(csp_network_channel_network_channel, a_write_to_a_host_that_is_halted_ends_at_the_timeout) {
  test_support::Process host("csp_network_channel_host");
  NetworkChannel b("B", "127.0.0.1", std::stoi(host.read_until("port ").substr(5)), 200ms);
  host.send_signal(SIGSTOP);
  try {
    b.write(1);
    FAIL() << "it was answered";
  } catch (const ChannelLost& lost) {
    EXPECT_STREQ(lost.what(), "no answer: Connection timed out");
  }
}

TEST(csp_network_channel_network_channel, who_can_no_longer_send_still_hears_the_last_that_the_far_end_said) {
  Host host([](NetworkChannel& b) { b.poison(); });
  NetworkChannel b("B", "127.0.0.1", host.port());
  host.end();
  const auto send_until_it_fails = [&] {  // the far end's system answers the first line by a reset
    for (;;) b.disconnect();
  };
  EXPECT_THROW(send_until_it_fails(), Poisoned);
}

TEST(csp_network_channel_network_channel, a_far_end_that_is_silent_is_an_error_after_the_timeout) {
  boost::asio::io_context io;
  tcp::acceptor silent(io, {boost::asio::ip::address_v4::loopback(), 0});  // the system connects, nobody answers
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(NetworkChannel("B", "127.0.0.1", silent.local_endpoint().port(), 50ms), ChannelLost);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 50ms);
}

TEST(csp_network_channel_network_channel, a_stranger_who_says_nothing_keeps_the_host_for_its_timeout_only) {
  Host host(read_all);
  NetworkChannel::Stream silent("127.0.0.1", std::to_string(host.port()));
  NetworkChannel b("B", "127.0.0.1", host.port(), 20s);
  b.write(1);
  b.poison();
  EXPECT_EQ(host.end(), Poisoned().what());
}

TEST(csp_network_channel_network_channel, a_wrong_name_is_refused_and_the_host_goes_on) {
  Host host(read_all);
  EXPECT_THROW(NetworkChannel("C", "127.0.0.1", host.port()), ChannelLost);
  EXPECT_THROW(NetworkChannel("", "127.0.0.1", host.port()), ChannelLost);
  EXPECT_EQ(answer_to(host.port(), "GET / HTTP/1.1\r\n"), "no such channel");
  { NetworkChannel::Stream gone("127.0.0.1", std::to_string(host.port())); }
  NetworkChannel b("B", "127.0.0.1", host.port());
  b.write(1);
  b.poison();
  EXPECT_EQ(host.end(), Poisoned().what());
}

TEST(csp_network_channel_network_channel, what_is_not_a_value_ends_the_channel) {
  for (const std::string bytes : {"hello\n", "value \n", "value 1x\n", "value 99999999999999999999\n", "value\n"}) {
    Host host(read_all);
    answer_to(host.port(), "open B\n" + bytes);
    EXPECT_EQ(host.end(), "not a value: " + bytes.substr(0, bytes.size() - 1));
  }
}

TEST(csp_network_channel_network_channel, what_is_not_a_value_is_not_taken) {
  Host host(read_all);
  NetworkChannel::Stream stream("127.0.0.1", std::to_string(host.port()));
  stream.expires_after(10s);
  stream << "open B\nvalue 1x\n" << std::flush;
  std::string opened, more;
  std::getline(stream, opened);
  EXPECT_FALSE(std::getline(stream, more)) << more;
}

TEST(csp_network_channel_network_channel, a_line_without_end_is_an_error) {
  Host host(read_all);
  answer_to(host.port(), "open B\n" + std::string(100'000, 'x'));
  EXPECT_NE(host.end().find("no answer"), std::string::npos);
}

TEST(csp_network_channel_network_channel, half_a_line_is_no_line) {
  for (const std::string half : {"value 12", "poison", "bye"}) {
    Host host(read_all);
    NetworkChannel::Stream stream("127.0.0.1", std::to_string(host.port()));
    stream << "open B\n" << half << std::flush;
    stream.close();
    EXPECT_NE(host.end().find("no answer"), std::string::npos) << half;
  }
}

TEST(csp_network_channel_network_channel, what_the_far_end_says_is_shown_as_one_line_of_text) {
  Host host(read_all);
  answer_to(host.port(), "open B\n\x1b[2J\rvalue 1\n");
  EXPECT_EQ(host.end(), "not a value: ?[2J?value 1");
}

TEST(csp_network_channel, nothing_that_comes_instead_of_a_request_ends_the_host) {
  test_support::Process host("csp_network_channel_host");
  const int port = std::stoi(host.read_until("port ").substr(5));
  EXPECT_TRUE(host.is_idle());
  for (const std::string bytes : {"poison\n", "bye\n", "\n", "open B\r\n"}) {
    EXPECT_EQ(answer_to(port, bytes), "no such channel") << bytes;
  }
  for (const std::string half : {"", "poison", "open B"}) {
    NetworkChannel::Stream("127.0.0.1", std::to_string(port)) << half << std::flush;
  }
  // A line that is too long: the connection is closed, although no other client comes.
  NetworkChannel::Stream endless("127.0.0.1", std::to_string(port));
  endless.expires_after(20s);
  endless << std::string(1000, 'x') << std::flush;
  EXPECT_EQ(endless.get(), std::char_traits<char>::eof());
  EXPECT_NE(endless.error(), boost::system::error_code(boost::asio::error::timed_out)) << "it is still open";
  for (int i = 0; i < 20; ++i) {  // a reset instead of a good end, before or after the answer
    NetworkChannel::Stream stream("127.0.0.1", std::to_string(port));
    stream << "open B\n" << std::flush;
    stream.rdbuf()->socket().set_option(boost::asio::socket_base::linger(true, 0));
  }
  NetworkChannel b("B", "127.0.0.1", port);
  b.write(1);
  b.poison();
  EXPECT_EQ(host.wait().exit_code, 0) << host.wait().text();
  EXPECT_TRUE(host.wait().has_line("host: 1"));
}

TEST(csp_network_channel, who_does_not_say_otherwise_waits_five_seconds_for_a_silent_far_end) {
  test_support::Process host("csp_network_channel_host");
  boost::asio::io_context io;
  tcp::acceptor silent_host(io, {boost::asio::ip::address_v4::loopback(), 0});
  const int port = std::stoi(host.read_until("port ").substr(5));
  const cookbook::Stopwatch watch;
  NetworkChannel::Stream silent_client("127.0.0.1", std::to_string(port));
  silent_client.expires_after(25s);
  silent_client << "open B\n" << std::flush;
  std::string answer;
  std::getline(silent_client, answer);
  EXPECT_EQ(answer, "opened");
  EXPECT_THROW(NetworkChannel("B", "127.0.0.1", silent_host.local_endpoint().port()), ChannelLost);
  EXPECT_GE(watch.seconds(), 5);
  EXPECT_LT(watch.seconds(), 25);
  EXPECT_EQ(silent_client.get(), std::char_traits<char>::eof());  // the host has closed its end
  EXPECT_NE(silent_client.error(), boost::system::error_code(boost::asio::error::timed_out)) << "it is still open";
  EXPECT_GE(watch.seconds(), 5);
}

TEST(csp_network_channel, the_host_survives_random_lines) {
  const test_support::TemporaryDirectory folder;
  const std::string output = folder.path / "output";
  test_support::Process host("/bin/bash",
                             {"-c", "exec \"$0\" >\"$1\"", test_support::bin() + "/csp_network_channel_host", output});
  int port = 0;
  ASSERT_TRUE(test_support::eventually([&] {
    std::string word;
    return static_cast<bool>(std::ifstream(output) >> word >> port);
  }));
  RandomBytes random(5);
  for (int sent = 0; sent < 10'000;) {
    std::string bytes = random.one_in(4) ? "" : "open B\n";
    for (std::size_t lines = random.below(4); lines > 0; --lines) {
      bytes += random.pick({"value 1", "value -9223372036854775808", "value 1e5", "value", "bye", "taken", "open B",
                            "value 18446744073709551616", random.bytes(300), "poison"}) +
               '\n';
    }
    bytes = random.changed(bytes);
    if (bytes.find("open B\n") != std::string::npos && bytes.find("poison\n") != std::string::npos)
      continue;  // its end
    ASSERT_TRUE(send_and_leave(port, bytes, random.one_in(3))) << sent;
    ++sent;
  }
  NetworkChannel b("B", "127.0.0.1", port, 60s);
  b.write(1);
  b.poison();
  EXPECT_EQ(host.wait().exit_code, 0);
}

}  // namespace
