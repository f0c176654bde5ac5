// The table of routes of the recipe web_application, with requests as its server reads them.

#include <boost/beast/core.hpp>
#include <stdexcept>
#include <string>

#include "07_cloud/web_application/routes.hpp"
#include "fuzz.hpp"

namespace {

/// The pages of the recipe that use what a client has sent.
Routes pages() {
  const http::verb get = http::verb::get, post = http::verb::post;
  Routes routes;
  routes["/"][get] = [](const Request&, Response& response) { response.body() = "Hello"; };
  routes["/hello"][get] = [](const Request& request, Response& response) {
    response.body() = escaped(query(request, "name"));
  };
  routes["/echo"][post] = [](const Request& request, Response& response) { response.body() = request.body(); };
  routes["/broken"][get] = [](const Request&, Response&) { throw std::runtime_error("no database"); };
  routes["*"];
  return routes;
}

}  // namespace

void one_input(std::string_view input) {
  static const Routes routes = pages();
  require(decoded(input).size() <= input.size(), "a decoded text is no longer than what it was made from");
  require(escaped(input).find_first_of("<>\"'") == std::string::npos, "an escaped text can begin or end nothing");

  http::request_parser<http::string_body> parser;
  parser.eager(true);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(input.data(), input.size()), error);
  if (error || !parser.is_done()) return;
  const Request request = parser.release();
  const Response response = answer(routes, request);
  const unsigned status = response.result_int();
  require(status == 200 || status == 404 || status == 405 || status == 500, "a status that the table gives");
  if (request.target().starts_with("/hello") && status == 200) {
    require(response.body().find('<') == std::string::npos, "the page has no element that its author has not written");
  }
}
