// Echo server: the program seen from outside, and its server driven from outside.

#include "../../chapters/04_async/echo_server/clients.hpp"
#include "04_async/serving.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// The tests ask whether results are right, not how fast anything is: one measured round will do.
const test_support::Setting once = {.environment = {{"COOKBOOK_ROUNDS", "1"}}};
using test_support::Serving;

bool echoes(Client& client, const std::string& message) {
  return client.send(message) && client.receive(message.size()) == message;
}

/// Whether the server still lets clients in.
bool lets_in(unsigned short port) {
  try {
    Client client(port);
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

TEST(echo_server, any_number_of_clients_at_once_is_answered) {
  for (const std::string clients : {"1", "2", "1500"}) {
    const auto result = run("echo_server", {"--clients", clients}, once);
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    clients at once: " + clients)) << result.text();
    EXPECT_TRUE(result.has_line("ok    clients answered: " + clients)) << result.text();
  }
}

TEST(echo_server, copes_with_odd_clients_and_is_compared) {
  const auto result = run("echo_server", {}, once);
  for (const std::string what :
       {"bytes of all values come back", "a half-closed client gets its rest and the end",
        "a client that sends byte by byte is served", "after 100 resets the server lives",
        "a silent client is closed after the timeout", "one client too many is rejected",
        "what was sent before the end is answered", "then all connections end", "all messages under load came back"}) {
    EXPECT_TRUE(result.has_line("ok    " + what + ": yes")) << what << result.text();
  }
  EXPECT_TRUE(result.has_line("ok    clients that timed out, with one that never reads: 2")) << result.text();
  EXPECT_TRUE(result.has_line("ok    clients that the plain server answers: 100")) << result.text();
  EXPECT_TRUE(result.has_line("ok    clients at once: 1000")) << result.text();
  EXPECT_EQ(result.lines_with("^(plain|sturdy) server on Asio .* /s .* x$").size(), 6U) << result.text();
}

TEST(echo_server, both_signals_drain_it) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Serving server("echo_server", {"--serve"});
    Client busy(server.port), idle(server.port);
    const std::string message(30'000, 'x');
    ASSERT_TRUE(echoes(busy, "there?") && echoes(idle, "there?"));
    busy.send(message);
    server.send_signal(signal);
    EXPECT_EQ(busy.receive(message.size()), message);
    EXPECT_TRUE(busy.is_ended());
    EXPECT_TRUE(idle.is_ended());
    EXPECT_EQ(server.read_line(), "drained: 2 served, 0 timed out, 0 rejected");
    EXPECT_EQ(server.exit_code(), 0);
  }
}

TEST(echo_server, draining_ends_with_the_time_out_even_if_a_client_never_reads) {
  Serving server("echo_server", {"--serve", "--timeout-ms", "100"});
  Client stuck(server.port);
  stuck.flood();
  server.send_signal(SIGTERM);
  EXPECT_EQ(server.read_line(), "drained: 1 served, 1 timed out, 0 rejected");
  EXPECT_EQ(server.exit_code(), 0);
}

TEST(echo_server, a_second_signal_does_not_wait_for_clients) {
  Serving server("echo_server", {"--serve", "--timeout-ms", "86400000"});
  Client stuck(server.port);
  ASSERT_TRUE(echoes(stuck, "there?"));
  stuck.flood();
  server.send_signal(SIGTERM);
  while (lets_in(server.port)) usleep(1000);  // two signals at once may count as one
  server.send_signal(SIGTERM);
  EXPECT_EQ(server.exit_code(), 0);
}

TEST(echo_server, silent_and_half_open_clients_are_closed_after_the_timeout) {
  Serving server("echo_server", {"--serve", "--timeout-ms", "500"});
  Client brief(server.port);
  EXPECT_TRUE(echoes(brief, "hello"));
  Client silent(server.port), halved(server.port);
  halved.end_stream();  // the server ends this one at once
  EXPECT_TRUE(silent.is_ended());
  EXPECT_TRUE(halved.is_ended());
  EXPECT_TRUE(brief.is_ended());
  server.send_signal(SIGTERM);
  EXPECT_EQ(server.read_line(), "drained: 3 served, 2 timed out, 0 rejected");
}

TEST(echo_server, one_client_too_many_is_rejected) {
  Serving server("echo_server", {"--serve", "--max-clients", "3"});
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(server.port);
    ASSERT_TRUE(echoes(clients.back(), "there?"));
  }
  EXPECT_TRUE(Client(server.port).is_ended());
  for (Client& client : clients) EXPECT_TRUE(echoes(client, "still there?"));
}

TEST(echo_server, a_thousand_clients_that_never_read_cost_it_little_memory) {
  Serving server("echo_server", {"--serve"});
  const rlimit files = {4096, 4096};
  setrlimit(RLIMIT_NOFILE, &files);
  const long before = server.resident();
  std::vector<Client> clients;
  for (int i = 0; i < 1000; ++i) {
    clients.emplace_back(server.port);
    ASSERT_TRUE(echoes(clients.back(), "there?"));
  }
  for (int i = 0; i < 3; ++i) clients[static_cast<std::size_t>(i)].flood();
  EXPECT_TRUE(echoes(clients.back(), "there?"));
  EXPECT_LT(server.resident() - before, 1000 * 16 * test_support::memory_factor);
}

TEST(echo_server, without_file_descriptors_new_clients_wait_and_are_served_later) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UndefinedBehaviorSanitizer opens a pipe to check a type, and cannot when all descriptors are in use";
#endif
  Serving server("echo_server", {"--serve"}, 24);
  std::vector<Client> clients;
  for (int i = 0; i < 40; ++i) {
    clients.emplace_back(server.port);
    clients.back().send("x");
  }
  int answered = 0;
  while (!clients.empty()) {
    answered += clients.front().receive(1) == "x";
    clients.erase(clients.begin());  // makes room for another
  }
  EXPECT_EQ(answered, 40);
}

TEST(echo_server, a_port_in_use_is_refused) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(listen(listener, 1), 0);  // not bound: the system picks a free port
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto result = run("echo_server", {"--serve", "--port", std::to_string(ntohs(address.sin_port))}, once);
  close(listener);
  EXPECT_EQ(result.exit_code, 3) << result.text();
  EXPECT_EQ(result.err.size(), 1U) << result.text();
}

TEST(echo_server, ctrl_c_ends_the_self_test_at_once) {
  const auto result = run("echo_server", {}, {.interrupt_after_ms = 50});
  EXPECT_EQ(result.exit_code, -2);
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace
