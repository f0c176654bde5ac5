// HTTP server
//
// What has a web server to guard against? Clients that are slow, greedy or confused, and more of them than it can take.
// The server (http_server.hpp) has one thread and one coroutine per connection; Boost.Beast reads and writes HTTP. The
// program visits it twice as such clients do: once with its limits, and once without. With --serve it only serves.
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

  bool has_answer() const { return socket_.available() > 0; }

  int ask(std::string_view text) {
    send(text);
    return receive();
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
    if (client.ask(request("GET /")) == 200) return client;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// What the clients get from one server, in the order of the rows.
using Results = std::vector<std::string>;

/// The rows: who the client is, what it does, and which limit it exceeds.
constexpr const char* rows[][3] = {{"polite", "asks twice on one connection", ""},
                                   {"surplus", "comes while three are connected", "3 clients"},
                                   {"slow", "sends one byte every 20 ms", "1 s"},
                                   {"long", "sends a head of 9000 bytes", "8000 bytes"},
                                   {"greedy", "sends a body of 65537 bytes", "65536 bytes"},
                                   {"confused", "names two lengths for one body", "one length"},
                                   {"polite", "sends what it should", ""}};
constexpr std::size_t row_of_slow = 2;

/// Visits a server as all these clients do. `slow_seconds` is for how long the slow one has sent its bytes.
Results visit(unsigned short port, double& slow_seconds) {
  Results results;
  const auto note = [&](int status) { results.push_back(std::to_string(status)); };
  {
    Client first = come_in(port), second = come_in(port), third = come_in(port);
    note(first.ask(request("GET /")));
    Client surplus(port);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (!surplus.has_answer()) surplus.send(request("GET /"));  // a server that refuses it does so unasked
    note(surplus.receive());
  }

  const cookbook::Stopwatch watch;
  Client slow = come_in(port);
  bool open = true;
  while (open && watch.seconds() < 2) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    open = slow.send("G");
  }
  slow_seconds = watch.seconds();
  results.emplace_back(open ? "open" : "closed");

  const std::string path(9'000 - request("GET /").size(), 'a');
  note(come_in(port).ask(request("GET /" + path)));
  note(come_in(port).ask(request("POST /echo", "Content-Length: 65537\r\n", std::string(65'537, 'x'))));
  note(come_in(port).ask(request("POST /echo", "Content-Length: 1\r\nContent-Length: 36\r\n",
                                 "xGET /admin HTTP/1.1\r\nHost: here\r\n\r\n")));
  note(come_in(port).ask(request("POST /echo", "Content-Length: 4\r\n", "body")));
  return results;
}

/// The application that both servers run.
Response application(const Request& request) {
  Response response(http::status::ok, 11);  // 11: HTTP/1.1
  response.set(http::field::content_type, "text/plain");
  if (request.target() == "/") {
    response.body() = "Hello from Flask!";
  } else if (request.target() == "/echo") {
    response.body() = request.body();
  } else {
    response.result(http::status::not_found);
  }
  return response;
}

/// Starts a server with these limits, visits it, and ends it as a hosting platform does.
Results visit_server(unsigned short port, const Limits& limits, double& slow_seconds) {
  HttpServer server(application, port, limits);
  const std::jthread serving([&] { server.run(); });
  Results results = visit(server.port(), slow_seconds);
  std::raise(SIGTERM);
  return results;
}

}  // namespace

int main(int argc, char** argv) {
  bool serve = false;
  unsigned short port = 0;
  int timeout_ms = 10'000;
  Limits limits;
  cookbook::Options options("Serve HTTP to clients that are slow, greedy or confused");
  options.add_flag("serve", serve, "only serve, until SIGTERM or SIGINT");
  options.add("port", port, "port to listen on; 0 for a free one", 0, 65'535);
  options.add("timeout-ms", timeout_ms, "with --serve: milliseconds that a client may take for a request", 1'000,
              86'400'000);
  options.add("max-clients", limits.clients, "with --serve: connections at the same time", 1, 100'000);
  options.parse(argc, argv);
  if (serve) {
    limits.timeout = std::chrono::milliseconds(timeout_ms);
    HttpServer server(application, port, limits);
    cookbook::println("listening on 127.0.0.1:{}", server.port());
    server.run();
    return 0;
  }

  const Limits strict = {.timeout = std::chrono::seconds(1), .clients = 3};
  const Limits none = {.timeout = std::chrono::hours(24), .clients = 1'000'000, .head = 1U << 30, .body = 1U << 30};
  double seconds[2];
  const Results with = visit_server(port, strict, seconds[0]), without = visit_server(port, none, seconds[1]);

  cookbook::println("{:<9} {:<31} {:<12} {:<18}  {}", "client", "what it does", "limit", "with the limits", "without");
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    const auto cell = [&](const Results& results, double time) {
      return i == row_of_slow ? fmt::format("{} after {:.1f} s", results[i], time) : results[i];
    };
    const auto [client, does, limit] = rows[i];
    cookbook::println("{:<9} {:<31} {:<12} {:<18}  {}", client, does, limit, cell(with, seconds[0]),
                      cell(without, seconds[1]));
  }

  cookbook::Checks checks;
  checks.equal("with the limits", with, {"200", "503", "closed", "431", "413", "400", "200"});
  checks.equal("without", without, {"200", "200", "open", "404", "200", "400", "200"});
  return checks.exit_code();
}
