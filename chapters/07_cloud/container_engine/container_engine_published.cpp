// Pitfall: a port is published on all addresses
//
// The request that creates a container names a port that is to be reachable, and no address. An engine then publishes
// it at every address of the machine: a server that was meant for programs of this machine answers its whole network,
// unless a firewall stops it. This program needs no engine. It opens a listening socket at the address of the binding,
// as an engine of an ordinary user does. 127.0.0.2 stands for another address at which a port may be bound, such as
// that of the machine in a network.
//
// Compile: g++ -std=c++20 -O2 chapters/07_cloud/container_engine/container_engine_published.cpp -lboost_json -pthread -o container_engine_published
// Run:     container_engine_published
// Symptom: exit 1, prints "through 127.0.0.2: connected"

#include <boost/asio.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <string>

namespace asio = boost::asio;
namespace json = boost::json;
using asio::ip::tcp;

namespace {

/// What the engine of an ordinary user does with a port binding: it listens at HostIp, or else at all addresses.
tcp::acceptor publish(asio::io_context& loop, const json::object& binding) {
  const json::value* const address = binding.if_contains("HostIp");
  const std::string host = address == nullptr ? "" : std::string(address->as_string());
  return {loop, {asio::ip::make_address(host.empty() ? "0.0.0.0" : host), 0}};
}

bool is_reached(asio::io_context& loop, const std::string& address, unsigned short port) {
  boost::system::error_code refused;
  tcp::socket(loop).connect({asio::ip::make_address(address), port}, refused);
  std::printf("through %s: %s\n", address.c_str(), refused ? refused.message().c_str() : "connected");
  return !refused;
}

}  // namespace

int main() {
  asio::io_context loop;
  const json::object binding = {{"HostPort", ""}};  // wrong: it says nothing about the address
  const tcp::acceptor published = publish(loop, binding);
  const unsigned short port = published.local_endpoint().port();
  const bool here = is_reached(loop, "127.0.0.1", port);
  const bool there = is_reached(loop, "127.0.0.2", port);
  return here && !there ? 0 : 1;
}
