// Web application
//
// A web framework maps paths to functions, and a server keeps running and calls them. The application is what you see
// in this file: four pages, put into a table before the server starts. What is under it is one thread with a coroutine
// a connection, on Boost.Asio and Boost.Beast: routes.hpp has the table, request.hpp the parser, dialogue.hpp turns
// bytes into answers, http_server.hpp has the connections. It speaks HTTP/1.1 until SIGTERM or SIGINT, and bears
// clients that are many, slow, silent or hostile. run.sh starts web_visitor.cpp, which starts this server and tries all
// that.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/web_application/web_application.cpp common/cookbook/*.cpp -lfmt -pthread -o web_application
// Run:     web_application [--port N] [--timeout-ms N] [--max-connections N]

#include <sys/resource.h>

#include <chrono>
#include <string>

#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "http_server.hpp"

namespace {

Response hello_world(const Request&) { return {"Hello from Flask!"}; }

Response echo(const Request& request) { return {.body = request.body, .type = "application/octet-stream"}; }

/// Tells a load balancer whether to send requests here.
Response health(const Request&) { return {.body = "ok", .type = "text/plain"}; }

/// The server's counters in the text format that Prometheus reads.
Response metrics(const HttpServer& server) {
  const Counters& counters = server.counters();
  std::string text =
      "# HELP http_requests_total Requests answered, by status code.\n# TYPE http_requests_total counter\n";
  for (const auto& [status, count] : counters.answers) {
    text += fmt::format("http_requests_total{{code=\"{}\"}} {}\n", status, count);
  }
  const auto add = [&](std::string_view name, std::string_view kind, std::string_view help, auto value) {
    text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n{0} {3}\n", name, kind, help, value);
  };
  add("http_connections_total", "counter", "Connections accepted.", counters.connections);
  add("http_connections_open", "gauge", "Connections open now.", server.open_connections());
  add("http_timeouts_total", "counter", "Connections closed for want of a request.", counters.timed_out);
  add("http_rejected_total", "counter", "Connections closed at once, since there were too many.", counters.rejected);
  return {.body = text, .type = "text/plain; version=0.0.4"};
}

/// A connection is a file descriptor. The usual limit of 1024 may be raised by the program itself.
void allow_many_files() {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace

int main(int argc, char** argv) {
  unsigned short port = 0;
  int timeout_ms = 10'000;
  std::size_t max_connections = 10'000;
  cookbook::Options options("Serve web pages by functions in a table of routes, until SIGTERM or SIGINT");
  options.add("port", port, "port to listen on; 0 for a free one", 0, 65'535);
  options.add("timeout-ms", timeout_ms, "milliseconds that a client may take for a request", 4, 86'400'000);
  options.add("max-connections", max_connections, "connections at once; one more is rejected", 1, 100'000);
  options.parse(argc, argv);
  allow_many_files();

  Routes routes;
  HttpServer server(routes, port, std::chrono::milliseconds(timeout_ms), max_connections);
  routes.add("/", http::verb::get, hello_world);
  routes.add("/echo", http::verb::post, echo);
  routes.add("/health", http::verb::get, health);
  routes.add("/metrics", http::verb::get, [&](const Request&) { return metrics(server); });

  cookbook::println("listening on 127.0.0.1:{}", server.port());
  server.run();
  cookbook::println("ended after {} connections", server.counters().connections);
}
