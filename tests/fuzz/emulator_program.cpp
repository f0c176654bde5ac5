// The program of a function, for fuzz_emulator: what it gets as an event it sends as its next request. When no answer
// comes, that was no request, and it ends.

#include <poll.h>

#include "07_cloud/serverless_function/bootstrap.hpp"

int main() try {
  const std::string address = std::getenv("AWS_LAMBDA_RUNTIME_API");
  boost::asio::io_context io;
  boost::asio::ip::tcp::socket socket(io);
  socket.connect({boost::asio::ip::address_v4::loopback(),
                  static_cast<unsigned short>(std::stoi(address.substr(address.rfind(':') + 1)))});
  socket.set_option(boost::asio::ip::tcp::no_delay(true));
  boost::beast::flat_buffer buffer;
  for (;;) {
    const std::string next = "GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: x\r\n\r\n";
    boost::asio::write(socket, boost::asio::buffer(next));
    http::response<http::string_body> event;
    http::read(socket, buffer, event);
    boost::asio::write(socket, boost::asio::buffer(event.body()));
    pollfd answer = {socket.native_handle(), POLLIN, 0};
    if (poll(&answer, 1, 5) <= 0) return 0;
    http::response<http::string_body> taken;
    http::read(socket, buffer, taken);
  }
} catch (const std::exception&) {
  return 0;
}
