// Channel to another process: the host
//
// Hosts the channel B, on a free port that it prints, and reads from it until it is poisoned. When a client disconnects
// or dies, it waits for the next one. With --busy-ms it works so long before each read.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/05_distributed/csp_network_channel/csp_network_channel_host.cpp common/cookbook/*.cpp -lfmt -pthread -o csp_network_channel_host
// Run:     csp_network_channel_host [--port N] [--busy-ms N], then Ctrl-C

#include <chrono>
#include <thread>

#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "network_channel.hpp"

int main(int argc, char** argv) {
  unsigned short port = 0;
  int busy_ms = 0;
  cookbook::Options options("Host a channel and read from it");
  options.add("port", port, "port to listen on; 0: a free one", 0, 65535);
  options.add("busy-ms", busy_ms, "ms of other work before each read", 0, 10'000);
  options.parse(argc, argv);

  namespace ip = boost::asio::ip;
  boost::asio::io_context io;
  ip::tcp::acceptor acceptor(io, {ip::address_v4::loopback(), port});
  cookbook::println("port {}", acceptor.local_endpoint().port());

  for (;;) {
    NetworkChannel b("B", acceptor);
    try {
      for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(busy_ms));  // stands for other work
        cookbook::println("host: {}", b.read());
      }
    } catch (const Poisoned& end) {
      cookbook::println("host: {}", end.what());
      return 0;
    } catch (const std::exception& end) {
      cookbook::println("host: {}", end.what());
    }
  }
}
