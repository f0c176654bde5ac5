/// A name server: it keeps the addresses of objects, so that their callers need to know only its own.
#pragma once

#include <map>
#include <string>

#include "node.hpp"

namespace remote {

class Names : public NameServer::Server {
 public:
  /// Replaces what the name stood for, so that a server that has died can be started again.
  kj::Promise<void> publish(PublishContext context) override {
    const std::string name = context.getParams().getName(), address = context.getParams().getAddress();
    if (name.empty() || name.size() > 255) throw Error("a name has 1 to 255 bytes");
    parse_address(address);
    if (addresses_.size() >= 10'000 && !addresses_.contains(name)) throw Error("there are 10000 names already");
    addresses_[name] = address;
    return kj::READY_NOW;
  }

  kj::Promise<void> lookup(LookupContext context) override {
    const std::string name = context.getParams().getName();
    const auto found = addresses_.find(name);
    if (found == addresses_.end()) throw Error("unknown name: " + name);
    context.getResults().setAddress(found->second);
    return kj::READY_NOW;
  }

  kj::Promise<void> list(ListContext context) override {
    const std::string prefix = context.getParams().getPrefix();
    Texts found;
    for (const auto& [name, address] : addresses_) {
      if (name.starts_with(prefix)) found.push_back(name);
    }
    fill(context.getResults().initNames(static_cast<unsigned>(found.size())), found);
    return kj::READY_NOW;
  }

 private:
  std::map<std::string, std::string> addresses_;
};

/// Prints the name server's address, and serves until the process is ended.
inline void serve_names() {
  Node node;
  cookbook::println("{}", node.add(kj::heap<Names>()));
  node.serve();
}

/// Registers `address` under `name` at the name server whose address is `names`. Throws an Error.
inline void publish(Node& node, const std::string& names, const std::string& name, const std::string& address) {
  Proxy<NameServer> server(node, names);
  auto request = server->publishRequest();
  request.setName(name);
  request.setAddress(address);
  node.call(request);
}

/// The object of that name. Nothing is waited for: if the name is unknown, the first call fails.
template <typename Interface>
Proxy<Interface> find(Node& node, const std::string& names, const std::string& name) {
  auto server = kj::heap<Proxy<NameServer>>(node, names);
  auto request = (*server)->lookupRequest();
  request.setName(name);
  auto address = request.send().then([](auto&& found) { return kj::str(found.getAddress()); });
  return {node, address.attach(kj::mv(server))};
}

/// The names that begin with `prefix`, in alphabetical order. Throws an Error.
inline Texts list(Node& node, const std::string& names, const std::string& prefix) {
  Proxy<NameServer> server(node, names);
  auto request = server->listRequest();
  request.setPrefix(prefix);
  return texts_of(node.call(request).getNames());
}

}  // namespace remote
