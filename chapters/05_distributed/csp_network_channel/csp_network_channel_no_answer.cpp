// Pitfall: a write that waits for no answer
//
// Five numbers are sent to another program, and every call succeeds. That program ends without having read one of them.
// A successful send says only that the bytes are in the memory of this machine's system: they may be on their way, or
// never be read. So the recipe's write waits for an answer.
//
// Compile: g++ -std=c++20 -O2 chapters/05_distributed/csp_network_channel/csp_network_channel_no_answer.cpp -pthread -o csp_network_channel_no_answer
// Run:     csp_network_channel_no_answer
// Symptom: exit 1, prints "5 numbers were sent, 0 were read"

#include <boost/asio.hpp>
#include <cstdio>
#include <string>

int main() {
  using boost::asio::ip::tcp;
  boost::asio::io_context io;
  tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  tcp::socket writer(io);
  writer.connect(acceptor.local_endpoint());
  tcp::socket reader = acceptor.accept();

  int sent = 0, read = 0;
  for (; sent < 5; ++sent) {
    boost::asio::write(writer, boost::asio::buffer(std::to_string(sent) + "\n"));  // throws if it fails
  }
  reader.close();  // the other program dies here, before its first read

  std::printf("%d numbers were sent, %d were read\n", sent, read);
  return sent == read ? 0 : 1;
}
