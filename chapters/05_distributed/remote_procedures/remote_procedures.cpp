// Remote procedures
//
// A client lets a server execute procedures by their names. Only those of a table can be called. The procedure `print`
// writes to the server's output, until the client hands an output of its own to the server: from then on the server
// calls the client back, while the client waits for its call. Both sides call, and both serve.
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed chapters/05_distributed/node.capnp && capnp compile -oc++:build --src-prefix=chapters/05_distributed/remote_procedures chapters/05_distributed/remote_procedures/remote_procedures.capnp && g++ -std=c++20 -O1 -Icommon -Ichapters/05_distributed -Ibuild chapters/05_distributed/remote_procedures/remote_procedures.cpp build/node.capnp.c++ build/remote_procedures.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o remote_procedures
// Run:     remote_procedures [--text TEXT]

#include <csignal>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "node.hpp"
#include "session.hpp"

namespace {

/// A client of its own: event loop, connection and session.
struct Client {
  explicit Client(const std::string& address) : server(node, address) {}

  /// A stub: to call it is to let the server execute the procedure. Throws a remote::Error.
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

/// An output of the client that keeps what is written to it.
class Lines : public api::Output::Server {
 public:
  explicit Lines(Texts& lines) : lines_(lines) {}

  kj::Promise<void> write(WriteContext context) override {
    lines_.push_back(context.getParams().getText());
    cookbook::println("at the client: {}", lines_.back());
    return kj::READY_NOW;
  }

 private:
  Texts& lines_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string text = "hi here";
  cookbook::Options options("Call procedures of a server that calls back");
  options.add("text", text, "what the server is to print at the client");
  options.parse(argc, argv);

  cookbook::ChildProcess server([] {
    remote::Node node;
    cookbook::println("{}", node.add(kj::heap<Procedures>()));
    node.serve();
  });
  const std::string address = server.read_line();

  cookbook::Checks checks;
  Texts at_client;
  {
    Client client(address);
    client.execute("print", {"hi python cookbook"});
    client.redirect(kj::heap<Lines>(at_client));
    client.execute("print", {text});
    checks.equal("add 2 3", client.execute("add", {"2", "3"}), "5");
    checks.equal("a procedure that is not in the table", remote::error_of([&] { client.execute("system", {"ls"}); }),
                 "not a permitted procedure: system");
    checks.equal("an error in a procedure", remote::error_of([&] {
                   client.execute("add", {"2", "three"});
                 }),
                 "not a number: three");
  }
  Client next(address);
  next.execute("print", {"hi from the next client"});
  server.stop(SIGKILL);  // kills it, and reads the rest of its output

  Texts at_server = server.lines();
  at_server.erase(at_server.begin());  // its address
  for (const std::string& line : at_server) cookbook::println("at the server: {}", line);
  checks.equal("printed at the client", at_client, {text});
  checks.equal("printed at the server", at_server, {"hi python cookbook", "hi from the next client"});
  return checks.exit_code();
}
