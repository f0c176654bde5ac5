/// The callee's side: a server that others reach this process's objects through.
#pragma once

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <map>
#include <string>

#include "address.hpp"
#include "buffered_stream.hpp"
#include "remote_call.hpp"
#include "remote_object.capnp.h"

/// Listens on a port of this machine, which nobody on another machine can reach, and hands out its objects by their
/// ids. Everything happens in the thread of the event loop, so an object is never called twice at once.
class ObjectServer : private kj::TaskSet::ErrorHandler {
 public:
  /// Port 0 lets the system choose one that is free. Throws a RemoteError if the port is taken.
  ObjectServer(kj::AsyncIoContext& io, unsigned port) : io_(io) {
    try {
      listener_ = io.provider->getNetwork().parseAddress("127.0.0.1", port).wait(io.waitScope)->listen();
    } catch (const kj::Exception& error) {
      throw RemoteError(fmt::format("port {}: {}", port, reason(error)));
    }
  }

  /// From now on clients that know this address can call the object.
  Address add(capnp::Capability::Client object, const std::string& id = new_id()) {
    objects_.insert_or_assign(id, kj::mv(object));
    return {id, "127.0.0.1", listener_->getPort()};
  }

  /// Serves clients, each connection on its own; never ends.
  kj::Promise<void> serve() {
    // evalNow: accept() may also fail at once, by an exception.
    return kj::evalNow([this] { return listener_->accept(); })
        .then(
            [this](kj::Own<kj::AsyncIoStream>&& arrived) -> kj::Promise<void> {
              auto stream = kj::heap<BufferedStream>(kj::mv(arrived));
              auto served = rpc_.accept(*stream);
              clients_.add(served.attach(kj::mv(stream)));
              return kj::READY_NOW;
            },
            // Too many open files, say: wait until some clients have left.
            [this](kj::Exception&&) { return io_.provider->getTimer().afterDelay(100 * kj::MILLISECONDS); })
        .then([this] { return serve(); });
  }

 private:
  class Daemon : public remote::Daemon::Server {
   public:
    explicit Daemon(std::map<std::string, capnp::Capability::Client>& objects) : objects_(objects) {}

    kj::Promise<void> object(ObjectContext context) override {
      const auto id = context.getParams().getId();
      const auto found = objects_.find(id);
      if (found == objects_.end()) return KJ_EXCEPTION(FAILED, "this server has no such object", id);
      context.getResults().setObject(found->second);
      return kj::READY_NOW;
    }

   private:
    std::map<std::string, capnp::Capability::Client>& objects_;
  };

  /// A client broke off in mid-message, or does not speak the protocol. Its connection is closed; the others go on.
  void taskFailed(kj::Exception&&) override {}

  kj::AsyncIoContext& io_;
  kj::Own<kj::ConnectionReceiver> listener_;
  std::map<std::string, capnp::Capability::Client> objects_;
  capnp::TwoPartyServer rpc_{kj::heap<Daemon>(objects_)};
  kj::TaskSet clients_{*this};
};
