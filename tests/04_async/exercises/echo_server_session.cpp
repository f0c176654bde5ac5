// Tests the coroutine of an echo server that a learner has written.

#include "echo.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <list>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

using judge::expect;
using judge::within_two_seconds;

namespace {

/// The server, in a thread of its own. (An error ends it, as it does in the recipe.)
class Server {
 public:
  Server() : acceptor_(loop_, {asio::ip::address_v4::loopback(), 0}) {
    asio::co_spawn(loop_, serve(acceptor_), rethrow);
    thread_ = std::jthread([this] {
      try {
        loop_.run();
      } catch (const std::logic_error& error) {
        judge::refuse(error.what());
      } catch (const std::exception&) {
        judge::refuse("An error of one connection has ended the server.");
      }
    });
  }
  ~Server() { loop_.stop(); }

  tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

 private:
  asio::io_context loop_;
  tcp::acceptor acceptor_;
  std::jthread thread_;
};

class Client {
 public:
  explicit Client(const Server& server) : socket_(loop_) {
    socket_.connect(server.endpoint());
    const timeval two_seconds = {2, 0};
    setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &two_seconds, sizeof two_seconds);
    setsockopt(socket_.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &two_seconds, sizeof two_seconds);
  }

  void say(const std::string& text) {
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t count = send(socket_.native_handle(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      expect(count > 0, "The server does not take what a client sends.");
      sent += static_cast<std::size_t>(count);
    }
  }

  /// What comes within two seconds, up to so many bytes or the end of the connection.
  std::string hear(std::size_t length) {
    std::string text(length, '?');
    std::size_t heard = 0;
    for (ssize_t count = 1; heard < length && count > 0;
         heard += static_cast<std::size_t>(std::max<ssize_t>(count, 0))) {
      count = recv(socket_.native_handle(), text.data() + heard, length - heard, 0);
    }
    text.resize(heard);
    return text;
  }

  /// Whether the server has closed the connection, or does so within two seconds, and sends nothing more before.
  bool ended() {
    char more;
    return recv(socket_.native_handle(), &more, 1, 0) == 0;
  }
  bool has_more(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    char more;
    return recv(socket_.native_handle(), &more, 1, MSG_DONTWAIT) == 1;
  }

  void says_no_more() { shutdown(socket_.native_handle(), SHUT_WR); }

  /// Ends the connection in such a way that the server gets an error.
  void break_off() {
    const linger none = {1, 0};
    setsockopt(socket_.native_handle(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
    socket_.close();
  }

 private:
  asio::io_context loop_;
  tcp::socket socket_;
};

std::string random_bytes(std::size_t length) {
  static std::mt19937 random(3);
  std::string text(length, '\0');
  for (char& one : text) one = static_cast<char>(random());
  return text;
}

void answers_come_back() {
  const Server server;
  Client client(server);
  for (const std::string& text :
       {std::string("hello"), random_bytes(300), std::string("a\0b", 3), std::string(1, '\0')}) {
    client.say(text);
    const std::string answer = client.hear(text.size());
    if (answer.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the server may say why
    expect(!answer.empty(), "A client gets no answer, or none after its first answer.");
    expect(answer == text, "A client gets back something else than it has sent.");
    expect(!client.has_more(5), "A client gets back more than it has sent.");
  }
  client.says_no_more();
  expect(client.ended(), "The client has ended the connection, and the server does not.");
}

/// A client sends much, and reads only later: its connection is full for a while. Meanwhile others are served.
void a_slow_client() {
  const Server server;
  Client slow(server);
  const std::string text = random_bytes(8 << 20);
  std::jthread sends([&] {
    slow.say(text);
    slow.says_no_more();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  Client silent(server), other(server);
  for (int i = 0; i < 3; ++i) {
    other.say("hello");
    expect(other.hear(5) == "hello", "A client that is slow keeps the others waiting.");
  }
  const std::string answer = slow.hear(text.size());
  sends.join();
  expect(answer.size() == text.size(), "A client that sends much gets only a part of it back.");
  expect(answer == text, "A client gets back something else than it has sent.");
  expect(slow.ended(), "The client has ended the connection, and the server does not.");
}

/// How many threads this process has.
std::ptrdiff_t threads_now() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

void one_thread_for_all() {
  const Server server;
  std::list<Client> clients;
  std::ptrdiff_t first = 0;
  for (int i = 0; i < 8; ++i) {
    Client& client = clients.emplace_back(server);
    client.say("hello");
    expect(client.hear(5) == "hello", "One of several clients gets no answer.");
    if (i == 0) first = threads_now();
  }
  expect(threads_now() <= first, "Clients get threads of their own. All have to be served by one thread.");
}

/// Errors that no client makes: a socket that is not connected, and one that is closed.
void other_errors() {
  for (const bool is_open : {true, false}) {
    asio::io_context loop;
    tcp::socket socket(loop);
    if (is_open) socket.open(tcp::v4());
    bool returned = false;
    asio::co_spawn(loop, echo(std::move(socket)), [&](const std::exception_ptr& error) {
      expect(!error, "An error of a connection leaves the coroutine as an exception, which ends the server.");
      returned = true;
    });
    loop.run_for(std::chrono::seconds(2));
    expect(returned, "The connection is broken, and the coroutine does not return.");
  }
}

void connections_break() {
  const Server server;
  for (int i = 0; i < 3; ++i) {
    Client client(server);
    client.say("hello");
    if (i > 0) client.hear(5);
    if (i > 1) client.say(random_bytes(2'000'000));
    client.break_off();
  }
  Client other(server);
  other.say("again");
  expect(other.hear(5) == "again", "A connection has broken, and another client gets no answer.");
}

}  // namespace

int main() {
  answers_come_back();
  a_slow_client();
  one_thread_for_all();
  other_errors();
  connections_break();
  std::puts("every client gets back what it has sent");
}
