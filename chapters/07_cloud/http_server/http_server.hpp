/// An HTTP/1.1 server in one thread, with one coroutine per connection: begin to read at HttpServer::serve.
#pragma once

#include <fmt/chrono.h>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

/// Whether it is beyond doubt where the request ends. If a proxy and this server read that differently, the rest of a
/// body becomes a request that nobody has sent (request smuggling). So the head tells it once: by one length ("5, 5"
/// are two), or in HTTP/1.1 by one Transfer-Encoding, `chunked`. The fields are counted, since request[...] is the
/// first of several, and the same for an empty field as for none.
inline bool is_framed(const Request& request) {
  const std::size_t lengths = request.count(http::field::content_length);
  const std::size_t codings = request.count(http::field::transfer_encoding);
  if (codings == 0) return lengths == 0 || (lengths == 1 && !request[http::field::content_length].contains(','));
  return codings == 1 && lengths == 0 && request.version() == 11 &&
         beast::iequals(request[http::field::transfer_encoding], "chunked");
}

/// Whether the request says for which host it is: HTTP/1.1 demands it exactly once, HTTP/1.0 at most once. A name, an
/// address or nothing, and perhaps a port, are made of these characters.
inline bool has_host(const Request& request) {
  const std::size_t hosts = request.count(http::field::host);
  const std::string_view host = request[http::field::host];
  return (hosts == 1 || (hosts == 0 && request.version() == 10)) &&
         host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%!$&'()*+,;=:[]") ==
             host.npos;
}

/// The status that answers a request which cannot be read.
inline http::status status_of(const error_code& error) {
  if (error == http::error::body_limit) return http::status::payload_too_large;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return http::status::request_header_fields_too_large;
  }
  return http::status::bad_request;
}

/// What a client may use of the server. Clients beyond the number are refused.
struct Limits {
  std::chrono::milliseconds timeout{10'000};  ///< to send a request and read its answer, from the last answer on
  int clients = 1000;
  std::uint32_t head = 8'000;  ///< bytes of a request's head
  std::uint64_t body = 65'536;
};

class HttpServer {
 public:
  /// The application: makes the answer to a request; if it throws, the answer is 500. It must not block: it is called
  /// by the server's only thread.
  using Application = std::function<Response(const Request&)>;

  /// Listens on 127.0.0.1; port 0 is a free one.
  HttpServer(Application application, unsigned short port, const Limits& limits = {})
      : application_(std::move(application)),
        limits_(limits),
        acceptor_(loop_, {asio::ip::address_v4::loopback(), port}) {}

  /// Serves until SIGTERM or SIGINT, and then until the requests whose head has been read are answered.
  void run() {
    asio::co_spawn(loop_, accept(), asio::detached);
    signals_.async_wait([this](auto...) {
      signals_.clear();   // a second signal ends the program at once, as usual
      acceptor_.close();  // no connections any more, and each that there is ends with its next answer
      if (unanswered_ == 0) loop_.stop();
    });
    loop_.run();
  }

  unsigned short port() const { return port_; }

 private:
  using Parser = http::request_parser<http::string_body>;

  /// With this, co_await gives a pair of error and result. Nothing is thrown.
  static constexpr auto with_error = asio::as_tuple(asio::deferred);

  asio::awaitable<void> accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(with_error);
      if (!acceptor_.is_open()) co_return;
      if (!error) socket.set_option(tcp::no_delay(true), error);  // send small answers at once
      if (error) {  // perhaps no file descriptor is left; the clients wait in the kernel's queue meanwhile
        co_await asio::steady_timer(loop_, std::chrono::milliseconds(10)).async_wait(with_error);
      } else if (clients_ >= limits_.clients) {
        refuse(std::move(socket));
      } else {
        ++clients_;  // here, since the coroutine may begin later
        asio::co_spawn(loop_, serve(beast::tcp_stream(std::move(socket))), asio::detached);
      }
    }
  }

  /// Tells a client that there are too many, and closes the connection without waiting for anything.
  static void refuse(tcp::socket socket) {
    constexpr std::string_view answer =
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    error_code gone;
    socket.non_blocking(true, gone);
    socket.write_some(asio::buffer(answer), gone);
    socket.shutdown(tcp::socket::shutdown_send, gone);
    char unread[16'384];  // to close while bytes of the client are unread sends a reset, which may destroy the answer
    socket.read_some(asio::buffer(unread), gone);
  }

  /// Serves one connection. A tcp_stream is a socket with a deadline.
  asio::awaitable<void> serve(beast::tcp_stream stream) {
    const Leaving leaving{clients_};
    beast::flat_buffer buffer(16'384);
    stream.expires_after(limits_.timeout);  // one deadline for the request and its answer
    for (bool keep = true; keep && acceptor_.is_open();) {
      std::optional<Parser> parser;
      error_code error = co_await read_head(stream, buffer, parser);
      if (error == http::error::end_of_stream) break;  // the client has closed
      ++unanswered_;                                   // after SIGTERM, run() waits until it is answered
      if (!error) error = co_await read_body(stream, buffer, *parser);
      Response response = error ? Response(status_of(error), 11) : ask(parser->get());
      keep = !error && parser->keep_alive() && acceptor_.is_open();  // else the answer says Connection: close
      response.keep_alive(keep);
      finish(response, parser->get().method());
      std::tie(error, std::ignore) = co_await http::async_write(stream, response, with_error);  // fails after a timeout
      --unanswered_;
      if (error) break;
      stream.expires_after(limits_.timeout);  // for the pause, the next request and its answer
    }
    co_await close_gently(stream, buffer);
    if (unanswered_ == 0 && !acceptor_.is_open()) loop_.stop();
  }

  /// Reads the head of a request. The parser stops, with an error, where a limit is exceeded.
  asio::awaitable<error_code> read_head(beast::tcp_stream& stream, beast::flat_buffer& buffer,
                                        std::optional<Parser>& parser) const {
    for (int skipped = 0;; ++skipped) {
      parser.emplace();
      parser->header_limit(limits_.head);
      parser->body_limit(limits_.body);
      const auto [error, count] = co_await http::async_read_header(stream, buffer, *parser, with_error);
      // One empty line (two bytes) before a request is ignored; a client that sends them without end must not stay.
      if (error != http::error::bad_method || skipped == 2 || !starts_with_line_end(buffer)) co_return error;
      buffer.consume(1);
    }
  }

  /// Reads the body of a request, unless it is in doubt where that ends.
  asio::awaitable<error_code> read_body(beast::tcp_stream& stream, beast::flat_buffer& buffer, Parser& parser) {
    const Request& request = parser.get();
    if (!is_framed(request) || !has_host(request)) co_return http::error::bad_field;
    if (parser.is_done()) co_return error_code();
    // A client may ask before it sends a long body, as curl does.
    if (request.version() == 11 && beast::iequals(request[http::field::expect], "100-continue")) {
      co_await asio::async_write(stream, asio::buffer("HTTP/1.1 100 Continue\r\n\r\n", 25), with_error);
    }
    const auto [error, count] = co_await http::async_read(stream, buffer, parser, with_error);
    co_return error;
  }

  /// The application's answer.
  Response ask(const Request& request) const try {
    return application_(request);
  } catch (...) {  // whatever it throws: the server goes on, and the client is told
    return {http::status::internal_server_error, 11};
  }

  /// The fields that each answer has. prepare_payload() sets Content-Length, also for HEAD, whose answer has no body.
  static void finish(Response& response, http::verb method) {
    response.set(http::field::date, fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(std::time(nullptr))));
    response.prepare_payload();
    if (method == http::verb::head) response.body().clear();
  }

  /// To close while bytes of the client are unread sends a reset, which may destroy the answer on its way. So this side
  /// ends first, and what still comes is dropped, in up to 256 reads.
  asio::awaitable<void> close_gently(beast::tcp_stream& stream, beast::flat_buffer& buffer) const {
    error_code gone;
    stream.socket().shutdown(acceptor_.is_open() ? tcp::socket::shutdown_send : tcp::socket::shutdown_both, gone);
    for (int i = 0; i < 256 && !gone; ++i) {
      buffer.clear();
      std::tie(gone, std::ignore) = co_await stream.async_read_some(buffer.prepare(4096), with_error);
    }
  }

  static bool starts_with_line_end(const beast::flat_buffer& buffer) {
    const char first = *static_cast<const char*>(buffer.data().data());
    return first == '\r' || first == '\n';
  }

  /// One client less at the end of a coroutine, however it ends.
  struct Leaving {
    int& clients;
    ~Leaving() { --clients; }
  };

  asio::io_context loop_{1};
  asio::signal_set signals_{loop_, SIGTERM, SIGINT};
  const Application application_;
  const Limits limits_;
  tcp::acceptor acceptor_;
  const unsigned short port_ = acceptor_.local_endpoint().port();
  int clients_ = 0;     // connections that are served
  int unanswered_ = 0;  // requests whose head has been read, and which are not answered yet
};
