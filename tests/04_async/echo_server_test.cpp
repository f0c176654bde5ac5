// Echo server: the program seen from outside, and its server as blocking clients see it.

#include "04_async/echo_server/echo.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/accepted.hpp"
#include "support/client.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::Client;
using test_support::run;

/// The server in a thread of its own.
class Server {
 public:
  ~Server() {
    asio::post(loop_, [this] { loop_.stop(); });
  }

 private:
  asio::io_context loop_{1};
  tcp::acceptor acceptor_{loop_, {asio::ip::address_v4::loopback(), 0}};

 public:
  const unsigned short port = acceptor_.local_endpoint().port();

 private:
  std::jthread running_{[this] {
    asio::co_spawn(loop_, serve(acceptor_), rethrow);
    loop_.run();
  }};
};

bool echoes(Client& client, const std::string& message) {
  return client.send(message) && client.receive(message.size()) == message;
}

TEST(echo_server, every_form_answers_any_number_of_clients_and_messages) {
  for (const auto& [clients, messages] : {std::pair(1, 1), {1, 3}, {2, 1}, {2, 3}, {50, 1}, {400, 3}}) {
    const auto result =
        run("echo_server", {"--clients", std::to_string(clients), "--messages", std::to_string(messages)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::string n = std::to_string(clients), all = std::to_string(messages * clients);
    EXPECT_TRUE(
        result.has_line("ok    answers that are equal to their message: [" + all + ", " + all + ", " + all + "]"))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    clients served at the same time: [1, " + n + ", " + n + "]")) << result.text();
    // The threads of each server while all clients are there.
    EXPECT_EQ(result.captures("^one after another +(\\d+) "), std::vector<std::string>{"1"}) << result.text();
    EXPECT_EQ(result.captures("^a thread per client +(\\d+) "), std::vector{std::to_string(clients + 1)});
    EXPECT_EQ(result.captures("^a coroutine per client +(\\d+) "), std::vector<std::string>{"1"}) << result.text();
  }
}

TEST(echo_server, each_client_pauses_for_a_millisecond_between_its_messages) {
  const auto pauses = std::chrono::duration<double, std::milli>(10 * 1ms);  // of each client
  double quickest = 1e9;
  for (int attempt = 0; attempt < 5 && quickest > 900; ++attempt) {
    const auto result = run("echo_server", {"--clients", "10", "--messages", "11"});
    std::vector<double> ms;
    for (const std::string& time : result.captures(" (\\d+\\.\\d) ms$")) ms.push_back(std::stod(time));
    ASSERT_EQ(ms.size(), 3U) << result.text();
    EXPECT_EQ(result.captures(" (\\d+) ms +\\d+\\.\\d ms$"), (std::vector<std::string>{"100", "10", "10"}));
    EXPECT_GE(ms[0], 10 * pauses.count()) << "one client after another: a hundred pauses\n" << result.text();
    for (const double time : ms) EXPECT_GE(time, pauses.count()) << result.text();
    quickest = std::min(quickest, ms[0]);
  }
  EXPECT_LT(quickest, 900) << "a pause with its message takes nine milliseconds";
}

TEST(echo_server, small_answers_are_sent_at_once) {
  const Server server;
  Client client(server.port);
  ASSERT_TRUE(echoes(client, "hello"));  // so the server has its end of the connection
  const auto ends = test_support::accepted_sockets(server.port);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_NE(test_support::option_of(ends[0], IPPROTO_TCP, TCP_NODELAY), 0);
}

TEST(echo_server, without_file_descriptors_it_fails_and_says_why) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UndefinedBehaviorSanitizer opens a pipe to check a type, and cannot when all descriptors are in use";
#endif
  for (const unsigned files : {16U, 40U, 64U, 90U}) {
    const auto result = run("echo_server", {"--clients", "100", "--messages", "1"}, {.limit = 10s, .max_files = files});
    EXPECT_FALSE(result.timed_out) << result.text();
    EXPECT_EQ(result.exit_code, 3) << result.text();
    EXPECT_FALSE(result.err.empty());  // one line, or two if two threads fail at the same time
    EXPECT_THAT(result.err, testing::Each(testing::HasSubstr("Too many open files"))) << result.text();
  }
}

TEST(echo_server, a_server_that_cannot_accept_says_so_instead_of_serving_nobody) {
  asio::io_context loop(1);
  tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});
  asio::co_spawn(loop, serve(acceptor), rethrow);
  rlimit usual = {};
  getrlimit(RLIMIT_NOFILE, &usual);
  Client client(acceptor.local_endpoint().port());
  const rlimit none = {3, usual.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  EXPECT_THROW(loop.run(), boost::system::system_error);
  setrlimit(RLIMIT_NOFILE, &usual);
}

TEST(echo_server, serving_ends_without_an_error_when_the_acceptor_is_closed) {
  asio::io_context loop(1);
  tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});
  asio::co_spawn(loop, serve(acceptor), rethrow);
  loop.poll();
  acceptor.close();
  loop.restart();
  loop.run();
}

TEST(echo_server, a_thousand_clients_are_served_in_any_order) {
  const rlimit files = {4096, 4096};
  setrlimit(RLIMIT_NOFILE, &files);
  const Server server;
  std::vector<Client> clients;
  for (int i = 0; i < 1000; ++i) clients.emplace_back(server.port);
  for (Client& client : clients) client.send("hello");
  for (std::size_t i = clients.size(); i-- > 0;) EXPECT_EQ(clients[i].receive(5), "hello");
}

TEST(echo_server, bytes_of_all_values_come_back_whatever_the_pieces) {
  const Server server;
  Client client(server.port);
  std::string message;
  for (int i = 0; i < 60'000; ++i) message += static_cast<char>(i * 7 % 256);
  EXPECT_TRUE(echoes(client, message));
  for (const char byte : message.substr(0, 300)) EXPECT_TRUE(echoes(client, {byte}));
}

TEST(echo_server, a_client_that_ends_its_side_gets_the_rest_and_the_end) {
  const Server server;
  Client client(server.port);
  client.send("hello");
  client.end_stream();
  EXPECT_EQ(client.receive(100), "hello");
  EXPECT_TRUE(client.is_ended());
}

TEST(echo_server, clients_that_break_off_or_never_read_hold_up_nobody) {
  const Server server;
  Client never_reads(server.port);
  never_reads.flood();
  for (int i = 0; i < 100; ++i) {
    Client resetting(server.port);
    resetting.send("hello");
    resetting.reset();
  }
  Client client(server.port);
  EXPECT_TRUE(echoes(client, "still there?"));
}

TEST(echo_server, a_client_that_reads_late_gets_all_its_own_bytes) {
  const Server server;
  Client late(server.port);
  const std::size_t flooded = late.flood();  // now the server waits, with a piece of it that is not sent yet
  Client other(server.port);
  EXPECT_TRUE(echoes(other, std::string(4096, 'b')));
  late.end_stream();
  const std::string all = late.receive(1 << 26);
  EXPECT_GT(flooded, 4096U);
  EXPECT_EQ(all.size(), flooded);
  EXPECT_EQ(all.find_first_not_of('!'), std::string::npos);
}

TEST(echo_server_bench, without_file_descriptors_it_fails_and_does_not_hang) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UndefinedBehaviorSanitizer opens a pipe to check a type, and cannot when all descriptors are in use";
#endif
  for (unsigned files = 12; files < 24; ++files) {  // one is missing for a client, or for one of the servers
    const auto result =
        run("echo_server_bench", {"--messages", "128", "--rounds", "1"}, {.limit = 10s, .max_files = files});
    EXPECT_FALSE(result.timed_out) << result.text();
    EXPECT_EQ(result.exit_code, 3) << result.text();
  }
}

TEST(echo_server, ctrl_c_ends_it_at_once) {
  const auto result = run("echo_server", {"--messages", "100000"}, {.interrupt_after_ms = 50});
  EXPECT_EQ(result.exit_code, -2);
  EXPECT_EQ(result.leaked_processes, 0);
}

}  // namespace
