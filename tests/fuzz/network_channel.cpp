// The host of a channel: a client sends whatever it likes, and the next client is served all the same.

#include "05_distributed/csp_network_channel/network_channel.hpp"

#include "local_client.hpp"

void one_input(std::string_view input) {
  namespace ip = boost::asio::ip;
  static boost::asio::io_context io;
  static ip::tcp::acceptor acceptor(io, {ip::address_v4::loopback(), 0});
  const unsigned short port = acceptor.local_endpoint().port();

  // All of this is in the socket's memory before the host reads it, so one thread is enough.
  LocalClient any(port), good(port);
  any.send_all(input.substr(0, 10'000));
  good.send_all("open B\nvalue 7\nbye\n");
  for (bool served = false; !served;) {
    NetworkChannel channel("B", acceptor);  // served by it is who opens it first
    long last = 0;
    try {
      for (;;) last = channel.read();
    } catch (const Poisoned&) {
    } catch (const Disconnected&) {
      served = last == 7;
    } catch (const ChannelLost&) {
    }
  }
}
