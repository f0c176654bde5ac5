// Pitfall: a write that waits for no answer
//
// Five numbers are sent to another program (here a thread), and every call succeeds. That program reads three of them
// and ends. A successful send says only that the bytes are in the memory of this machine's system: they may be on their
// way, or never be read. So the recipe's write waits for an answer. The reader sends one, but nobody looks at it.
//
// Compile: g++ -std=c++20 -O2 chapters/05_distributed/csp_network_channel/csp_network_channel_no_answer.cpp -pthread -o csp_network_channel_no_answer
// Run:     csp_network_channel_no_answer
// Symptom: exit 1, prints "5 numbers were sent, 3 were read"

#include <boost/asio.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

int main() {
  using boost::asio::ip::tcp;
  boost::asio::io_context io;
  tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  tcp::socket writer(io);
  writer.connect(acceptor.local_endpoint());

  int sent = 0, read = 0;
  std::jthread other_program([&] {
    tcp::socket reader = acceptor.accept();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it is slow
    for (std::string line; read < 3; ++read) {
      line.erase(0, boost::asio::read_until(reader, boost::asio::dynamic_buffer(line), '\n'));
      boost::asio::write(reader, boost::asio::buffer("taken\n", 6));
    }
  });  // it dies here, with its socket
  for (; sent < 5; ++sent) {
    boost::asio::write(writer, boost::asio::buffer(std::to_string(sent) + "\n"));  // throws if it fails
  }
  other_program.join();

  std::printf("%d numbers were sent, %d were read\n", sent, read);
  return sent == read ? 0 : 1;
}
