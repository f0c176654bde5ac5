/// What a connection says and is told, without the connection: bytes in, answers out.
#pragma once

#include <fmt/format.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <cstring>
#include <ctime>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "request.hpp"
#include "routes.hpp"

namespace asio = boost::asio;

/// What the server has done so far.
struct Counters {
  std::map<unsigned, long> answers;  ///< by status code
  long connections = 0, timed_out = 0, rejected = 0;
};

/// The time as HTTP writes it. It changes once a second, so it is made once a second.
inline const std::string& http_date() {
  static std::time_t made = 0;
  static std::string date;
  if (const std::time_t now = std::time(nullptr); now != made) {
    made = now;
    std::tm utc = {};
    char text[64];
    std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &utc));
    date = text;
  }
  return date;
}

class Dialogue {
 public:
  enum class Next { read, write_and_go_on, write_and_end };

  Dialogue(const Routes& routes, Counters& counters) : routes_(routes), counters_(counters), reader_(request_) {}

  /// Where the next bytes of the client belong; never empty after Next::read.
  asio::mutable_buffer room() { return asio::buffer(input_) + have_; }
  void take(std::size_t count) { have_ += count; }

  /// Whether a request has begun and is not complete.
  bool in_request() const { return reader_->got_some(); }

  /// Answers the requests that are complete. A client may send many without waiting (pipelining): their answers gather
  /// in `output`, to go out by one write, but never more than a certain amount.
  Next answer() {
    std::size_t used = 0;
    Next next = Next::read;
    while (next == Next::read && used < have_) {
      error_code error;
      const std::size_t taken = reader_->put(asio::buffer(input_.data() + used, have_ - used), error);
      used += taken;
      if (error && error != http::error::need_more) {
        write(refusal(error), false, false);
        next = Next::write_and_end;
      } else if (reader_->is_done()) {
        const bool keep = reader_->keep_alive();
        write(routes_.answer(request_), request_.method == http::verb::head, keep);
        reader_.emplace(request_);
        next = !keep ? Next::write_and_end : output.size() >= longest_output ? Next::write_and_go_on : Next::read;
      } else if (taken == 0) {
        break;
      }
    }
    std::memmove(input_.data(), input_.data() + used, have_ - used);
    have_ -= used;
    if (next == Next::read && have_ == input_.size()) {  // no head is that long, but the line before a chunk may be
      write(refusal(http::error::header_limit), false, false);
      return Next::write_and_end;
    }
    if (next == Next::read && reader_->asks_to_continue()) output += "HTTP/1.1 100 Continue\r\n\r\n";
    return next;
  }

  std::string output;

 private:
  static constexpr std::size_t longest_output = 1 << 16;

  void write(const Response& response, bool head_only, bool keep) {
    ++counters_.answers[static_cast<unsigned>(response.status)];
    const string_view reason = http::obsolete_reason(response.status);
    fmt::format_to(std::back_inserter(output),
                   "HTTP/1.1 {} {}\r\nServer: beast\r\nDate: {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
                   "Connection: {}\r\n",
                   static_cast<unsigned>(response.status), std::string_view(reason.data(), reason.size()), http_date(),
                   response.type, response.body.size(), keep ? "keep-alive" : "close");
    if (!response.allow.empty()) output.append("Allow: ").append(response.allow).append("\r\n");
    output += "\r\n";
    if (!head_only) output += response.body;
  }

  const Routes& routes_;
  Counters& counters_;
  std::array<char, 8192> input_;
  std::size_t have_ = 0;
  Request request_;
  std::optional<RequestReader> reader_;
};
