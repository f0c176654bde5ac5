// A server that calls its client back
//
// A client lets a server execute procedures. The procedure `print` writes to the server's output, until the client
// hands an output of its own to the server: from then on the server calls the client back, while the client waits for
// its call. The output shows each call, its answer, and where something was printed; and that a call with a call back
// takes about twice as long.
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed chapters/05_distributed/node.capnp && capnp compile -oc++:build --src-prefix=chapters/05_distributed/remote_procedures chapters/05_distributed/remote_procedures/remote_procedures.capnp && g++ -std=c++20 -O1 -Icommon -Ichapters/05_distributed -Ibuild chapters/05_distributed/remote_procedures/remote_procedures.cpp build/node.capnp.c++ build/remote_procedures.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o remote_procedures
// Run:     remote_procedures [--text TEXT]

#include <algorithm>
#include <csignal>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "node.hpp"
#include "session.hpp"

namespace {

/// A client of its own: event loop, connection and session.
struct Client {
  explicit Client(const std::string& address) : server(node, address) {}

  /// Lets the server execute the procedure, and waits for the answer. Throws a remote::Error.
  std::string execute(const std::string& procedure, const Texts& arguments) {
    auto request = session.executeRequest();
    request.setProcedure(procedure);
    remote::fill(request.initArguments(static_cast<unsigned>(arguments.size())), arguments);
    return node.call(request).getResult();
  }

  void redirect(api::Output::Client output) {
    auto request = session.redirectRequest();
    request.setOutput(kj::mv(output));
    node.call(request);
  }

  remote::Node node;
  remote::Proxy<api::Procedures> server;
  api::Session::Client session = server->connectRequest().send().getSession();
};

/// An output of the client, which keeps what is written to it.
class Lines : public api::Output::Server {
 public:
  explicit Lines(Texts& lines) : lines_(lines) {}

  kj::Promise<void> write(WriteContext context) override {
    lines_.push_back(context.getParams().getText());
    return kj::READY_NOW;
  }

 private:
  Texts& lines_;
};

/// Calls a procedure, and prints the call, its answer or error, and `printed`, which says where it printed what.
template <typename Printed>
void show(Client& client, const Texts& call, Printed printed) {
  const Texts arguments(call.begin() + 1, call.end());
  std::string answer;
  try {
    answer = client.execute(call[0], arguments);
  } catch (const remote::Error& error) {
    answer = error.what();
  }
  cookbook::println("{:25}{:36}{}", fmt::to_string(fmt::join(call, " ")), answer, printed());
}

/// The time of the fastest of 100 calls, in milliseconds.
double fastest(Client& client, const std::string& procedure, const Texts& arguments) {
  double seconds = 1e9;
  for (int i = 0; i < 100; ++i) {
    const cookbook::Stopwatch watch;
    client.execute(procedure, arguments);
    seconds = std::min(seconds, watch.seconds());
  }
  return 1e3 * seconds;
}

}  // namespace

int main(int argc, char** argv) {
  std::string text = "hi here";
  cookbook::Options options("Let a server call its client back");
  options.add("text", text, "what the server is to print at the client");
  options.parse(argc, argv);

  cookbook::ChildProcess server([] {
    remote::Node node;
    cookbook::println("{}", node.add(kj::heap<Procedures>()));
    node.serve();
  });
  const std::string address = server.read_line();
  Texts at_client, at_server, timed;  // lines
  const auto nothing = [] { return ""; };
  const auto by_server = [&] {
    at_server.push_back(server.read_line());
    return "at the server: " + at_server.back();
  };
  const auto by_client = [&] { return "at the client: " + at_client.at(0); };

  cookbook::println("{:25}{:36}printed", "the client calls", "the answer");
  {
    Client client(address);
    show(client, {"add", "2", "3"}, nothing);
    show(client, {"add", "2", "three"}, nothing);
    show(client, {"system", "ls"}, nothing);
    show(client, {"print", "hi there"}, by_server);
    client.redirect(kj::heap<Lines>(at_client));
    cookbook::println("it hands its output to the server");
    show(client, {"print", text}, by_client);
  }
  cookbook::println("it leaves, and another client comes");
  Client next(address);
  show(next, {"print", "hi again"}, by_server);
  next.redirect(kj::heap<Lines>(timed));
  const double add = fastest(next, "add", {"2", "3"}), print = fastest(next, "print", {"x"});
  cookbook::println("the fastest of 100 calls: add {:.3f} ms, print at the client {:.3f} ms", add, print);
  server.stop(SIGKILL);  // kills it, and reads the rest of its output

  cookbook::Checks checks;
  checks.equal("lines printed at the client", at_client.size(), 1);
  checks.equal("lines printed at the server", server.lines().size() - 1, 2);  // without its address
  return checks.exit_code();
}
