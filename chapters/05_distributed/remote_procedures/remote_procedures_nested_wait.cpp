// Pitfall: waiting inside a method
//
// While the client waits for its call, the server writes to the client's output. The method `write` of that output
// calls the server back and waits for the answer. But it runs inside the event loop that would have to receive this
// answer, and the loop goes on only when the method has returned. So Cap'n Proto refuses to wait there, and the error
// reaches the first call.
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed chapters/05_distributed/node.capnp && capnp compile -oc++:build --src-prefix=chapters/05_distributed/remote_procedures chapters/05_distributed/remote_procedures/remote_procedures.capnp && g++ -std=c++20 -O1 -Icommon -Ichapters/05_distributed -Ibuild chapters/05_distributed/remote_procedures/remote_procedures_nested_wait.cpp build/node.capnp.c++ build/remote_procedures.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o remote_procedures_nested_wait
// Run:     remote_procedures_nested_wait
// Symptom: exit 1, prints "wait() is not allowed from within event callbacks"

#include "cookbook/process.hpp"
#include "node.hpp"
#include "session.hpp"

class NumberedOutput : public api::Output::Server {
 public:
  NumberedOutput(remote::Node& node, api::Session::Client session) : node_(node), session_(kj::mv(session)) {}

  kj::Promise<void> write(WriteContext context) override {
    auto request = session_.executeRequest();
    request.setProcedure("add");
    remote::fill(request.initArguments(2), {std::to_string(line_), "1"});
    const std::string sum = node_.call(request).getResult();  // wrong: a method must return a promise, not wait
    line_ = std::stoi(sum);
    cookbook::println("{}: {}", line_, context.getParams().getText().cStr());
    return kj::READY_NOW;
  }

 private:
  remote::Node& node_;
  api::Session::Client session_;
  int line_ = 0;
};

int main() {
  cookbook::ChildProcess server([] {
    remote::Node node;
    cookbook::println("{}", node.add(kj::heap<Procedures>()));
    node.serve();
  });
  const std::string address = server.read_line();

  remote::Node node;
  remote::Proxy<api::Procedures> procedures(node, address);
  auto session = procedures->connectRequest().send().getSession();
  auto redirection = session.redirectRequest();
  redirection.setOutput(kj::heap<NumberedOutput>(node, session));
  node.call(redirection);

  auto request = session.executeRequest();
  request.setProcedure("print");
  request.initArguments(1).set(0, "hi here");
  const std::string outcome = remote::error_of([&] { node.call(request); });
  cookbook::println("{}", outcome);
  return outcome == "no error" ? 0 : 1;
}
