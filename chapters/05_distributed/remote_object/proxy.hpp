/// The caller's side: a stand-in for an object of another process.
#pragma once

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <string>

#include "address.hpp"
#include "buffered_stream.hpp"
#include "remote_call.hpp"
#include "remote_object.capnp.h"

/// A connection to the server of an address, and the object there. To call it, use it like a pointer to its Client.
template <typename Interface>
class Proxy {
 public:
  /// Connects to the server; whether it has the object shows at the first call. Throws a RemoteError.
  Proxy(kj::AsyncIoContext& io, const Address& address, kj::Duration timeout)
      : stream_(kj::heap<BufferedStream>(connect(io, address, timeout))), rpc_(*stream_) {
    auto request = rpc_.bootstrap().template castAs<remote::Daemon>().objectRequest();
    request.setId(address.id);
    // Not waited for. What is asked of the answer before it is here goes along with the question.
    object_ = request.send().getObject().template castAs<Interface>();
  }

  typename Interface::Client& operator*() { return object_; }
  typename Interface::Client* operator->() { return &object_; }

  BufferedStream& stream() { return *stream_; }

 private:
  static kj::Own<kj::AsyncIoStream> connect(kj::AsyncIoContext& io, const Address& address, kj::Duration timeout) {
    auto target = io.provider->getNetwork().parseAddress(address.host, address.port);
    auto connected = target.then([](kj::Own<kj::NetworkAddress>&& found) {
      auto stream = found->connect();
      return stream.attach(kj::mv(found));
    });
    return wait_for(io, kj::mv(connected), timeout);
  }

  kj::Own<BufferedStream> stream_;
  capnp::TwoPartyClient rpc_;
  typename Interface::Client object_ = nullptr;
};

/// Asks the name server where the object of that name is. Throws a RemoteError.
inline Address look_up(kj::AsyncIoContext& io, Proxy<remote::NameServer>& names, const std::string& name,
                       kj::Duration timeout) {
  auto request = names->lookupRequest();
  request.setName(name);
  return parse_address(wait_for(io, kj::Promise(request.send()), timeout).getAddress());
}
