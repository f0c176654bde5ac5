// The name server of chapter 5. An input that begins with a letter is made of calls with any texts, one per line; any
// other one is, without its first byte, what a client sends that need not speak the protocol.

#include "05_distributed/name_server.hpp"

#include "fuzz.hpp"

namespace {

using NameServer = remote::NameServer;

/// Whether a client is served.
bool answers(kj::WaitScope& scope, NameServer::Client server) {
  auto publish = server.publishRequest();
  publish.setName("good");
  publish.setAddress("capnp:obj_7@127.0.0.1:7");
  publish.send().wait(scope);
  auto lookup = server.lookupRequest();
  lookup.setName("good");
  return lookup.send().wait(scope).getAddress() == kj::StringPtr("capnp:obj_7@127.0.0.1:7");
}

void call(kj::WaitScope& scope, NameServer::Client server, std::string_view calls) {
  while (!calls.empty()) {
    const std::string_view whole = take_line(calls);
    const std::string line(whole.substr(0, whole.find('\0')));  // a text of KJ ends there
    const std::string text = line.substr(std::min<std::size_t>(line.size(), 1));
    try {
      if (line[0] == 'p') {
        const std::size_t blank = std::min(text.find(' '), text.size());
        auto request = server.publishRequest();
        request.setName(text.substr(0, blank));
        request.setAddress(text.substr(std::min(blank + 1, text.size())));
        request.send().wait(scope);
      } else if (line[0] == 'l') {
        auto request = server.lookupRequest();
        request.setName(text);
        remote::parse_address(request.send().wait(scope).getAddress());  // only addresses are published
      } else {
        auto request = server.listRequest();
        request.setPrefix(text);
        for (const std::string& name : remote::texts_of(request.send().wait(scope).getNames())) {
          require(name.starts_with(text), "what is listed begins with what was asked for");
        }
      }
    } catch (const kj::Exception& error) {
      require(remote::reason(error).find('\n') == std::string::npos, "a reason is one line");
    }
  }
}

}  // namespace

void one_input(std::string_view input) {
  static kj::AsyncIoContext io = kj::setupAsyncIo();
  if (input.empty()) return;
  NameServer::Client names = kj::heap<remote::Names>();
  capnp::TwoPartyServer server(names);
  auto pipe = kj::newTwoWayPipe();
  if (std::isalpha(static_cast<unsigned char>(input[0]))) {
    auto served = server.accept(*pipe.ends[0]).eagerlyEvaluate([](kj::Exception&&) {});
    capnp::TwoPartyClient client(*pipe.ends[1]);
    call(io.waitScope, client.bootstrap().castAs<NameServer>(), input);
  } else {
    input.remove_prefix(1);
    auto served = server.accept(*pipe.ends[0]).eagerlyEvaluate([](kj::Exception&&) {});
    auto sent = pipe.ends[1]->write(input.data(), input.size()).then([&] { pipe.ends[1]->shutdownWrite(); });
    auto finished = sent.catch_([](kj::Exception&&) {}).eagerlyEvaluate(nullptr);
    char answer[4096];
    for (int i = 0; i < 1'000; ++i) {  // what it answers, and lets the server work
      auto read = pipe.ends[1]->tryRead(answer, 1, sizeof answer);
      if (!read.poll(io.waitScope)) break;
      if (kj::runCatchingExceptions([&] { kj::mv(read).wait(io.waitScope); }) != nullptr) break;
    }
  }
  require(answers(io.waitScope, names), "another client is served");
}
