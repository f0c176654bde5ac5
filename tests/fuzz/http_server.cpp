// The server of the recipe http_server, as clients see it: whatever one sends, it answers in HTTP or closes the
// connection, and goes on.

#include "07_cloud/http_server/http_server.hpp"

#include <thread>

#include "local_client.hpp"

namespace {

unsigned short start_server() {
  auto& server = *new HttpServer(  // never deleted: its thread runs to the end
      [](const Request& request) {
        Response response(http::status::ok, 11);
        response.set(http::field::content_type, "text/plain");
        response.body() = request.body();
        return response;
      },
      0, {.timeout = std::chrono::seconds(60)});
  std::thread([&] { server.run(); }).detach();
  return server.port();
}

}  // namespace

void one_input(std::string_view input) {
  static const unsigned short port = start_server();
  LocalClient client(port);
  client.send_all(input.substr(0, 100'000));
  const std::string answer = client.receive_all();
  require(answer.empty() || answer.starts_with("HTTP/1.1 "), "the answer is one of HTTP");
}
