// HTTP server
//
// What has a web server to guard against? Clients that are slow, greedy or confused, and more of them than it can take.
// The server (http_server.hpp) has one thread and one coroutine per connection; Boost.Beast reads and writes HTTP. The
// program starts it with room for three clients, visits it as such clients do, and ends it with SIGTERM as a hosting
// platform does. With --serve it only serves.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/http_server/http_server.cpp common/cookbook/*.cpp -lfmt -pthread -o http_server
// Run:     http_server [--serve] [--port N] [--timeout-ms N] [--max-clients N]

#include "http_server.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

/// A client that writes its requests by hand.
class Client {
 public:
  /// Throws if nobody listens.
  explicit Client(unsigned short port) { socket_.connect({asio::ip::address_v4::loopback(), port}); }

  /// Returns false if the server has closed the connection.
  bool send(std::string_view text) {
    error_code gone;
    asio::write(socket_, asio::buffer(text), gone);
    return !gone;
  }

  /// The status of the next answer, such as 200; 0 if the server ends the connection instead.
  int receive() {
    http::response_parser<http::string_body> answer;
    error_code gone;
    http::read(socket_, buffer_, answer, gone);
    return gone ? 0 : static_cast<int>(answer.get().result_int());
  }

 private:
  std::unique_ptr<asio::io_context> loop_ = std::make_unique<asio::io_context>();
  tcp::socket socket_{*loop_};
  beast::flat_buffer buffer_;
};

std::string request(std::string_view method_and_path, std::string_view fields = "", std::string_view body = "") {
  return fmt::format("{} HTTP/1.1\r\nHost: here\r\n{}\r\n{}", method_and_path, fields, body);
}

/// A client that has had one answer. It tries again as long as the server has no room.
Client come_in(unsigned short port) {
  for (;;) {
    Client client(port);
    client.send(request("GET /"));
    if (client.receive() == 200) return client;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Visits the server as all kinds of clients do, and prints what each client got. Returns the statuses.
std::vector<std::string> visit(unsigned short port) {
  std::vector<std::string> statuses;
  const auto report = [&](std::string_view who, std::string_view does, std::string_view limit, int status,
                          std::string_view more = "") {
    statuses.push_back(status == 0 ? "none" : std::to_string(status));
    cookbook::println("{:<9} {:<40} {:<13} {}{}", who, does, limit, statuses.back(), more);
  };
  cookbook::println("{:<9} {:<40} {:<13} {}", "client", "what it does", "limit", "status");

  {
    Client first = come_in(port), second = come_in(port), third = come_in(port);
    first.send(request("GET /"));
    report("polite", "asks twice on one connection", "", first.receive());
    report("surplus", "comes while three are connected", "3 clients", Client(port).receive());
  }

  Client slow = come_in(port);
  const cookbook::Stopwatch watch;
  while (slow.send("G")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  report("slow", "sends one byte every 20 ms", "1 s", slow.receive(), fmt::format(" after {:.1f} s", watch.seconds()));

  Client endless = come_in(port);
  endless.send("GET /" + std::string(9'000, 'a'));
  report("endless", "sends 9000 bytes and no line end", "8000 bytes", endless.receive());

  Client greedy = come_in(port);
  greedy.send(request("POST /echo", "Content-Length: 65537\r\n", std::string(65'537, 'x')));
  report("greedy", "sends a body of 65537 bytes", "65536 bytes", greedy.receive());

  Client confused = come_in(port);
  confused.send(request("POST /echo", "Content-Length: 1\r\nContent-Length: 30\r\n",
                        "xGET /admin HTTP/1.1\r\nHost: here\r\n\r\n"));
  report("confused", "names two lengths for one body", "one length", confused.receive());

  Client last = come_in(port);
  last.send(request("POST /echo", "Content-Length: 4\r\n", "body"));
  report("polite", "sends what it should", "", last.receive());
  return statuses;
}

}  // namespace

int main(int argc, char** argv) {
  bool serve = false;
  unsigned short port = 0;
  int timeout_ms = 10'000, max_clients = 1000;
  cookbook::Options options("Serve HTTP to clients that are slow, greedy or confused");
  options.add_flag("serve", serve, "only serve, until SIGTERM or SIGINT");
  options.add("port", port, "port to listen on; 0 for a free one", 0, 65'535);
  options.add("timeout-ms", timeout_ms, "with --serve: milliseconds that a client may take for a request", 1'000,
              86'400'000);
  options.add("max-clients", max_clients, "with --serve: connections at the same time", 1, 100'000);
  options.parse(argc, argv);
  if (!serve) timeout_ms = 1'000, max_clients = 3;

  const HttpServer* running = nullptr;
  const auto application = [&](const Request& request) {
    Response response(http::status::ok, 11);  // 11: HTTP/1.1
    response.set(http::field::content_type, "text/plain");
    if (request.target() == "/") {
      response.body() = "Hello from Flask!";
    } else if (request.target() == "/echo") {
      response.body() = request.body();
    } else if (request.target() == "/metrics") {
      response.body() = fmt::format("http_requests_total {}\n", running->answers);
    } else {
      response.result(http::status::not_found);
    }
    return response;
  };
  HttpServer server(application, port, std::chrono::milliseconds(timeout_ms), max_clients);
  running = &server;
  if (serve) {
    cookbook::println("listening on 127.0.0.1:{}", server.port());
    server.run();
    return 0;
  }

  std::jthread serving([&] { server.run(); });
  const std::vector<std::string> statuses = visit(server.port());
  std::raise(SIGTERM);
  serving.join();

  cookbook::Checks checks;
  checks.equal("answers", statuses, {"200", "503", "none", "431", "413", "400", "200"});
  return checks.exit_code();
}
