// Pitfall: a full buffer is no end
//
// A server that reads HTTP by itself collects bytes until it has the empty line at the end of the head. This one has a
// buffer of 8192 bytes, and nobody asks whether it is full. A client sends 9000 bytes and no line end. Then
// read_some() is asked to read into no room, and returns 0 bytes at once, for ever: one client keeps a core busy
// without sending anything, even when it has gone. (Here the server stops at the thousandth time, to tell.)
//
// Compile: g++ -std=c++20 -O2 chapters/07_cloud/http_server/http_server_endless_head.cpp -pthread -o http_server_endless_head
// Run:     http_server_endless_head
// Symptom: exit 1, prints "1000 reads have returned 0 bytes, though the client is still connected"

#include <array>
#include <boost/asio.hpp>
#include <cstdio>
#include <string>
#include <string_view>

namespace asio = boost::asio;
using asio::ip::tcp;

int main() {
  asio::io_context loop;
  tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});
  tcp::socket client(loop);
  client.connect(acceptor.local_endpoint());
  asio::write(client, asio::buffer(std::string("GET /").append(9000, 'a')));

  tcp::socket socket = acceptor.accept();
  std::array<char, 8192> buffer;
  std::size_t have = 0;
  int empty_reads = 0;
  while (std::string_view(buffer.data(), have).find("\r\n\r\n") == std::string_view::npos) {
    const std::size_t count = socket.read_some(asio::buffer(buffer) + have);  // wrong: there may be no room left
    have += count;
    if (count > 0) continue;
    if (++empty_reads == 1000) {
      std::puts("1000 reads have returned 0 bytes, though the client is still connected");
      return 1;
    }
  }
  socket.shutdown(tcp::socket::shutdown_send);  // the server's answer ends here

  std::string answer;
  boost::system::error_code end;
  asio::read(client, asio::dynamic_buffer(answer), end);
  std::printf("the client got: %s\n", answer.substr(0, answer.find('\r')).c_str());
}
