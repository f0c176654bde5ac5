// Remote object
//
// One function calls an object of this process and one of another. The output shows what the caller gets, and after how
// long: from each of the two, and when the server of the other one hangs, goes on, is killed, and is started again.
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed chapters/05_distributed/node.capnp && capnp compile -oc++:build --src-prefix=chapters/05_distributed/remote_object chapters/05_distributed/remote_object/remote_object.capnp && g++ -std=c++20 -O1 -Icommon -Ichapters/05_distributed -Ibuild chapters/05_distributed/remote_object/remote_object.cpp build/node.capnp.c++ build/remote_object.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o remote_object
// Run:     remote_object [--part all|names|server|client] [--names ADDRESS] [--visitor NAME]

#include <algorithm>
#include <csignal>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "greeting.hpp"
#include "name_server.hpp"

namespace {

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
  cookbook::println("Ready. The object's address: {}", address);
  node.serve();
}

/// The client's part: finds the object by its name, and calls it.
void visit(const std::string& names, const std::string& visitor) {
  remote::Node node;
  auto greeting = remote::find<api::Greeting>(node, names, "server");
  cookbook::println("{}", welcome(node, *greeting, visitor));
}

/// Makes `calls` calls, prints what the caller gets, and how long the fastest of them took; returns what it gets.
template <typename Call>
std::string report(const char* event, Call call, int calls = 1) {
  std::string outcome;
  double fastest = 1e9;
  for (int i = 0; i < calls; ++i) {
    const cookbook::Stopwatch watch;
    try {
      outcome = call();
    } catch (const remote::Error& error) {
      outcome = error.what();
    }
    fastest = std::min(fastest, watch.seconds());
  }
  cookbook::println("{:34}{:32}{:.3f} ms", event, outcome, 1e3 * fastest);
  return outcome;
}

int all_parts(const std::string& visitor) {
  cookbook::ChildProcess name_server([] { remote::serve_names(); });
  const std::string names = name_server.read_line();
  cookbook::ChildProcess server([&] { serve(names); });
  cookbook::println("{}", server.read_line());

  remote::Node node;
  api::Greeting::Client here = kj::heap<Greeting>();
  auto there = remote::find<api::Greeting>(node, names, "server");  // a Proxy, used like a pointer to a Client

  cookbook::println("{:34}{:32}after", "", "the caller gets");
  const std::string local = report(
      "called in this process", [&] { return welcome(node, here, visitor); }, 100);
  remote::Texts outcomes = {report(
      "called in another process", [&] { return welcome(node, *there, visitor); }, 100)};
  const auto expect = [&](const char* event, auto call) { outcomes.push_back(report(event, call)); };

  auto under_way = there->workForeverRequest().send();  // leaves as soon as the next line waits
  welcome(node, *there, visitor);
  const std::string said = server.read_line();

  const auto greeted = [&] { return node.call(there->greetedRequest()).getTimes(); };
  const auto before = greeted();
  server.send_signal(SIGSTOP);  // it does nothing more, but its connections stay open
  expect("the server hangs", [&] { return welcome(node, *there, visitor, 100 * kj::MILLISECONDS); });
  server.send_signal(SIGCONT);
  expect("the server goes on", [&] { return fmt::format("greetings since then: {}", greeted() - before); });
  expect("killed in the middle of a call", [&] {
    server.stop(SIGKILL);
    node.wait(under_way.ignoreResult());
    return "it has been done";
  });

  // By exec, since an event loop and connections, which this process has by now, must not be copied by fork.
  cookbook::ChildProgram another({"/proc/self/exe", "--part", "server", "--names", names});
  another.read_line();
  expect("another one has been started", [&] { return welcome(node, *there, visitor); });
  expect("and its name is looked up", [&] {
    auto found = remote::find<api::Greeting>(node, names, "server");
    return welcome(node, *found, visitor);
  });

  cookbook::Checks checks;
  checks.equal("called there, as called here", outcomes.front(), local);
  checks.equal("the call without an answer, once the server went on", outcomes[2], "greetings since then: 1");
  checks.equal("the killed server had said of the call", said, "begun");
  const std::string hangs = "no answer within 100 ms", is_gone = "the other side is not there";
  checks.equal(
      "calls that failed",
      std::count(outcomes.begin(), outcomes.end(), hangs) + std::count(outcomes.begin(), outcomes.end(), is_gone), 3);
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

  if (part == "all" && visitor.size() > 100) {
    cookbook::print_error("--visitor: the object greets names of at most 100 bytes");
    return 2;
  }
  if (part == "all") return all_parts(visitor);
  if (part == "names") remote::serve_names();
  if (part == "server") serve(names);
  if (part == "client") visit(names, visitor);
}
