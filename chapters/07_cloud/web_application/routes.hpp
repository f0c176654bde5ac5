/// The heart of a web framework: a table from path and method to the function that answers.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "request.hpp"

using Handler = std::function<Response(const Request&)>;

class Routes {
 public:
  /// From now on `handler` answers requests for this path with this method. GET brings HEAD with it, and every path
  /// OPTIONS.
  void add(std::string path, http::verb method, Handler handler) {
    table_[std::move(path)].emplace_back(method, std::move(handler));
  }

  Response answer(const Request& request) const {
    const auto route = table_.find(request.path);
    if (route == table_.end()) return {"no such page\n", http::status::not_found};

    const http::verb method = request.method == http::verb::head ? http::verb::get : request.method;
    for (const auto& [allowed, handler] : route->second) {
      if (allowed == method) return call(handler, request);
    }
    Response response = {.body = "", .allow = methods(route->second)};
    if (method != http::verb::options) {
      response.status = http::status::method_not_allowed;
      response.body = "not by this method\n";
    }
    return response;
  }

 private:
  /// A handler that throws costs its client the page, and nobody else anything.
  static Response call(const Handler& handler, const Request& request) {
    try {
      return handler(request);
    } catch (const std::exception&) {
      return {"something went wrong\n", http::status::internal_server_error};
    }
  }

  using Methods = std::vector<std::pair<http::verb, Handler>>;

  static std::string methods(const Methods& methods) {
    std::string names;
    for (const auto& [method, handler] : methods) {
      names += std::string(http::to_string(method)) + (method == http::verb::get ? ", HEAD, " : ", ");
    }
    return names + "OPTIONS";
  }

  std::map<std::string, Methods, std::less<>> table_;
};
