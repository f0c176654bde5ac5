// Web application
//
// The application is the function pages(): four functions, put into a table of routes (routes.hpp). The program starts
// a server, sends it eight requests, and prints what came back for each. Where the table has no path or no method, or a
// function fails, answer() chooses the status. The server handles one client at a time; the recipe http_server says
// what it lacks.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/web_application/web_application.cpp common/cookbook/*.cpp -lfmt -pthread -o web_application
// Run:     web_application [--serve] [--port N]

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "routes.hpp"

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// The application: a function for each page.
Routes pages() {
  const http::verb get = http::verb::get, post = http::verb::post;
  Routes routes;
  routes["/"][get] = [](const Request&, Response& response) { response.body() = "Hello from Flask!"; };
  routes["/hello"][get] = [](const Request& request, Response& response) {
    response.body() = "Hello " + escaped(query(request, "name")) + "!";
  };
  routes["/echo"][post] = [](const Request& request, Response& response) {
    response.set(http::field::content_type, "text/plain");
    response.body() = request.body();
  };
  routes["/broken"][get] = [](const Request&, Response&) { throw std::runtime_error("no database"); };
  routes.try_emplace("*");  // no page: OPTIONS * asks what the server can do
  return routes;
}

/// Reads one request from the next client, and answers it.
void serve_one(tcp::acceptor& acceptor, const Routes& routes) {
  tcp::socket client = acceptor.accept();
  boost::beast::flat_buffer buffer;
  Request request;
  http::read(client, buffer, request);
  Response response = answer(routes, request);
  response.keep_alive(false);
  response.prepare_payload();  // sets Content-Length, also for HEAD, whose answer has no body
  if (request.method() == http::verb::head) response.body().clear();
  http::write(client, response);
}

[[noreturn]] void serve_all(tcp::acceptor& acceptor, const Routes& routes) {
  for (;;) {
    try {
      serve_one(acceptor, routes);
    } catch (const boost::system::system_error&) {
      // This client has gone, or has sent no request. The next one, please.
    }
  }
}

// From here on: the visitors.

struct Visit {
  http::verb method;
  std::string target, body;
};

/// Sends a request and returns the answer.
Response ask(unsigned short port, const Visit& visit) {
  asio::io_context loop;
  tcp::socket socket(loop);
  socket.connect({asio::ip::address_v4::loopback(), port});
  Request request(visit.method, visit.target, 11, visit.body);  // 11: HTTP/1.1
  request.set(http::field::host, "here");
  request.prepare_payload();
  http::write(socket, request);
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> answer;
  if (visit.method == http::verb::head) answer.skip(true);  // no body follows, whatever Content-Length says
  http::read(socket, buffer, answer);
  return answer.release();
}

/// Prints a row of the output.
void show(const Visit& visit, const Response& response) {
  std::string sent = fmt::format("{} {}", std::string(http::to_string(visit.method)), visit.target);
  if (!visit.body.empty()) sent += " with " + visit.body;
  std::string got = response.body();
  if (visit.method == http::verb::head) got = fmt::format("(of {} bytes)", std::string(response["Content-Length"]));
  if (response.count(http::field::allow) > 0) got = "Allow: " + std::string(response[http::field::allow]);
  cookbook::println("{:<23}  {:6}  {:<24}  {}", sent, response.result_int(), std::string(response["Content-Type"]),
                    got);
}

}  // namespace

int main(int argc, char** argv) {
  bool serve = false;
  unsigned short port = 0;
  cookbook::Options options("Answer requests by functions in a table of routes");
  options.add_flag("serve", serve, "only serve, until Ctrl-C");
  options.add("port", port, "port to listen on; 0 for a free one", 0, 65'535);
  options.parse(argc, argv);

  const Routes routes = pages();
  asio::io_context loop;
  tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), port});
  port = acceptor.local_endpoint().port();
  if (serve) {
    cookbook::println("listening on 127.0.0.1:{}", port);
    serve_all(acceptor, routes);
  }

  const std::vector<Visit> visits = {{http::verb::get, "/", ""},
                                     {http::verb::head, "/", ""},
                                     {http::verb::get, "/hello?name=Ada", ""},
                                     {http::verb::get, "/hello?name=%3Cb%3E", ""},  // as a browser writes <b>
                                     {http::verb::post, "/echo", "<b>"},
                                     {http::verb::get, "/nowhere", ""},
                                     {http::verb::delete_, "/", ""},
                                     {http::verb::get, "/broken", ""}};
  std::jthread server([&] {
    for (std::size_t i = 0; i < visits.size(); ++i) serve_one(acceptor, routes);
  });
  std::vector<unsigned> statuses;
  cookbook::println("{:<23}  {:6}  {:<24}  {}", "request", "status", "Content-Type", "answer");
  for (const Visit& visit : visits) {
    const Response response = ask(port, visit);
    statuses.push_back(response.result_int());
    show(visit, response);
  }

  cookbook::Checks checks;
  checks.equal("statuses", statuses, {200U, 200U, 200U, 200U, 200U, 404U, 405U, 500U});
  return checks.exit_code();
}
