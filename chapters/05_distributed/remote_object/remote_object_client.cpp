// Client of the recipe remote_object
//
// Finds an object by its name, or by its address, and calls it. That the object is in another process shows in two
// things only: somebody must say where it is, and the call can fail.
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed/remote_object chapters/05_distributed/remote_object/remote_object.capnp && g++ -std=c++20 -O1 -Icommon -Ibuild chapters/05_distributed/remote_object/remote_object_client.cpp build/remote_object.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o remote_object_client
// Run:     remote_object_client --names ADDRESS [--object NAME-OR-ADDRESS] [--visitor NAME]

#include <iostream>
#include <string>

#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "proxy.hpp"

int main(int argc, char** argv) {
  std::string names_address, object = "server", visitor;
  int timeout_ms = 2000;
  cookbook::Options options("Call a remote object");
  options.add("names", names_address, "address of the name server");
  options.add("object", object, "name or address of the object");
  options.add("visitor", visitor, "who is greeted; if left out, the program asks");
  options.add("timeout-ms", timeout_ms, "how long to wait for an answer", 1, 3'600'000);
  options.parse(argc, argv);
  const kj::Duration timeout = timeout_ms * kj::MILLISECONDS;

  const bool by_name = !object.starts_with("capnp:");
  Address address = by_name ? address_of_option("names", names_address) : address_of_option("object", object);
  if (visitor.empty()) {
    std::cout << "What is your name? " << std::flush;
    std::getline(std::cin, visitor);
  }

  auto io = kj::setupAsyncIo();
  if (by_name) {
    Proxy<remote::NameServer> names(io, address, timeout);
    address = look_up(io, names, object, timeout);
  }
  Proxy<remote::Greeting> greeting(io, address, timeout);
  auto request = greeting->welcomeMessageRequest();
  request.setName(visitor);
  cookbook::println("{}", wait_for(io, kj::Promise(request.send()), timeout).getMessage().cStr());
}
