/// A request, an answer, and the parser that makes the one from bytes.
#pragma once

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/verb.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace http = boost::beast::http;
using boost::beast::string_view;
using boost::system::error_code;

struct Request {
  http::verb method = http::verb::unknown;
  std::string path;  ///< without the query, which starts at the question mark
  std::string body;
};

struct Response {
  std::string body;
  http::status status = http::status::ok;
  std::string_view type = "text/html; charset=utf-8";
  std::string allow = {};  ///< the methods of this path, for answers that name them
};

/// Beast's parser checks every byte of the head and calls the functions below. Its ready-made form stores each field in
/// a node of its own; this one keeps only what is needed, in strings that are used again for the next request.
class RequestReader : public http::basic_parser<true> {
 public:
  static constexpr std::uint32_t longest_head = 8000;
  static constexpr std::uint64_t longest_body = 1 << 16;

  explicit RequestReader(Request& request) : request_(request) {
    header_limit(longest_head);
    body_limit(longest_body);
    eager(true);  // parse the body, too
    request_.body.clear();
  }

  /// Whether the client waits for a word before it sends the body; true once.
  bool asks_to_continue() { return is_header_done() && std::exchange(expects_continue_, false); }

 private:
  void on_request_impl(http::verb method, string_view, string_view target, int version, error_code& error) override {
    request_.method = method;
    version_ = version;
    if (target.starts_with("http://")) {  // the form for proxies, which servers must understand
      target.remove_prefix(std::min(target.find('/', 7), target.size()));
    } else if (!target.starts_with('/') && target != "*") {
      error = http::error::bad_target;
    }
    target = target.substr(0, target.find('?'));
    request_.path.assign(target.data(), target.size());
    if (request_.path.empty()) request_.path = '/';
  }

  void on_field_impl(http::field name, string_view, string_view value, error_code& error) override {
    if (name == http::field::host) ++hosts_;
    // Where a body in another coding ends, we do not know; and who guesses may take its bytes for the next request.
    if (name == http::field::transfer_encoding && !boost::beast::iequals(value, "chunked")) {
      error = http::error::bad_transfer_encoding;
    }
    if (name == http::field::expect) expects_continue_ = boost::beast::iequals(value, "100-continue");
  }

  void on_header_impl(error_code& error) override {
    if (hosts_ > 1 || (hosts_ == 0 && version_ == 11)) error = http::error::bad_field;
  }

  std::size_t on_body_impl(string_view part, error_code&) override {
    request_.body.append(part.data(), part.size());
    return part.size();
  }

  std::size_t on_chunk_body_impl(std::uint64_t, string_view part, error_code& error) override {
    return on_body_impl(part, error);
  }

  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  void on_finish_impl(error_code&) override {}

  Request& request_;
  int version_ = 0;
  int hosts_ = 0;
  bool expects_continue_ = false;
};

/// The answer to a request that cannot be read.
inline Response refusal(const error_code& error) {
  if (error == http::error::header_limit)
    return {"the head is too large\n", http::status::request_header_fields_too_large};
  if (error == http::error::body_limit) return {"the body is too large\n", http::status::payload_too_large};
  return {error.message() + '\n', http::status::bad_request};
}
