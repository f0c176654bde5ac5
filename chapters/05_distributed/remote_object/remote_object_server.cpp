// Greeting server of the recipe remote_object
//
// Makes an object, gives it to an object server, which finds an address for it, and registers that address under a
// name. Then it serves until it is ended. SIGTERM ends it in good order: it takes back the name first.
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed/remote_object chapters/05_distributed/remote_object/remote_object.capnp && g++ -std=c++20 -O1 -Icommon -Ibuild chapters/05_distributed/remote_object/remote_object_server.cpp build/remote_object.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o remote_object_server
// Run:     remote_object_server --names ADDRESS [--name TEXT]

#include <kj/async-unix.h>

#include <csignal>
#include <string>

#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "greeting.hpp"
#include "object_server.hpp"
#include "proxy.hpp"

int main(int argc, char** argv) {
  std::string names_address, name = "server";
  unsigned port = 0;
  int timeout_ms = 2000;
  cookbook::Options options("Serve a greeting object, registered under a name");
  options.add("names", names_address, "address of the name server");
  options.add("name", name, "name of the object");
  options.add("port", port, "port to listen on; 0: one that is free", 0, 65535);
  options.add("timeout-ms", timeout_ms, "how long to wait for the name server", 1, 3'600'000);
  options.parse(argc, argv);
  const Address names_at = address_of_option("names", names_address);

  kj::UnixEventPort::captureSignal(SIGTERM);
  auto io = kj::setupAsyncIo();
  const kj::Duration timeout = timeout_ms * kj::MILLISECONDS;

  ObjectServer server(io, port);
  const Address own = server.add(kj::heap<Greeting>());

  Proxy<remote::NameServer> names(io, names_at, timeout);
  auto publication = names->publishRequest();
  publication.setName(name);
  publication.setAddress(own.text());
  wait_for(io, kj::Promise(publication.send()), timeout);

  cookbook::println("Ready. Object uri = {}", own.text());
  auto terminated = io.unixEventPort.onSignal(SIGTERM).ignoreResult();
  server.serve().exclusiveJoin(kj::mv(terminated)).wait(io.waitScope);

  auto removal = names->removeRequest();
  removal.setName(name);
  removal.setAddress(own.text());
  wait_for(io, kj::Promise(removal.send()), timeout);
}
