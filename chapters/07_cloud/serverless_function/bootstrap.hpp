/// The loop of a function on AWS Lambda: it asks the platform for the next event, calls the function, and sends back
/// what the function returns. The platform speaks HTTP; its answer to the question comes when there is an event.
#pragma once

#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace http = boost::beast::http;

/// A function on the platform: from an event to a result. An exception is a result as well: an error.
using Handler = std::function<boost::json::value(const boost::json::object& event)>;

/// An error as the platform wants it.
inline std::string error_text(std::string_view type, std::string_view message) {
  return serialize(boost::json::object{{"errorType", type}, {"errorMessage", message}});
}

/// A line of the log: the platform collects what the program prints.
inline void log_line(const std::string& line) { std::printf("%s\n", line.c_str()); }

/// The connection to the platform.
class RuntimeApi {
 public:
  /// `address` is like "127.0.0.1:9001", a number and not a name. Throws boost::system::system_error if nobody is
  /// there.
  explicit RuntimeApi(const std::string& address) : host_(address) {
    const auto colon = address.rfind(':');
    const auto port = static_cast<unsigned short>(std::stoi(address.substr(colon + 1)));
    socket_.connect({boost::asio::ip::make_address(address.substr(0, colon)), port});
    socket_.set_option(boost::asio::ip::tcp::no_delay(true));
  }

  /// Sends a request and waits for its answer.
  http::response<http::string_body> exchange(http::verb verb, const std::string& path, std::string body = {}) {
    http::request<http::string_body> request(verb, "/2018-06-01/runtime/" + path, 11, std::move(body));
    request.set(http::field::host, host_);
    request.prepare_payload();
    http::write(socket_, request);
    http::response<http::string_body> response;
    http::read(socket_, buffer_, response);
    return response;
  }

 private:
  std::string host_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
  boost::beast::flat_buffer buffer_;
};

/// Serves events until the platform ends this process. Throws std::invalid_argument if the platform has not started it,
/// or asks for a function that is not in the table.
inline void run_bootstrap(const std::map<std::string, Handler>& handlers) {
  const char* const address = std::getenv("AWS_LAMBDA_RUNTIME_API");
  const char* const name = std::getenv("_HANDLER");  // such as "program.function"
  if (address == nullptr || name == nullptr) throw std::invalid_argument("the platform starts this program");
  RuntimeApi api(address);
  const std::string_view handler_name(name);
  const auto entry = handlers.find(std::string(handler_name.substr(handler_name.rfind('.') + 1)));
  if (entry == handlers.end()) throw std::invalid_argument("there is no function " + std::string(handler_name));
  const Handler& handler = entry->second;
  for (;;) {
    const auto next = api.exchange(http::verb::get, "invocation/next");
    const std::string id(next["Lambda-Runtime-Aws-Request-Id"]);
    std::string kind = "/response", answer;
    try {
      answer = serialize(handler(boost::json::parse(next.body()).as_object()));
    } catch (const std::exception& error) {
      kind = "/error";
      answer = error_text("Function.Error", error.what());
    }
    std::fflush(stdout);  // the log must be out before the result
    api.exchange(http::verb::post, "invocation/" + id + kind, answer);
  }
}
