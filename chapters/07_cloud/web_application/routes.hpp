/// The heart of a web framework: a table from path and method to the function that makes the page.
#pragma once

#include <algorithm>
#include <boost/beast/http.hpp>
#include <charconv>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace http = boost::beast::http;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

/// Fills in a response: its body, and its Content-Type if that is not the usual one.
using Handler = std::function<void(const Request&, Response&)>;
using Routes = std::map<std::string, std::map<http::verb, Handler>>;

/// The path that a request names, without the query ("?name=x") and without the host of the absolute form
/// "http://host/path" (RFC 9112, 3.2.2). It is compared as it was sent: "/%68ello" is not "/hello".
inline std::string path_of(const Request& request) {
  std::string path(request.target().substr(0, request.target().find('?')));
  if (path.starts_with("http://")) path.erase(0, path.find('/', 7));
  return path.empty() ? "/" : path;
}

/// The methods of a path, as the field Allow lists them: GET brings HEAD with it, and each path has OPTIONS.
inline std::string methods_of(const std::map<http::verb, Handler>& handlers) {
  std::string methods = "OPTIONS";
  for (const auto& [method, handler] : handlers) {
    methods.append(method == http::verb::get ? ", HEAD, " : ", ").append(http::to_string(method));
  }
  return methods;
}

/// The response to a request: 404 if the table has no such path, 405 if this path has no such method (RFC 9110 wants
/// 501 for one that HTTP does not know), 500 if its handler throws.
inline Response answer(const Routes& routes, const Request& request) {
  const auto path = routes.find(path_of(request));
  if (path == routes.end()) return {http::status::not_found, 11};  // 11: HTTP/1.1

  Response response(http::status::ok, 11);
  const http::verb method = request.method() == http::verb::head ? http::verb::get : request.method();
  if (const auto handler = path->second.find(method); handler != path->second.end()) {
    response.set(http::field::content_type, "text/html; charset=utf-8");
    try {
      handler->second(request, response);
      return response;
    } catch (...) {  // whatever a handler throws
      return {http::status::internal_server_error, 11};
    }
  }
  response.set(http::field::allow, methods_of(path->second));
  if (method != http::verb::options) response.result(http::status::method_not_allowed);
  return response;
}

/// Undoes the encoding of a query (RFC 3986): "%3C" stands for the byte 3C, "<", and "+" for a blank. A "%" without two
/// hexadecimal digits stays.
inline std::string decoded(std::string_view text) {
  std::string plain;
  for (; !text.empty(); text.remove_prefix(1)) {
    unsigned char byte = 0;
    if (text[0] == '%' && text.size() > 2 && std::from_chars(&text[1], &text[1] + 2, byte, 16).ptr == &text[1] + 2) {
      plain += static_cast<char>(byte);
      text.remove_prefix(2);
    } else {
      plain += text[0] == '+' ? ' ' : text[0];
    }
  }
  return plain;
}

/// The value of a parameter of the request's query: "Ada" for the name in "/hello?name=Ada&age=36"; empty if there is
/// none.
inline std::string query(const Request& request, std::string_view name) {
  std::string_view rest = request.target();
  rest.remove_prefix(std::min(rest.find('?'), rest.size()));
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the ? or the &
    const std::string_view one = rest.substr(0, rest.find('&'));
    if (one.starts_with(name) && one.substr(name.size()).starts_with('=')) return decoded(one.substr(name.size() + 1));
    rest.remove_prefix(one.size());
  }
  return "";
}

/// A text as HTML shows it: the characters by which HTML begins or ends something are replaced.
inline std::string escaped(std::string_view text) {
  static const std::map<char, std::string_view> names = {
      {'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  std::string html;
  for (const char c : text) {
    const auto name = names.find(c);
    html += name == names.end() ? std::string_view(&c, 1) : name->second;
  }
  return html;
}
