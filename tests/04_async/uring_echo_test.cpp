// The program's output, and both servers as blocking clients see them.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#include "04_async/uring_echo/epoll_server.hpp"
#include "04_async/uring_echo/load.hpp"
#include "04_async/uring_echo/ring.hpp"
#include "04_async/uring_echo/uring_server.hpp"
#include "support/client.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using test_support::Client;
using test_support::run;

bool kernel_refuses() {
  try {
    const Ring ring;
    return false;
  } catch (const std::system_error&) {
    return true;
  }
}

#define SKIP_WITHOUT_IO_URING() \
  if (kernel_refuses()) GTEST_SKIP() << "the kernel refuses io_uring"

/// A server in a thread of its own, which ends when so many clients have come and gone.
struct Server {
  explicit Server(int clients) : server(listener.descriptor, clients), running([this] { server.run(); }) {}
  Listener listener;
  UringServer server;
  std::jthread running;
};

bool echoes(Client& client, const std::string& message) {
  return client.send(message) && client.receive(message.size()) == message;
}

TEST(uring_echo, answers_everything_for_any_number_of_clients) {
  SKIP_WITHOUT_IO_URING();
  for (const int clients : {1, 2, 300}) {
    const auto result = run("uring_echo", {"--clients", std::to_string(clients), "--messages", "600"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::string all = clients == 1 ? "[600, 600]" : "[600, 600, 600]";
    EXPECT_TRUE(result.has_line("ok    right answers on epoll: " + all)) << result.text();
    EXPECT_TRUE(result.has_line("ok    right answers on io_uring: " + all)) << result.text();
  }
}

TEST(uring_echo, one_client_takes_three_calls_or_two_and_for_many_a_call_hands_over_many_operations) {
  SKIP_WITHOUT_IO_URING();
  const auto result = run("uring_echo", {"--clients", "50", "--messages", "5000"});
  // One after another, each message needs an epoll_wait, a recv and a send, or two calls that hand over one operation.
  EXPECT_EQ(result.lines_with("^1 +3\\.00 +2\\.00 +1\\.0$").size(), 1U) << result.text();
  const auto epoll = result.captures("^50 +(\\d+\\.\\d\\d) ");
  const auto uring = result.captures("^50 .* (\\d+\\.\\d\\d) +\\d+\\.\\d$");
  const auto operations = result.captures("^50 .* (\\d+\\.\\d)$");
  ASSERT_TRUE(epoll.size() == 1U && uring.size() == 1U && operations.size() == 1U) << result.text();
  EXPECT_GE(std::stod(epoll[0]), 2.0);  // a recv and a send
  EXPECT_LT(std::stod(epoll[0]), 3.1);
  EXPECT_LT(std::stod(uring[0]), 2.0);
  EXPECT_GT(std::stod(operations[0]), 1.0);
}

/// Lets two clients exchange five messages each with a server that answers to each by `answer(message)`; notes the
/// messages.
template <typename Answer>
Load exchange_with(Answer answer, std::multiset<std::string>& messages) {
  const Listener listener;
  std::jthread server([&] {
    std::vector<int> clients;
    for (int i = 0; i < 2; ++i) clients.push_back(check(accept(listener.descriptor, nullptr, nullptr), "accept"));
    for (int i = 0; i < 5; ++i) {
      for (const int client : clients) {
        std::string message(64, '-');
        EXPECT_EQ(recv(client, message.data(), message.size(), MSG_WAITALL), 64);
        messages.insert(message);
        const std::string text = answer(message);
        EXPECT_EQ(send(client, text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
      }
    }
    for (const int client : clients) close(client);
  });
  return exchange(listener.port, 2, 5);
}

TEST(uring_echo_load, no_two_messages_are_alike_and_an_answer_that_is_not_its_message_is_not_right) {
  std::multiset<std::string> sent, ignored;
  EXPECT_EQ(exchange_with([](const std::string& message) { return message; }, sent).right_answers, 10);
  EXPECT_EQ(sent.size(), 10U);
  EXPECT_EQ(std::set(sent.begin(), sent.end()).size(), 10U);
  const std::string one = *sent.begin();
  EXPECT_EQ(exchange_with([&](const std::string&) { return one; }, ignored).right_answers, 1);
  EXPECT_EQ(exchange_with([](std::string message) { return message.back() = '?', message; }, ignored).right_answers, 0);
}

/// Lets a server serve one client with so many messages, one after another.
template <typename Server>
void serve_one(Server& server, const Listener& listener, int messages) {
  std::jthread running([&] { server.run(); });
  Client client(listener.port);
  for (int i = 0; i < messages; ++i) EXPECT_TRUE(echoes(client, "hello"));
}

TEST(uring_echo_epoll_server, counts_each_call_that_serves_a_client) {
  for (const int messages : {0, 1, 10}) {
    for (const bool own_buffers : {false, true}) {
      for (const int more_calls : {0, 2}) {
        const Listener listener;
        EpollServer server(listener.descriptor, 1, own_buffers, more_calls);
        serve_one(server, listener, messages);
        // epoll_ctl for the listener; epoll_wait, accept4 and epoll_ctl for the client, epoll_ctl since no other is to
        // come; epoll_wait, recv and send for each message; epoll_wait and recv for the end.
        EXPECT_EQ(server.system_calls(), 1 + 4 + (3 + more_calls) * messages + 2);
      }
    }
  }
}

TEST(uring_echo_server, counts_each_call_and_each_operation_that_serves_a_client) {
  SKIP_WITHOUT_IO_URING();
  for (const int messages : {0, 1, 10}) {
    const Listener listener;
    UringServer server(listener.descriptor, 1);
    serve_one(server, listener, messages);
    const int all = 1 + 2 * messages + 1;  // accept; receive and send for each; the end
    EXPECT_EQ(server.system_calls(), all);
    EXPECT_EQ(server.operations(), all);
  }
}

TEST(uring_echo_server, counts_the_operations_of_many_clients_whatever_the_calls) {
  SKIP_WITHOUT_IO_URING();
  constexpr int clients = 50, messages = 20;
  const Listener listener;
  UringServer server(listener.descriptor, clients);
  std::jthread running([&] { server.run(); });
  EXPECT_EQ(exchange(listener.port, clients, messages).right_answers, clients * messages);
  running.join();
  EXPECT_EQ(server.operations(), clients * (1 + 2 * messages + 1));
  EXPECT_LT(server.system_calls(), server.operations());
}

TEST(uring_echo_epoll_server, a_client_that_never_reads_is_closed_and_holds_up_nobody) {
  test_support::with_watchdog([] {
    const Listener listener;
    EpollServer server(listener.descriptor, 2);
    std::jthread running([&] { server.run(); });
    Client never_reads(listener.port);
    never_reads.flood();
    {
      Client client(listener.port);
      EXPECT_TRUE(echoes(client, "still there?"));
    }
    running.join();  // ends though never_reads is still there: the server has closed it
  });
}

TEST(uring_echo_server, bytes_of_all_values_come_back_whatever_the_pieces) {
  SKIP_WITHOUT_IO_URING();
  Server server(1);
  Client client(server.listener.port);
  std::string message;
  for (int i = 0; i < 60'000; ++i) message += static_cast<char>(i * 7 % 256);
  EXPECT_TRUE(echoes(client, message));
  for (const char byte : message.substr(0, 300)) EXPECT_TRUE(echoes(client, {byte}));
}

TEST(uring_echo_server, a_slow_reader_gets_all_of_a_long_message) {
  SKIP_WITHOUT_IO_URING();
  Server server(1);
  Client client(server.listener.port);
  std::string message;
  for (int i = 0; i < 5'000'000; ++i) message += static_cast<char>(i * 7 % 251);
  std::jthread sender([&] { client.send(message); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until the buffers are full, and sends are cut short
  EXPECT_EQ(client.receive(message.size()), message);
}

TEST(uring_echo_server, a_client_that_ends_its_side_gets_the_rest_and_the_end) {
  SKIP_WITHOUT_IO_URING();
  Server server(1);
  Client client(server.listener.port);
  client.send("hello");
  client.end_stream();
  EXPECT_EQ(client.receive(100), "hello");
  EXPECT_TRUE(client.is_ended());
}

TEST(uring_echo_server, clients_that_break_off_or_never_read_hold_up_nobody) {
  SKIP_WITHOUT_IO_URING();
  Server server(102);
  Client never_reads(server.listener.port);
  never_reads.flood();
  for (int i = 0; i < 100; ++i) {
    Client resetting(server.listener.port);
    resetting.send("hello");
    resetting.reset();
  }
  Client client(server.listener.port);
  EXPECT_TRUE(echoes(client, "still there?"));
}

TEST(uring_echo_server, more_clients_than_the_queue_has_entries_are_served_at_the_same_time) {
  SKIP_WITHOUT_IO_URING();
  Server server(400);
  std::vector<Client> clients;
  for (int i = 0; i < 400; ++i) clients.emplace_back(server.listener.port);
  for (Client& client : clients) client.send("hello");
  for (std::size_t i = clients.size(); i-- > 0;) EXPECT_EQ(clients[i].receive(5), "hello");
}

TEST(uring_echo_server, it_ends_with_its_last_client_though_one_more_has_come) {
  SKIP_WITHOUT_IO_URING();
  test_support::with_watchdog([] {
    Server server(1);
    std::optional<Client> first(std::in_place, server.listener.port);
    EXPECT_TRUE(echoes(*first, "hello"));
    Client one_more(server.listener.port);  // the system has accepted it, the server has not
    EXPECT_TRUE(one_more.send("hello"));
    first.reset();
    server.running.join();
  });
}

TEST(uring_echo_ring, a_kernel_that_takes_nothing_any_more_is_an_error) {
  SKIP_WITHOUT_IO_URING();
  Ring ring;
  EXPECT_NO_THROW(ring.submit(0));
  int queue = -1;  // the descriptor of its queues
  for (const auto& descriptor : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(descriptor.path(), gone) == "anon_inode:[io_uring]") {
      queue = std::stoi(descriptor.path().filename());
    }
  }
  ASSERT_GE(queue, 0);
  const int other = open("/dev/null", O_RDWR | O_CLOEXEC);
  ASSERT_EQ(dup3(other, queue, O_CLOEXEC), queue);
  close(other);
  io_uring_prep_nop(ring.entry());
  EXPECT_THROW(ring.submit(0), std::system_error);
}

TEST(uring_echo_server, a_system_that_accepts_nobody_is_an_error) {
  SKIP_WITHOUT_IO_URING();
  const Listener listener;
  shutdown(listener.descriptor, SHUT_RDWR);
  UringServer server(listener.descriptor, 1);
  EXPECT_THROW(server.run(), std::system_error);
}

}  // namespace
