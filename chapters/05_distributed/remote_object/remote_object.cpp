// Remote object
//
// A greeting object lives in another process, and is called as if it were in this one: the same function calls both. To
// find it, the client asks a name server, a third process. What a call within a process cannot do, a remote call can:
// fail. The name may be unknown, the server may hang or be killed. The caller gets each of these as an error, in time.
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed chapters/05_distributed/node.capnp && capnp compile -oc++:build --src-prefix=chapters/05_distributed/remote_object chapters/05_distributed/remote_object/remote_object.capnp && g++ -std=c++20 -O1 -Icommon -Ichapters/05_distributed -Ibuild chapters/05_distributed/remote_object/remote_object.cpp build/node.capnp.c++ build/remote_object.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o remote_object
// Run:     remote_object [--part all|names|server|client] [--names ADDRESS] [--visitor NAME]

#include <csignal>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "greeting.hpp"
#include "name_server.hpp"

namespace {

using remote::error_of;

/// Calls the object and waits for its answer. Where the object is cannot be seen here.
std::string welcome(remote::Node& node, api::Greeting::Client& greeting, const std::string& visitor,
                    kj::Duration timeout = 5 * kj::SECONDS) {
  auto request = greeting.welcomeMessageRequest();
  request.setName(visitor);
  return node.call(request, timeout).getMessage();
}

/// The server's part: makes the object, gives it an address, registers the address under a name, and serves.
void serve(const std::string& names) {
  remote::Node node;
  const std::string address = node.add(kj::heap<Greeting>());
  remote::publish(node, names, "server", address);
  cookbook::println("Ready. Object uri = {}", address);
  node.serve();
}

/// The client's part: finds the object by its name, and calls it.
void visit(const std::string& names, const std::string& visitor) {
  remote::Node node;
  auto greeting = remote::find<api::Greeting>(node, names, "server");
  cookbook::println("{}", welcome(node, *greeting, visitor));
}

int all_parts(const std::string& visitor) {
  cookbook::ChildProcess name_server([] { remote::serve_names(); });
  const std::string names = name_server.read_line();
  cookbook::ChildProcess server([&] { serve(names); });
  cookbook::println("{}", server.read_line());

  remote::Node node;
  api::Greeting::Client here = kj::heap<Greeting>();
  auto there = remote::find<api::Greeting>(node, names, "server");  // a Proxy, used like a pointer to a Client

  cookbook::Checks checks;
  checks.equal("called there, as called here", welcome(node, *there, visitor), welcome(node, here, visitor));

  auto nobody = remote::find<api::Greeting>(node, names, "nobody");
  checks.equal("unknown name", error_of([&] { welcome(node, *nobody, visitor); }), "unknown name: nobody");
  checks.equal("wrong argument", error_of([&] { welcome(node, *there, std::string(101, 'x')); }),
               "a name has at most 100 bytes");

  server.send_signal(SIGSTOP);                             // it does nothing more, but its connections stay open
  auto under_way = there->welcomeMessageRequest().send();  // sent, and not yet waited for
  checks.equal("server hangs", error_of([&] { welcome(node, *there, visitor, 100 * kj::MILLISECONDS); }),
               "no answer within 100 ms");
  server.stop(SIGKILL);  // kills it, and reads the rest of its output
  checks.equal("server killed during a call", error_of([&] { node.wait(kj::Promise(kj::mv(under_way))); }),
               "the other side is not there");
  auto again = remote::find<api::Greeting>(node, names, "server");  // the name still leads to the old address
  checks.equal("nobody at the address", error_of([&] { welcome(node, *again, visitor); }),
               "the other side is not there");
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  std::string part = "all", names, visitor = "World";
  cookbook::Options options("Call an object of another process");
  options.add_choice("part", part, "what this process does", {"all", "names", "server", "client"});
  options.add("names", names, "address of the name server, for the parts server and client");
  options.add("visitor", visitor, "who is greeted");
  options.parse(argc, argv);

  if (part == "all") return all_parts(visitor);
  if (part == "names") remote::serve_names();
  if (part == "server") serve(names);
  if (part == "client") visit(names, visitor);
}
