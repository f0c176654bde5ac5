/// One need not read this file to understand the recipe. It is a platform for one function, on this machine: it starts
/// the function's program when there is an event, and speaks the runtime API of AWS Lambda with it.
#pragma once

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
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
};

class LambdaEmulator {
 public:
  /// `program` is the path of the bootstrap; `handler` names the function, as "lambda_function.lambda_handler" does.
  LambdaEmulator(std::string program, std::string handler, std::chrono::milliseconds timeout)
      : program_(std::move(program)), handler_(std::move(handler)), timeout_(timeout) {}
  ~LambdaEmulator() { drop_instance(); }
  LambdaEmulator(const LambdaEmulator&) = delete;
  LambdaEmulator& operator=(const LambdaEmulator&) = delete;

  /// Calls the function with an event, a text in JSON. Starts its program if it does not run yet: a cold start.
  CallResult invoke(const std::string& event) {
    const auto start = Clock::now();
    const std::string id = fmt::format("00000000-0000-0000-0000-{:012}", ++calls_);
    CallResult result;
    result.cold = pid_ < 0;
    try {
      deadline_ = start + std::chrono::seconds(10);  // the limit for a start is the platform's
      if (result.cold) start_instance();
      read_request();  // the question for the next event
      deadline_ = Clock::now() + timeout_;
      answer(http::status::ok, event, id);
      const Request last = read_request();
      answer(http::status::accepted);
      result.ok = last.target() == "/2018-06-01/runtime/invocation/" + id + "/response";
      result.body = last.body();
      result.log = read_log();
    } catch (const TimedOut&) {
      result.log = read_log();
      drop_instance();  // nobody knows what it does now, so the next call gets a new one
      result.body = error_text("Sandbox.Timedout",
                               fmt::format("Task timed out after {:.2f} seconds", 1e-3 * double(timeout_.count())));
    } catch (const boost::system::system_error&) {  // the connection has ended
      result.log = read_log();
      drop_instance();
      result.body = error_text("Runtime.ExitError", "Runtime exited before it had answered");
    }
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
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

  /// Waits until something can be read from `descriptor`; looks now and then whether the program still runs.
  void wait_for(int descriptor) {
    for (pollfd ready{descriptor, POLLIN, 0}; check(poll(&ready, 1, 10), "poll") == 0;) {
      siginfo_t ended{};
      check(waitid(P_PID, id_t(pid_), &ended, WEXITED | WNOHANG | WNOWAIT), "waitid");
      if (ended.si_pid != 0) throw boost::system::system_error(boost::asio::error::eof);
      if (Clock::now() > deadline_) throw TimedOut();
    }
  }

  Request read_request() {
    http::request_parser<http::string_body> parser;
    parser.eager(true);
    while (!parser.is_done()) {
      wait_for(socket_.native_handle());
      http::read_some(socket_, buffer_, parser);
    }
    return parser.release();
  }

  void answer(http::status status, const std::string& body = {}, const std::string& id = {}) {
    http::response<http::string_body> response(status, 11, body);
    if (!id.empty()) response.set("Lambda-Runtime-Aws-Request-Id", id);
    response.prepare_payload();
    http::write(socket_, response);
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
  std::chrono::milliseconds timeout_;
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
