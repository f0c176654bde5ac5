// Robust server: every kind of client that it must cope with.

#include "04_async/robust_server/robust_server.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/accepted.hpp"
#include "support/client.hpp"
#include "support/eventually.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::Client;
using test_support::run;
using test_support::ServerProcess;

bool echoes(Client& client, const std::string& message) {
  return client.send(message) && client.receive(message.size()) == message;
}

/// Runs a server and the coroutine of a client in one thread, so that a busy machine makes both of them slow. Returns
/// how many clients have timed out.
template <typename Visit>
int timed_out(std::chrono::milliseconds timeout, Visit visit) {
  asio::io_context loop(1);
  RobustServer server(loop, timeout, 5);
  tcp::socket client(loop);
  client.connect(server.endpoint());
  asio::co_spawn(loop, visit(client), [&](std::exception_ptr error) {
    loop.stop();
    if (error) std::rethrow_exception(error);
  });
  loop.run();
  return server.timed_out;
}

/// Sends a byte, and returns how many come back.
asio::awaitable<std::size_t> echoed(tcp::socket& client) {
  char byte = 'x';
  co_await asio::async_write(client, asio::buffer(&byte, 1), with_error);
  const auto [error, count] = co_await asio::async_read(client, asio::buffer(&byte, 1), with_error);
  co_return count;
}

/// Waits until the server has closed the connection.
asio::awaitable<void> expect_end(tcp::socket& client) {
  char byte = 0;
  const auto [error, count] = co_await client.async_read_some(asio::buffer(&byte, 1), with_error);
  EXPECT_EQ(error, asio::error::eof);
}

TEST(robust_server, the_program_holds_whatever_the_options) {
  for (const std::string max_clients : {"3", "400"}) {
    const auto result = run("robust_server", {"--max-clients", max_clients, "--timeout-ms", "100"});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    clients that the full server serves: " + max_clients)) << result.text();
    EXPECT_EQ(result.lines_with("^ok    ").size(), 4U) << result.text();
    EXPECT_EQ(result.captures("^one too many +comes when (\\d+) are there +is closed after \\d+ us$"),
              std::vector<std::string>{max_clients})
        << result.text();
    EXPECT_EQ(result.lines_with("^late +comes after stop\\(\\) +Connection refused$").size(), 1U) << result.text();
    EXPECT_EQ(result.lines_with("^busy +has answers .* reads [1-9]\\d* KiB, then End of file$").size(), 1U);
    EXPECT_EQ(result.lines_with("^idle +has nothing .* End of file$").size(), 1U) << result.text();
  }
}

TEST(robust_server, the_slow_client_of_the_program_takes_two_timeouts_and_not_three_and_the_silent_one_has_one) {
  double quickest = 1e9, silent = 1e9;
  // On a busy machine it may take longer.
  for (int attempt = 0; attempt < 5 && (quickest >= 1'800 || silent >= 870); ++attempt) {
    const auto result = run("robust_server", {"--timeout-ms", "600"});
    const auto ms = result.captures("^slow +sends six bytes in (\\d+) ms +gets back: abcdef$");
    ASSERT_EQ(ms.size(), 1U) << result.text();
    EXPECT_GE(std::stod(ms[0]), 1'200) << "timers are never early\n" << result.text();
    const auto silent_ms = result.captures("^silent +sends nothing +is closed after (\\d+) ms$");
    ASSERT_EQ(silent_ms.size(), 1U) << result.text();
    EXPECT_GE(std::stod(silent_ms[0]), 600) << result.text();
    quickest = std::min(quickest, std::stod(ms[0]));
    silent = std::min(silent, std::stod(silent_ms[0]));
  }
  EXPECT_LT(quickest, 1'800);
  EXPECT_LT(silent, 870) << "closed after five quarters of 150 ms, not after six";
}

TEST(robust_server, silent_clients_are_closed_after_the_timeout_and_not_before) {
  for (const bool speaks_first : {false, true}) {
    auto last = std::chrono::steady_clock::now();
    const int closed = timed_out(200ms, [&](tcp::socket& client) -> asio::awaitable<void> {
      if (speaks_first) {
        co_await asio::steady_timer(client.get_executor(), 100ms).async_wait(asio::deferred);
        last = std::chrono::steady_clock::now();
        EXPECT_EQ(co_await echoed(client), 1U);
      }
      co_await expect_end(client);
      EXPECT_GE(std::chrono::steady_clock::now() - last, 200ms);
    });
    EXPECT_EQ(closed, 1);
  }
}

TEST(robust_server, a_timeout_that_is_no_multiple_of_four_milliseconds_is_kept) {
  const auto begin = std::chrono::steady_clock::now();
  const int closed = timed_out(3ms, expect_end);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 3ms);
  EXPECT_EQ(closed, 1);
}

TEST(robust_server, a_client_at_three_quarters_of_the_timeout_is_served) {
  const int closed = timed_out(200ms, [&](tcp::socket& client) -> asio::awaitable<void> {
    for (int i = 0; i < 4; ++i) {
      co_await asio::steady_timer(client.get_executor(), 150ms).async_wait(asio::deferred);
      EXPECT_EQ(co_await echoed(client), 1U);
    }
  });
  EXPECT_EQ(closed, 0);
}

TEST(robust_server, a_client_that_ends_its_side_gets_the_rest_and_the_end) {
  ServerProcess server("robust_server", {"--serve", "--timeout-ms", "60000"});
  EXPECT_TRUE(server.is_idle());
  Client client(server.port);
  client.send("bye");
  client.end_stream();
  EXPECT_EQ(client.receive(100), "bye");
  EXPECT_TRUE(client.is_ended());
}

TEST(robust_server, a_slow_reader_that_moves_is_not_timed_out) {
  ServerProcess server("robust_server", {"--serve", "--timeout-ms", "1000"});
  Client slow(server.port);
  std::string message, back;
  for (int i = 0; i < 500'000; ++i) message += static_cast<char>(i * 7 % 251);
  std::jthread sender([&] { slow.send(message); });
  while (back.size() < message.size()) {  // for longer than the timeout in all
    std::this_thread::sleep_for(50ms);
    const std::string part = slow.receive(std::min<std::size_t>(20'000, message.size() - back.size()));
    if (part.empty()) break;
    back += part;
  }
  EXPECT_EQ(back.size(), message.size());
  EXPECT_TRUE(back == message);
}

TEST(robust_server, what_is_read_is_progress_and_so_is_an_answer_that_the_system_has_taken_over) {
  const int closed = timed_out(2s, [](tcp::socket& client) -> asio::awaitable<void> {
    asio::steady_timer timer(client.get_executor());
    EXPECT_EQ(co_await echoed(client), 1U);
    const auto ends = test_support::accepted_sockets(client.remote_endpoint().port());
    EXPECT_EQ(ends.size(), 1U);
    const int least = 1, enough = 1 << 16;  // the system makes the first the least that it allows
    check(setsockopt(ends.at(0), SOL_SOCKET, SO_SNDBUF, &least, sizeof least), "setsockopt");
    check(setsockopt(client.native_handle(), SOL_SOCKET, SO_RCVBUF, &least, sizeof least), "setsockopt");
    const std::string block(4096, '!');
    std::size_t sent = 0;
    int unread = 0, unsent = 0;
    do {  // until the server has read all of it, and the system has not taken over all of the answer
      timer.expires_after(1600ms);  // what is read after it is progress, too
      co_await timer.async_wait(asio::deferred);
      co_await asio::async_write(client, asio::buffer(block), asio::deferred);
      sent += block.size();
      timer.expires_after(100ms);  // meanwhile what has arrived is acknowledged
      co_await timer.async_wait(asio::deferred);
      check(ioctl(ends[0], FIONREAD, &unread), "ioctl");
      check(ioctl(ends[0], SIOCOUTQ, &unsent), "ioctl");
    } while (unsent + client.available() >= sent && unread == 0);
    EXPECT_EQ(unread, 0);
    timer.expires_after(1s);
    co_await timer.async_wait(asio::deferred);
    check(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &enough, sizeof enough), "setsockopt");  // now it takes all
    timer.expires_after(1600ms);
    co_await timer.async_wait(asio::deferred);
  });
  EXPECT_EQ(closed, 0);
}

TEST(robust_server, a_client_that_never_reads_is_closed_and_costs_little) {
  ServerProcess server("robust_server", {"--serve", "--timeout-ms", "1000", "--max-clients", "400"});
  const long before = server.resident();
  Client never_reads(server.port);
  never_reads.flood();
  EXPECT_LT(server.resident() - before, 1000 * test_support::memory_factor);
  Client other(server.port);
  EXPECT_TRUE(echoes(other, "there?"));
  while (never_reads.send("x")) continue;  // waits until the server has closed it
}

/// How many bytes a client with small buffers of its own can send that never reads, until nothing moves for 200 ms.
asio::awaitable<std::size_t> taken_from(tcp::socket& client) {
  const std::string block(1 << 14, '!');
  asio::steady_timer stuck(client.get_executor());
  for (std::size_t bytes = 0;;) {
    stuck.expires_after(200ms);
    stuck.async_wait([&](error_code moved) {
      if (!moved) client.cancel();
    });
    const auto [error, sent] = co_await client.async_write_some(asio::buffer(block), with_error);
    bytes += sent;
    if (error) co_return bytes;
  }
}

TEST(robust_server, a_client_that_reads_a_little_now_and_then_is_closed_since_the_system_takes_over_nothing_more) {
  const int closed = timed_out(1s, [](tcp::socket& client) -> asio::awaitable<void> {
    co_await taken_from(client);  // nothing moves any more
    asio::steady_timer timer(client.get_executor());
    std::array<char, 100> some;
    for (int i = 0; i < 100; ++i) {  // for two timeouts
      timer.expires_after(20ms);
      co_await timer.async_wait(asio::deferred);
      co_await client.async_read_some(asio::buffer(some), with_error);
    }
  });
  EXPECT_EQ(closed, 1);
}

TEST(robust_server, the_systems_buffers_for_a_client_do_not_grow_to_megabytes) {
  asio::io_context loop(1);
  RobustServer server(loop, 1h, 5);
  tcp::socket client(loop, tcp::v4());
  client.set_option(tcp::socket::send_buffer_size(1 << 14));
  client.set_option(tcp::socket::receive_buffer_size(1 << 14));
  client.connect(server.endpoint());
  std::size_t bytes = 0;
  asio::co_spawn(loop, taken_from(client), [&](const std::exception_ptr&, std::size_t taken) {
    bytes = taken;
    loop.stop();
  });
  loop.run();
  EXPECT_GT(bytes, std::size_t{1} << 16);
  EXPECT_LT(bytes, std::size_t{1} << 19);
}

TEST(robust_server, the_systems_buffers_for_a_client_are_those_of_a_socket_that_asks_for_64_kib) {
  timed_out(1h, [](tcp::socket& client) -> asio::awaitable<void> {
    EXPECT_EQ(co_await echoed(client), 1U);  // so the server has its end of the connection
    tcp::socket asks(client.get_executor(), tcp::v4());
    asks.set_option(tcp::socket::receive_buffer_size(1 << 16));
    asks.set_option(tcp::socket::send_buffer_size(1 << 16));
    const auto ends = test_support::accepted_sockets(client.remote_endpoint().port());
    EXPECT_EQ(ends.size(), 1U);
    for (const int end : ends) {
      EXPECT_NE(test_support::option_of(end, IPPROTO_TCP, TCP_NODELAY), 0) << "small messages are sent at once";
      for (const int option : {SO_RCVBUF, SO_SNDBUF}) {
        EXPECT_EQ(test_support::option_of(end, SOL_SOCKET, option),
                  test_support::option_of(asks.native_handle(), SOL_SOCKET, option));
      }
    }
  });
}

TEST(robust_server, one_client_too_many_is_rejected_and_the_others_are_served) {
  ServerProcess server("robust_server", {"--serve", "--timeout-ms", "60000", "--max-clients", "5"});
  std::vector<Client> clients;
  for (int i = 0; i < 5; ++i) {
    clients.emplace_back(server.port);
    ASSERT_TRUE(echoes(clients.back(), "there?"));
  }
  EXPECT_TRUE(Client(server.port).is_ended());
  for (Client& client : clients) EXPECT_TRUE(echoes(client, "still there?"));
  clients.pop_back();
  Client next(server.port);
  while (!echoes(next, "there?")) next = Client(server.port);  // until the server has noticed that one has gone
}

TEST(robust_server, resets_do_not_hurt_it) {
  ServerProcess server("robust_server", {"--serve"});
  for (int i = 0; i < 100; ++i) {
    Client client(server.port);
    client.send("hello");
    client.reset();
  }
  Client client(server.port);
  while (!echoes(client, "there?")) client = Client(server.port);  // until the server has noticed the resets
}

/// Waits until nobody is accepted any more.
void wait_until_refused(unsigned short port) {
  EXPECT_TRUE(test_support::eventually([port] {
    try {
      return Client(port).is_ended() && false;
    } catch (const std::system_error&) {
      return true;
    }
  }));
}

TEST(robust_server, a_signal_ends_it_in_good_order) {
  for (const int signal : {SIGTERM, SIGINT}) {
    ServerProcess server("robust_server", {"--serve", "--timeout-ms", "86400000"});
    Client busy(server.port);
    std::string message, back;
    for (int i = 0; i < 3'000'000; ++i) message += static_cast<char>(i * 7 % 251);
    std::jthread sender([&] { busy.send(message); });  // more than the buffers hold; it ends by an error
    {
      Client other(server.port);
      ASSERT_TRUE(echoes(other, "there?"));
    }
    back = busy.receive(100'000);
    std::this_thread::sleep_for(100ms);
    server.send_signal(signal);
    server.read_until("ending");
    wait_until_refused(server.port);
    for (std::string part; !(part = busy.receive(1000)).empty();) back += part;
    EXPECT_TRUE(busy.is_ended());
    EXPECT_GT(back.size(), 100'000U);
    EXPECT_TRUE(message.starts_with(back));  // nothing is lost in between
    busy.end_stream();
    EXPECT_EQ(server.wait().exit_code, 0) << server.wait().text();
  }
}

TEST(robust_server_tcp, a_socket_that_is_closed_with_unread_data_loses_what_the_system_has_not_sent) {
  for (const bool unread : {false, true}) {
    asio::io_context loop(1);
    tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});
    tcp::socket client(loop), server(loop);
    client.connect(acceptor.local_endpoint());
    acceptor.accept(server);
    std::string request(1000, 'x'), answer;
    asio::write(client, asio::buffer(request));
    if (unread) {
      while (server.available() < request.size()) std::this_thread::yield();
    } else {
      asio::read(server, asio::buffer(request));
    }
    server.non_blocking(true);
    std::size_t written = 0;
    for (error_code full; !full;) written += server.write_some(asio::buffer(request), full);
    server.close();
    error_code end;
    const std::size_t received = asio::read(client, asio::dynamic_buffer(answer), end);
    EXPECT_EQ(end, unread ? error_code(asio::error::connection_reset) : error_code(asio::error::eof));
    EXPECT_EQ(received < written, unread);
  }
}

TEST(robust_server_tcp, clients_that_are_not_accepted_yet_are_reset_when_the_acceptor_is_closed) {
  asio::io_context loop(1);
  tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});
  tcp::socket client(loop);
  client.connect(acceptor.local_endpoint());
  acceptor.close();
  char byte = 0;
  error_code end;
  client.read_some(asio::buffer(&byte, 1), end);
  EXPECT_EQ(end, asio::error::connection_reset);
}

TEST(robust_server, an_idle_client_sees_the_end_and_one_that_stays_is_closed_after_the_grace) {
  ServerProcess server("robust_server", {"--serve", "--timeout-ms", "86400000"});
  Client idle(server.port), stays(server.port);
  ASSERT_TRUE(echoes(idle, "there?"));
  ASSERT_TRUE(echoes(stays, "there?"));
  server.send_signal(SIGTERM);
  EXPECT_TRUE(idle.is_ended());
  EXPECT_TRUE(stays.is_ended());
  idle.end_stream();
  EXPECT_EQ(server.wait().exit_code, 0) << server.wait().text();  // though `stays` has not ended its side
}

TEST(robust_server, without_clients_it_ends_at_once_and_without_waiting_for_the_timeout) {
  ServerProcess server("robust_server", {"--serve", "--timeout-ms", "86400000"});
  server.send_signal(SIGTERM);
  EXPECT_EQ(server.wait().exit_code, 0) << server.wait().text();
}

TEST(robust_server, a_second_signal_ends_it_at_once) {
  ServerProcess server("robust_server", {"--serve", "--timeout-ms", "86400000"});
  Client stays(server.port);
  ASSERT_TRUE(echoes(stays, "there?"));
  server.send_signal(SIGTERM);
  server.read_until("ending");
  server.send_signal(SIGTERM);
  EXPECT_EQ(server.wait().exit_code, -SIGTERM);
}

TEST(robust_server, an_orderly_end_waits_for_an_answer_under_way) {
  asio::io_context loop(1);
  RobustServer server(loop, 1h, 5);
  tcp::socket client(loop);
  client.connect(server.endpoint());
  bool stopped = false;
  const auto visit = [&]() -> asio::awaitable<void> {
    EXPECT_EQ(co_await echoed(client), 1U);
    const auto executor = co_await asio::this_coro::executor;
    asio::co_spawn(executor, server.stop(1h), [&](const std::exception_ptr&) { stopped = true; });
    co_await asio::steady_timer(executor, 50ms).async_wait(asio::deferred);
    EXPECT_FALSE(stopped);  // the client has not ended its side
    char byte = 0;
    const auto [end, count] = co_await client.async_read_some(asio::buffer(&byte, 1), with_error);
    EXPECT_EQ(end, asio::error::eof);
    client.close();
  };
  asio::co_spawn(loop, visit(), rethrow);
  loop.run();  // returns: nothing is left to wait for
  EXPECT_TRUE(stopped);
}

TEST(robust_server, the_answer_under_way_when_it_is_to_end_arrives_whole) {
  asio::io_context loop(1);
  RobustServer server(loop, 1h, 5);
  tcp::socket client(loop);
  client.connect(server.endpoint());
  const auto visit = [&]() -> asio::awaitable<void> {
    const std::size_t sent = co_await taken_from(client);  // nothing moves any more
    int unsent = 0, unread = 0;
    check(ioctl(client.native_handle(), SIOCOUTQ, &unsent), "ioctl");
    const auto ends = test_support::accepted_sockets(client.remote_endpoint().port());
    EXPECT_EQ(ends.size(), 1U);
    for (const int end : ends) check(ioctl(end, FIONREAD, &unread), "ioctl");
    asio::co_spawn(loop, server.stop(1h), rethrow);
    std::string received;
    const auto [end, count] = co_await asio::async_read(client, asio::dynamic_buffer(received), with_error);
    EXPECT_EQ(end, asio::error::eof);
    EXPECT_EQ(count, sent - unsent - unread) << "what the server had read";
    client.close();
  };
  asio::co_spawn(loop, visit(), rethrow);
  loop.run();
}

TEST(robust_server, while_it_ends_a_client_has_the_whole_grace_and_not_the_timeout) {
  asio::io_context loop(1);
  RobustServer server(loop, 100ms, 5);
  tcp::socket client(loop);
  client.connect(server.endpoint());
  const auto visit = [&]() -> asio::awaitable<void> {
    co_await echoed(client);
    asio::co_spawn(loop, server.stop(1h), rethrow);
    co_await asio::steady_timer(loop, 500ms).async_wait(asio::deferred);  // it reads slowly, say
    client.close();
  };
  asio::co_spawn(loop, visit(), rethrow);
  loop.run();
  EXPECT_EQ(server.timed_out, 0);
}

TEST(robust_server, it_ends_also_where_the_timer_has_just_fired) {
  // The loop is busy while the timer fires, and sees that it has fired in some turn or other. Where it sees it just
  // before it comes to stop(), the timer's coroutine runs only after that.
  for (int busy_turns = 1; busy_turns < 10; ++busy_turns) {
    asio::io_context loop(1);
    RobustServer server(loop, 20ms, 5);
    const std::function<void(int)> turn = [&](int left) {
      if (left == 0) return asio::co_spawn(loop, server.stop(0ms), rethrow);
      std::this_thread::sleep_for(2ms);
      asio::post(loop, [&turn, left] { turn(left - 1); });
    };
    turn(busy_turns);
    loop.run_for(10s);
    EXPECT_TRUE(loop.stopped()) << busy_turns;
  }
}

TEST(robust_server, without_file_descriptors_new_clients_wait_and_cost_no_processor_time) {
  ServerProcess server("robust_server", {"--serve", "--timeout-ms", "60000", "--max-clients", "100"},
                       {.max_files = 24});
  std::vector<Client> clients;
  for (int i = 0; i < 40; ++i) {
    clients.emplace_back(server.port);
    clients.back().send("x");
  }
  EXPECT_TRUE(server.is_idle());  // it does not try again at once
  int answered = 0;
  for (; !clients.empty(); clients.erase(clients.begin())) answered += clients.front().receive(1) == "x";
  EXPECT_EQ(answered, 40);
}

}  // namespace
