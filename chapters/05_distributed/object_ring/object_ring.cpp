// Object ring
//
// Three servers form a ring: object 1 calls object 2, which calls object 3, which calls object 1 again. While
// object 1 waits for its answer, it must serve a second call, or all three wait for ever. A server whose methods return
// promises instead of waiting can do that, with one thread and without a lock. Each line is printed by the server that
// it names, when it happens; the deeper the call, the more it is indented. The number behind it says how many calls
// this object has begun and not answered.
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed chapters/05_distributed/node.capnp && capnp compile -oc++:build --src-prefix=chapters/05_distributed/object_ring chapters/05_distributed/object_ring/object_ring.capnp && g++ -std=c++20 -O1 -Icommon -Ichapters/05_distributed -Ibuild chapters/05_distributed/object_ring/object_ring.cpp build/node.capnp.c++ build/object_ring.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o object_ring
// Run:     object_ring [--servers N] [--start N]

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <thread>

#include "chain.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"

namespace {

/// The part of one server: an object, registered under its name.
void serve(const std::string& names, int number, int servers) {
  remote::Node node;
  const std::string own = std::to_string(number), next = std::to_string(number % servers + 1);
  const std::string address = node.add(kj::heap<Chain>(node, names, own, next));
  remote::publish(node, names, "example.chainTopology." + own, address);
  node.serve();
}

Texts process(remote::Node& node, api::Chain::Client& object, const Texts& message) {
  auto request = object.processRequest();
  remote::fill(request.initMessage(static_cast<unsigned>(message.size())), message);
  return remote::texts_of(node.call(request).getResult());
}

/// What the call must return: an entry per server, from the start once around, and the end.
Texts expected_result(int servers, int start) {
  Texts result;
  for (int i = 0; i < servers; ++i) result.push_back(fmt::format("passed on from {}", (start - 1 + i) % servers + 1));
  result.push_back(fmt::format("complete at {}", start));
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  int servers = 3, start = 1;
  cookbook::Options options("Let remote objects call one another in a ring");
  options.add("servers", servers, "servers in the ring", 1, 50);
  options.add("start", start, "the server that the client calls", 1, 50);
  options.parse(argc, argv);
  if (start > servers) {
    cookbook::print_error(fmt::format("--start {}: there are only {} servers", start, servers));
    return 2;
  }

  cookbook::ChildProcess name_server([] { remote::serve_names(); });
  const std::string names = name_server.read_line();
  std::deque<cookbook::ChildProcess> ring;
  for (int number = 1; number <= servers; ++number) {
    ring.emplace_back([=] { serve(names, number, servers); }, cookbook::ChildProcess::Output::inherited);
  }
  const auto alive = [&ring] {
    return std::count_if(ring.begin(), ring.end(),
                         [](auto& server) { return !server.wait(std::chrono::milliseconds(0)); });
  };
  remote::Node node;
  while (alive() == servers && std::ssize(remote::list(node, names, "example.chainTopology.")) < servers) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // until all have registered their names
  }

  auto object = remote::find<api::Chain>(node, names, fmt::format("example.chainTopology.{}", start));
  cookbook::println("{:<50}open calls of the object", fmt::format("the client calls object {}", start));
  const Texts result = process(node, *object, {"hello"});
  cookbook::println("the client has its answer");

  cookbook::Checks checks;
  checks.equal("result", result, expected_result(servers, start));
  return checks.exit_code();
}
