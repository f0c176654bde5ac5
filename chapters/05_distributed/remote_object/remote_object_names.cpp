// Name server of the recipe remote_object
//
// Keeps the addresses of objects under names, so that a client need not know where an object is. It is an object like
// any other, at an address that all must know; it says which, then serves until it is ended.
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed/remote_object chapters/05_distributed/remote_object/remote_object.capnp && g++ -std=c++20 -O1 -Icommon -Ibuild chapters/05_distributed/remote_object/remote_object_names.cpp build/remote_object.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o remote_object_names
// Run:     remote_object_names [--port N]

#include <map>
#include <string>

#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "object_server.hpp"

namespace {

class NameServer : public remote::NameServer::Server {
 public:
  /// Replaces what the name stood for, so that a server that has died can be started again.
  kj::Promise<void> publish(PublishContext context) override {
    const std::string name = context.getParams().getName(), address = context.getParams().getAddress();
    if (name.empty() || name.size() > 255 || address.size() > 255)
      return KJ_EXCEPTION(FAILED, "a name and an address have 1 to 255 bytes");
    if (addresses_.size() >= 10'000 && !addresses_.contains(name))
      return KJ_EXCEPTION(FAILED, "no room for more names");
    addresses_[name] = address;
    return kj::READY_NOW;
  }

  kj::Promise<void> lookup(LookupContext context) override {
    const auto name = context.getParams().getName();
    const auto found = addresses_.find(name);
    if (found == addresses_.end()) return KJ_EXCEPTION(FAILED, "nothing is registered under this name", name);
    context.getResults().setAddress(found->second);
    return kj::READY_NOW;
  }

  /// Of no effect if the name stands for another address by now.
  kj::Promise<void> remove(RemoveContext context) override {
    const auto found = addresses_.find(context.getParams().getName());
    if (found != addresses_.end() && found->second == context.getParams().getAddress().cStr()) addresses_.erase(found);
    return kj::READY_NOW;
  }

 private:
  std::map<std::string, std::string> addresses_;
};

}  // namespace

int main(int argc, char** argv) {
  unsigned port = 0;
  cookbook::Options options("Keep the addresses of remote objects under names");
  options.add("port", port, "port to listen on; 0: one that is free", 0, 65535);
  options.parse(argc, argv);

  auto io = kj::setupAsyncIo();
  ObjectServer server(io, port);
  const Address own = server.add(kj::heap<NameServer>(), "names");
  cookbook::println("Name server at {}", own.text());
  server.serve().wait(io.waitScope);
}
