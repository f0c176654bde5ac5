/// A client of a container engine, docker or podman: their commands are HTTP requests over a Unix socket.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <compare>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace http = boost::beast::http;
namespace json = boost::json;

/// A version of the engine's interface, such as 1.40. It is compared number by number: 1.9 is older than 1.12.
struct ApiVersion {
  int major, minor;
  auto operator<=>(const ApiVersion&) const = default;
  std::string text() const { return fmt::format("{}.{}", major, minor); }
};

/// Reads "1.40"; throws std::invalid_argument if the text is something else.
inline ApiVersion api_version(const std::string& text) {
  ApiVersion version = {};
  char rest = 0;
  if (std::sscanf(text.c_str(), "%d.%d%c", &version.major, &version.minor, &rest) == 2) return version;
  throw std::invalid_argument("not a version: " + text);
}

/// The full name of an image: "python" means "python:latest". (In "host:5000/python" the colon belongs to the host.)
inline std::string with_tag(const std::string& name) {
  const auto slash = name.rfind('/');
  const bool has_tag = name.find(':', slash == std::string::npos ? 0 : slash) != std::string::npos;
  return has_tag ? name : name + ":latest";
}

/// Connects, sends a request and reads the answer. Throws boost::system::system_error if the other end refuses, breaks
/// off or has not answered completely within `timeout`.
template <typename Protocol>
http::response<http::string_body> exchange(const typename Protocol::endpoint& server,
                                           http::request<http::string_body> request, std::chrono::seconds timeout) {
  request.set(http::field::host, "localhost");
  request.set(http::field::connection, "close");
  request.prepare_payload();
  boost::asio::io_context loop;
  boost::beast::basic_stream<Protocol> stream(loop);  // a socket with a deadline
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> answer;
  answer.body_limit(boost::none);
  // A coroutine, since only asynchronous operations have a deadline.
  const auto talk = [&]() -> boost::asio::awaitable<void> {
    stream.expires_after(timeout);
    co_await stream.async_connect(server, boost::asio::deferred);
    co_await http::async_write(stream, request, boost::asio::deferred);
    co_await http::async_read(stream, buffer, answer, boost::asio::deferred);
  };
  boost::asio::co_spawn(loop, talk, [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  });
  loop.run();
  return answer.release();
}

/// The engine has refused something: the status of its answer, and its own words.
struct EngineError : std::runtime_error {
  EngineError(http::status code, const std::string& message)
      : runtime_error(fmt::format("status {}: {}", static_cast<unsigned>(code), message)), status(code) {}
  http::status status;
};

class Engine {
 public:
  static constexpr ApiVersion oldest = {1, 40}, newest = {1, 44};  ///< what this client speaks

  /// `socket` is the path of the engine's Unix socket. Each of its answers may take `timeout`.
  explicit Engine(std::string socket, std::chrono::seconds timeout = std::chrono::seconds(60))
      : path_(std::move(socket)), timeout_(timeout) {}

  /// `docker version`. From now on both use the newest version of the interface that they have in common. Throws
  /// std::runtime_error if they have none.
  json::value version() {
    const json::value answer = request(http::verb::get, "/version");
    const std::string lowest = field_of(answer, "MinAPIVersion"), highest = field_of(answer, "ApiVersion");
    api_ = std::min(newest, api_version(highest));
    if (api_ < oldest || api_ < api_version(lowest)) {
      throw std::runtime_error(fmt::format("this client speaks versions {} to {} of the API, the engine {} to {}",
                                           oldest.text(), newest.text(), lowest, highest));
    }
    return answer;
  }

  /// `docker images`
  json::array images() const { return ask(http::verb::get, "/images/json").as_array(); }

  /// Whether the engine has the image itself. Another tag of the same name does not count.
  bool has(const std::string& image) const {
    for (const json::value& one : images()) {
      const json::array* const names = one.at("RepoTags").if_array();  // null: it has none
      if (names != nullptr && std::ranges::count(*names, json::value(with_tag(image))) > 0) return true;
    }
    return false;
  }

  /// `docker load`: `archive` is the content of the archive.
  void load(std::string archive) const {
    ask(http::verb::post, "/images/load", std::move(archive), "application/x-tar");
  }

  /// `docker run --detach --publish ADDRESS::PORT`; the container's id. The engine chooses a port of the host, and
  /// whoever can reach this address of the host can reach the container's port; an empty address means all addresses.
  std::string run(const std::string& image, int port, const std::string& address = "127.0.0.1") const {
    const json::array bindings = {json::object{{"HostIp", address}, {"HostPort", ""}}};  // "": any free port
    const json::object ports = {{std::to_string(port) + "/tcp", bindings}};
    const json::object wanted = {{"Image", with_tag(image)}, {"HostConfig", json::object{{"PortBindings", ports}}}};
    const std::string id = field_of(ask(http::verb::post, "/containers/create", serialize(wanted)), "Id");
    try {
      ask(http::verb::post, "/containers/" + id + "/start");
    } catch (...) {  // whatever it was: nobody else knows this container
      try {
        remove(id);
      } catch (const std::exception&) {
        // The first error is the one to report.
      }
      throw;
    }
    return id;
  }

  /// `docker port`: the port of the host through which the container's port can be reached.
  int port_of(const std::string& id, int port) const {
    const json::value all = ask(http::verb::get, "/containers/" + id + "/json");
    const json::value& bindings = all.at("NetworkSettings").at("Ports").at(std::to_string(port) + "/tcp");
    return std::stoi(field_of(bindings.at(0), "HostPort"));
  }

  /// `docker stop` and `docker wait`: sends SIGTERM, and SIGKILL 5 seconds later; the exit code.
  int stop(const std::string& id) const {
    ask(http::verb::post, "/containers/" + id + "/stop?t=5");
    return ask(http::verb::post, "/containers/" + id + "/wait").at("StatusCode").to_number<int>();
  }

  /// `docker rm --force`
  void remove(const std::string& id) const { ask(http::verb::delete_, "/containers/" + id + "?force=true"); }

  static std::string field_of(const json::value& object, std::string_view key) {
    return std::string(object.at(key).as_string());
  }

 private:
  /// Sends a request in the version of the interface that both speak.
  json::value ask(http::verb verb, const std::string& path, std::string body = {},
                  std::string_view type = "application/json") const {
    return request(verb, "/v" + api_.text() + path, std::move(body), type);
  }

  /// Sends a request and returns the answer, which is JSON or nothing. Throws EngineError if the engine refuses. Status
  /// 304 is no refusal: the container is already as it was to become, stopped for example.
  json::value request(http::verb verb, const std::string& path, std::string body = {},
                      std::string_view type = "application/json") const {
    http::request<http::string_body> question(verb, path, 11, std::move(body));  // 11: HTTP/1.1
    question.set(http::field::content_type, type);
    const auto answer = exchange<boost::asio::local::stream_protocol>(path_, std::move(question), timeout_);
    boost::system::error_code not_json;
    const json::value value = json::parse(answer.body(), not_json);
    if (to_status_class(answer.result()) == http::status_class::successful ||
        answer.result() == http::status::not_modified) {
      return not_json ? json::value() : value;
    }
    const bool has_message = !not_json && value.is_object() && value.as_object().contains("message");
    throw EngineError(answer.result(), has_message ? field_of(value, "message") : answer.body());
  }

  std::string path_;
  std::chrono::seconds timeout_;
  ApiVersion api_ = oldest;
};
