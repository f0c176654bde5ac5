/// One need not read this file to understand the recipe. It is a platform for one function, on this machine: it starts
/// the function's program when there is an event, and speaks the runtime API of AWS Lambda with it.
#pragma once

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <string>

#include "bootstrap.hpp"
#include "cookbook/posix.hpp"
#include "cookbook/process.hpp"

/// What a call gives: a result, a summary, and what the function has printed.
struct CallResult {
  bool ok = false;      ///< whether the function returned
  std::string body;     ///< what it returned, or the error; JSON
  std::string summary;  ///< how long it took, and what is charged
  std::string log;      ///< its lines
  bool cold = false;    ///< whether its program had to be started for this call
  double ms = 0;        ///< how long it took, with the start of its program
};

class LambdaEmulator {
 public:
  static constexpr std::size_t max_event = 6'291'456, max_result = 6'291'556;  ///< bytes, as of AWS Lambda: 6 MB

  /// `program` is the path of the bootstrap; `handler` names the function, as "lambda_function.lambda_handler" does. A
  /// call may take `timeout`, and the program `start_limit` until it asks for its first event.
  LambdaEmulator(std::string program, std::string handler, std::chrono::milliseconds timeout,
                 std::chrono::milliseconds start_limit = std::chrono::seconds(10))
      : program_(std::move(program)), handler_(std::move(handler)), timeout_(timeout), start_limit_(start_limit) {}
  ~LambdaEmulator() { drop_instance(); }
  LambdaEmulator(const LambdaEmulator&) = delete;
  LambdaEmulator& operator=(const LambdaEmulator&) = delete;

  /// Calls the function with an event, a text in JSON. Starts its program if it does not run yet: a cold start.
  CallResult invoke(const std::string& event) {
    const auto start = Clock::now();
    const std::string id = fmt::format("00000000-0000-0000-0000-{:012}", ++calls_);
    CallResult result;
    result.cold = pid_ < 0;
    bool started = false;
    try {
      if (event.size() > max_event) throw TooLarge();
      deadline_ = start + start_limit_;
      if (result.cold) start_instance();
      read_request();  // the question for the next event
      started = true;
      deadline_ = Clock::now() + timeout_;
      answer(http::status::ok, event, id);
      const Request last = read_request();
      result.log = read_log();
      if (last.body().size() > max_result) {  // an error of this call; the program goes on
        answer(http::status::payload_too_large);
        result.body = error_text(
            "Function.ResponseSizeTooLarge",
            fmt::format("Response payload size exceeded maximum allowed payload size ({} bytes).", max_result));
      } else {
        answer(http::status::accepted);
        result.ok = last.target() == "/2018-06-01/runtime/invocation/" + id + "/response";
        result.body = last.body();
      }
    } catch (const TooLarge&) {
      result.cold = false;  // nothing was started
      result.body = error_text("RequestEntityTooLargeException",
                               fmt::format("{} byte payload is too large: {} at most", event.size(), max_event));
    } catch (const TimedOut&) {
      result.log = read_log();
      drop_instance();  // nobody knows what it does now, so the next call gets a new one
      const double seconds = 1e-3 * double((started ? timeout_ : start_limit_).count());
      result.body = error_text("Sandbox.Timedout",
                               started ? fmt::format("Task timed out after {:.2f} seconds", seconds)
                                       : fmt::format("The program did not start within {:.2f} seconds", seconds));
    } catch (const boost::system::system_error&) {  // the connection has ended
      result.log = read_log();
      drop_instance();
      result.body = error_text("Runtime.ExitError", "Runtime exited before it had answered");
    }
    const double ms = result.ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    result.summary =
        fmt::format("REPORT RequestId: {} Duration: {:.2f} ms Billed Duration: {:.0f} ms", id, ms, std::ceil(ms));
    return result;
  }

  /// Ends the program, as a platform does with one that has been idle for a while.
  void drop_instance() {
    if (pid_ < 0) return;
    cookbook::kill_tree(pid_);
    cookbook::exit_code_of(pid_);
    close(output_);
    socket_ = boost::asio::ip::tcp::socket(io_);
    buffer_.clear();
    pid_ = -1;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Request = http::request<http::string_body>;
  struct TimedOut {};
  struct TooLarge {};

  void start_instance() {
    output_ = check(memfd_create("log", MFD_CLOEXEC), "memfd_create");  // a file in memory gets what it prints
    log_end_ = 0;
    const std::string api = fmt::format("127.0.0.1:{}", acceptor_.local_endpoint().port());
    pid_ = cookbook::start_child([&] {
      dup2(output_, STDOUT_FILENO);
      setenv("AWS_LAMBDA_RUNTIME_API", api.c_str(), 1);
      setenv("_HANDLER", handler_.c_str(), 1);
      close_range(3, ~0U, 0);  // it gets no connection of this program
      cookbook::become_program({program_});
    });
    wait_for(acceptor_.native_handle());
    socket_ = acceptor_.accept();
    socket_.set_option(boost::asio::ip::tcp::no_delay(true));
  }

  /// Waits until something can be read from `descriptor`, or written; looks now and then whether the program still
  /// runs.
  void wait_for(int descriptor, short what = POLLIN) {
    pollfd ready{descriptor, what, 0};
    for (;;) {
      if (Clock::now() > deadline_) throw TimedOut();
      const int count = poll(&ready, 1, 10);
      if (count > 0) return;
      if (errno != EINTR) check(count, "poll");  // a signal that this program handles ends poll(), too
      siginfo_t ended{};
      check(waitid(P_PID, id_t(pid_), &ended, WEXITED | WNOHANG | WNOWAIT), "waitid");
      if (ended.si_pid != 0) throw boost::system::system_error(boost::asio::error::eof);
    }
  }

  Request read_request() {
    http::request_parser<http::string_body> parser;
    parser.eager(true);
    parser.body_limit(boost::none);  // it is refused when its size is known: invoke()
    while (!parser.is_done()) {
      wait_for(socket_.native_handle());
      http::read_some(socket_, buffer_, parser);
    }
    return parser.release();
  }

  void answer(http::status status, const std::string& body = {}, const std::string& id = {}) {
    std::string text = fmt::format("HTTP/1.1 {} {}\r\n", unsigned(status), std::string_view(obsolete_reason(status)));
    if (!id.empty()) text += fmt::format("Lambda-Runtime-Aws-Request-Id: {}\r\n", id);
    text += fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
    for (std::size_t sent = 0; sent < text.size();) {  // a program that does not read must not stop the platform
      wait_for(socket_.native_handle(), POLLOUT);
      const ssize_t count = send(socket_.native_handle(), &text[sent], text.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno != EAGAIN) throw boost::system::system_error(boost::asio::error::broken_pipe);
      sent += count > 0 ? std::size_t(count) : 0;
    }
  }

  /// What the program has printed since the last call.
  std::string read_log() {
    std::string log;
    char text[4096];
    for (ssize_t count; (count = pread(output_, text, sizeof text, log_end_)) > 0; log_end_ += count) {
      log.append(text, std::size_t(count));
    }
    return log;
  }

  std::string program_, handler_;
  std::chrono::milliseconds timeout_, start_limit_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_{io_, {boost::asio::ip::address_v4::loopback(), 0}};
  boost::asio::ip::tcp::socket socket_{io_};
  boost::beast::flat_buffer buffer_;
  Clock::time_point deadline_;
  pid_t pid_ = -1;
  int output_ = -1;
  off_t log_end_ = 0;
  long calls_ = 0;
};
