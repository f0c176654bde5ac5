/// A channel between two processes, over TCP. As in CSP it keeps no value: a write returns when the reader has it.
#pragma once

#include <algorithm>
#include <boost/asio.hpp>
#include <cctype>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <string>

/// As in csp_channels, but for this channel: the far end has poisoned it, and nobody is to use it any more.
struct Poisoned : std::runtime_error {
  Poisoned() : runtime_error("the channel is poisoned") {}
};

/// The far end has disconnected; the process that hosts the channel may wait for another one.
struct Disconnected : std::runtime_error {
  Disconnected() : runtime_error("the far end has disconnected") {}
};

/// There is no such channel, or the far end has gone without saying so, or it has not answered in time.
struct ChannelLost : std::runtime_error {
  using runtime_error::runtime_error;
};

/// One end of the channel. Both ends exchange lines: "value 7" is answered by "taken" when the value is read; "poison"
/// and "bye" end the channel. Every operation throws Poisoned, Disconnected or ChannelLost when there is no more to do.
class NetworkChannel {
 public:
  using Stream = boost::asio::ip::tcp::iostream;

  /// Connects to the channel `name` that a process hosts at this address. `timeout` is for this and every operation.
  NetworkChannel(const std::string& name, const std::string& host, int port,
                 std::chrono::milliseconds timeout = std::chrono::seconds(5))
      : timeout_(timeout) {
    stream_.expires_after(timeout_);
    stream_.connect(host, std::to_string(port));
    if (!stream_) give_up("no connection: " + stream_.error().message());
    send_at_once();
    send("open " + name);
    if (const std::string answer = receive(); answer != "opened") give_up("the host says: " + answer);
  }

  /// Hosts a channel: waits at `acceptor` until somebody asks for it by its name, and refuses all else. Nothing that
  /// somebody sends before makes it throw.
  NetworkChannel(const std::string& name, boost::asio::ip::tcp::acceptor& acceptor,
                 std::chrono::milliseconds timeout = std::chrono::seconds(5))
      : timeout_(timeout) {
    for (;;) {
      stream_ = Stream(acceptor.accept());
      send_at_once();
      try {
        const bool known = receive_line() == "open " + name;
        send(known ? "opened" : "no such channel");
        if (known) return;
      } catch (const std::runtime_error&) {
        // Whoever it was has gone, or has said nothing: wait for the next one.
      }
      stream_.close();
    }
  }

  void write(long value) {
    send("value " + std::to_string(value));
    if (const std::string answer = receive(); answer != "taken") give_up("not an answer: " + answer);
  }

  long read() {
    const std::string line = receive();
    long value = 0;
    const char* const end = line.data() + line.size();
    if (!line.starts_with("value ")) give_up("not a value: " + line);
    const auto [rest, error] = std::from_chars(line.data() + 6, end, value);
    if (error != std::errc() || rest != end) give_up("not a value: " + line);
    send("taken");
    return value;
  }

  void poison() { send("poison"); }
  void disconnect() { send("bye"); }

 private:
  /// Without this, the system may hold a line back until the far end's system has confirmed the one before: 40 ms.
  void send_at_once() {
    boost::system::error_code ignored;  // a connection that has ended already is an error of the next operation
    stream_.rdbuf()->socket().set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  }

  void send(const std::string& line) {
    stream_.expires_after(timeout_);
    stream_ << line + '\n' << std::flush;
    if (stream_) return;
    const std::string why = stream_.error().message();
    stream_.clear();
    receive();  // the last that it said may have been "poison" or "bye", which throws
    give_up("cannot send: " + why);
  }

  std::string receive() {
    const std::string line = receive_line();
    if (line == "poison") throw Poisoned();
    if (line == "bye") throw Disconnected();
    return line;
  }

  std::string receive_line() {
    char line[100];  // a longer one is an error as well: without a limit a line could fill the memory
    stream_.expires_after(timeout_);
    stream_.getline(line, sizeof line);
    // At the end of the stream, what has come of a line is no line: "value 12" may be the beginning of "value 123".
    if (!stream_ || stream_.eof()) give_up("no answer: " + stream_.error().message());
    return {line, static_cast<std::size_t>(stream_.gcount() - 1)};
  }

  /// The far end is to know at once that nobody listens any more.
  [[noreturn]] void give_up(std::string why) {
    std::replace_if(
        why.begin(), why.end(), [](unsigned char c) { return std::iscntrl(c); },
        '?');  // it may have the far end's text
    stream_.close();
    throw ChannelLost(why);
  }

  std::chrono::milliseconds timeout_;
  Stream stream_;
};
