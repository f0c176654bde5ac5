// Remote object, measured
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed chapters/05_distributed/node.capnp && capnp compile -oc++:build --src-prefix=chapters/05_distributed/remote_object chapters/05_distributed/remote_object/remote_object.capnp && g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/05_distributed -Ibuild chapters/05_distributed/remote_object/remote_object_bench.cpp build/node.capnp.c++ build/remote_object.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o remote_object_bench
// Run:     remote_object_bench [--calls N] [--rounds N]

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "greeting.hpp"
#include "node.hpp"

namespace {

/// What the network costs without Cap'n Proto: 64 bytes there and back over TCP, by plain system calls.
class BareEcho {
 public:
  BareEcho() {
    check(bind(listener_, reinterpret_cast<sockaddr*>(&address_), size_), "bind");
    check(listen(listener_, 1), "listen");
    check(getsockname(listener_, reinterpret_cast<sockaddr*>(&address_), &size_), "getsockname");
  }
  ~BareEcho() {
    close(listener_);
    close(connection_);
  }
  BareEcho(const BareEcho&) = delete;
  BareEcho& operator=(const BareEcho&) = delete;

  /// The server's part, for one client.
  void serve() const {
    const int client = without_delay(check(accept(listener_, nullptr, nullptr), "accept"));
    char bytes[64];
    while (recv(client, bytes, sizeof bytes, MSG_WAITALL) == sizeof bytes) {
      check(write(client, bytes, sizeof bytes), "write");
    }
  }

  void connect_to_server() {
    connection_ = without_delay(check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
    check(connect(connection_, reinterpret_cast<sockaddr*>(&address_), size_), "connect");
  }

  void there_and_back() const {
    char bytes[64] = {};
    check(write(connection_, bytes, sizeof bytes), "write");
    if (recv(connection_, bytes, sizeof bytes, MSG_WAITALL) != sizeof bytes) cookbook::exit_with_errno("recv");
  }

 private:
  /// Small messages leave at once, as Cap'n Proto's do.
  static int without_delay(int connection) {
    const int on = 1;
    check(setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "setsockopt");
    return connection;
  }

  int listener_ = check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  int connection_ = -1;
  sockaddr_in address_ = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size_ = sizeof address_;
};

auto request_for(api::Greeting::Client& greeting) {
  auto request = greeting.welcomeMessageRequest();
  request.setName("World");
  return request;
}

void one_at_a_time(remote::Node& node, api::Greeting::Client& greeting, int calls, long& wrong) {
  for (int i = 0; i < calls; ++i) wrong += node.call(request_for(greeting)).getMessage() != "Hi welcome World";
}

/// Starts 100 calls before it waits for their answers, and then the next 100.
void many_at_once(remote::Node& node, api::Greeting::Client& greeting, int calls, long& wrong) {
  for (int left = calls; left > 0; left -= 100) {
    kj::Vector<kj::Promise<void>> answers;
    for (int i = 0; i < std::min(left, 100); ++i) {
      answers.add(request_for(greeting).send().then(
          [&wrong](auto&& answer) { wrong += answer.getMessage() != "Hi welcome World"; }));
    }
    node.wait(kj::joinPromises(answers.releaseAsArray()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  int calls = 3'000, rounds = 9;
  cookbook::Options options("What it costs to call an object of another process");
  options.add("calls", calls, "calls per run", 1, 1'000'000);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);

  BareEcho echo;
  cookbook::ChildProcess echo_server([&] { echo.serve(); });
  cookbook::ChildProcess server([] {
    remote::Node node;
    cookbook::println("{}", node.add(kj::heap<Greeting>()));
    node.serve();
  });
  echo.connect_to_server();
  remote::Node node;
  api::Greeting::Client here = kj::heap<Greeting>();
  remote::Proxy<api::Greeting> there(node, server.read_line());

  long wrong = 0;
  const double amount = calls;
  const std::vector<cookbook::Benchmark> rows = {
      {"bare TCP echo", amount,
       [&] {
         for (int i = 0; i < calls; ++i) echo.there_and_back();
       }},
      {"call in this process", amount, [&] { one_at_a_time(node, here, calls, wrong); }},
      {"call there, one at a time", amount, [&] { one_at_a_time(node, *there, calls, wrong); }},
      {"call there, 100 at once", amount, [&] { many_at_once(node, *there, calls, wrong); }}};
  const auto measured = [&](const std::string& title, int processor_of_servers) {
    cookbook::pin(0);
    cookbook::pin(processor_of_servers, echo_server.pid());
    cookbook::pin(processor_of_servers, server.pid());
    cookbook::Figures figures(title, cookbook::cost("us", 1e-6));
    figures.measure(rows, rounds);
    figures.speedup_over("bare TCP echo", "echo");
    return figures;
  };
  const auto one_core = measured("one call, client and server on one core", 0);
  const auto two_cores = measured("one call, client and server on a core each", 1);

  cookbook::Checks checks;
  checks.equal("wrong answers", wrong, 0);
  one_core.print(checks);
  two_cores.print(checks);
  return checks.exit_code();
}
