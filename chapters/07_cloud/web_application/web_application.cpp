// Web application
//
// A web framework is a table from paths to functions, and a server that calls them. The application is what you see in
// this file: four pages, put into a table before the server starts. The server (http_server.hpp) has one thread and one
// coroutine per connection, and Boost.Beast reads and writes HTTP. The program starts it, visits it with a new
// connection for each request, and ends it with SIGTERM as a hosting platform does. With --serve it runs until somebody
// else does that.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/web_application/web_application.cpp common/cookbook/*.cpp -lfmt -pthread -o web_application
// Run:     web_application [--serve] [--port N] [--timeout-ms N]

#include <string>
#include <thread>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "http_server.hpp"

namespace {

/// Opens a connection, sends a request, and returns all that comes back. `fields` are more lines of its head.
std::string visit(const HttpServer& server, const std::string& method_and_path, const std::string& body = "",
                  const std::string& fields = "") {
  tcp::iostream stream("127.0.0.1", std::to_string(server.port()));
  stream << method_and_path << " HTTP/1.1\r\nHost: here\r\nConnection: close\r\nContent-Length: " << body.size()
         << "\r\n"
         << fields << "\r\n"
         << body << std::flush;
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

int main(int argc, char** argv) {
  bool serve = false;
  unsigned short port = 0;
  int timeout_ms = 10'000;
  cookbook::Options options("Serve web pages by functions in a table of routes");
  options.add_flag("serve", serve, "only serve, until SIGTERM or SIGINT");
  options.add("port", port, "port to listen on; 0 for a free one", 0, 65'535);
  options.add("timeout-ms", timeout_ms, "milliseconds that a client may take for a request", 1'000, 86'400'000);
  options.parse(argc, argv);

  Routes routes;
  HttpServer server(routes, port, std::chrono::milliseconds(timeout_ms));  // keeps a reference to the table
  const http::verb get = http::verb::get, post = http::verb::post;
  routes["/"][get] = [](const Request&, Response& response) { response.body() = "Hello from Flask!"; };
  routes["/echo"][post] = [](const Request& request, Response& response) { response.body() = request.body(); };
  routes["/health"][get] = [](const Request&, Response& response) { response.body() = "ok"; };
  routes["/metrics"][get] = [&](const Request&, Response& response) {
    response.set(http::field::content_type, "text/plain; version=0.0.4");  // a format that monitoring programs read
    response.body() = fmt::format("http_requests_total {}\n", server.answers);
  };
  routes["*"];  // OPTIONS * asks the server itself, not a page
  if (serve) {
    cookbook::println("listening on 127.0.0.1:{}", server.port());
    server.run();
    return 0;
  }

  std::jthread running([&] { server.run(); });
  cookbook::Checks checks;
  checks.that("GET / gives the greeting", visit(server, "GET /").ends_with("\r\n\r\nHello from Flask!"));
  checks.that("HEAD / gives its head alone", visit(server, "HEAD /").ends_with("Content-Length: 17\r\n\r\n"));
  // The status stands behind "HTTP/1.1 ", which are 9 characters.
  checks.equal("GET /nowhere", visit(server, "GET /nowhere").substr(9, 13), "404 Not Found");
  checks.equal("DELETE /", visit(server, "DELETE /").substr(9, 22), "405 Method Not Allowed");
  const std::string long_body(65'537, 'x');
  checks.equal("POST /echo with 65537 bytes", visit(server, "POST /echo", long_body).substr(9, 21),
               "413 Payload Too Large");
  checks.equal("POST /echo with two lengths", visit(server, "POST /echo", "x", "Content-Length: 1\r\n").substr(9, 15),
               "400 Bad Request");
  std::raise(SIGTERM);  // as a hosting platform does
  running.join();       // returns, since nobody is connected any more
  return checks.exit_code();
}
