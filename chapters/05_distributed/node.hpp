/// A process that serves objects, and calls those of others, by Cap'n Proto. The recipe remote_object explains it.
///
/// KJ is Cap'n Proto's base library: kj::Own is its std::unique_ptr, kj::mv its std::move, kj::heap its
/// std::make_unique. A promise's `attach` keeps an object alive as long as the promise.
#pragma once

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <random>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/print.hpp"
#include "node.capnp.h"

namespace remote {

/// A call that gave no result. The text is one line, for people.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Where an object is: "capnp:ID@HOST:PORT".
struct Address {
  std::string id;    ///< which of the process's objects
  std::string host;  ///< a name, or an address of IP version 4
  unsigned port = 0;

  std::string text() const { return fmt::format("capnp:{}@{}:{}", id, host, port); }
};

/// Throws an Error if `text` is no address.
inline Address parse_address(const std::string& text) {
  static const std::regex form(R"(capnp:(\w{1,64})@([\w.-]{1,255}):(\d{1,5}))");
  std::smatch part;
  if (!std::regex_match(text, part, form) || std::stoul(part[3]) < 1 || std::stoul(part[3]) > 65535) {
    throw Error(fmt::format("'{}' is no address; it has the form capnp:ID@HOST:PORT", text));
  }
  return {part[1], part[2], static_cast<unsigned>(std::stoul(part[3]))};
}

using Texts = std::vector<std::string>;

/// The texts of a received list, and a list to be sent filled with texts.
inline Texts texts_of(const capnp::List<capnp::Text>::Reader& list) {
  Texts texts;
  for (const auto text : list) texts.push_back(text);
  return texts;
}
inline void fill(capnp::List<capnp::Text>::Builder list, const Texts& texts) {
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, texts[i]);
}

/// `text`, which another process has sent, as one line: a line feed in it would look like the end of a line of ours.
inline std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c); }, '?');
  return text;
}

/// What went wrong, in one line. An exception that a method throws at the server comes as its text.
inline std::string reason(const kj::Exception& error) {
  switch (error.getType()) {
    case kj::Exception::Type::DISCONNECTED:
      return "the other side is not there";
    case kj::Exception::Type::UNIMPLEMENTED:
      return "the object has no such method";
    default:
      break;
  }
  std::string text = error.getDescription().cStr();
  for (const std::string origin : {"remote exception: ", "std::exception: "}) {
    while (text.starts_with(origin)) text.erase(0, origin.size());  // each process that the error passed adds one
  }
  return one_line(text);
}

/// The event loop of this process. It serves the objects of this process, and waits for answers of others.
class Node : private kj::TaskSet::ErrorHandler {
 public:
  /// Makes `object` reachable, and returns its address: a port of this machine, which the system chooses, and which
  /// nobody on another machine can reach. Whenever this process waits, it also serves. Throws an Error.
  std::string add(capnp::Capability::Client object) {
    if (!listener_.get()) {
      listener_ = wait(io_.provider->getNetwork().parseAddress("127.0.0.1"))->listen();
      tasks_.add(accept_clients());
    }
    const Address address{new_id(), "127.0.0.1", listener_->getPort()};
    objects_.emplace(address.id, kj::mv(object));
    return address.text();
  }

  /// Serves until the process is ended.
  void serve() { kj::Promise<void>(kj::NEVER_DONE).wait(io_.waitScope); }

  /// Waits for what was promised, but not longer than `timeout`: from a server that hangs, or whose machine is switched
  /// off, nothing comes, not even an error. Throws an Error.
  template <typename Result>
  Result wait(kj::Promise<Result> promise, kj::Duration timeout = 5 * kj::SECONDS) {
    try {
      return io_.provider->getTimer().timeoutAfter(timeout, kj::mv(promise)).wait(io_.waitScope);
    } catch (const kj::Exception& error) {
      if (error.getType() == kj::Exception::Type::OVERLOADED) {  // KJ's kind of error for a timeout
        throw Error(fmt::format("no answer within {} ms", timeout / kj::MILLISECONDS));
      }
      throw Error(reason(error));
    }
  }

  /// Sends a request, and waits for the answer.
  template <typename Request>
  auto call(Request&& request, kj::Duration timeout = 5 * kj::SECONDS) {
    return wait(kj::Promise(request.send()), timeout);
  }

  kj::Network& network() { return io_.provider->getNetwork(); }

  /// For methods that must wait: a promise of its afterDelay() is fulfilled later, and other calls are served until
  /// then.
  kj::Timer& timer() { return io_.provider->getTimer(); }

 private:
  class Daemon : public remote::Daemon::Server {
   public:
    explicit Daemon(std::map<std::string, capnp::Capability::Client>& objects) : objects_(objects) {}

    kj::Promise<void> object(ObjectContext context) override {
      const std::string id = context.getParams().getId();
      const auto found = objects_.find(id);
      if (found == objects_.end()) throw Error("this process has no such object: " + id);
      context.getResults().setObject(found->second);
      return kj::READY_NOW;
    }

   private:
    std::map<std::string, capnp::Capability::Client>& objects_;
  };

  kj::Promise<void> accept_clients() {
    return kj::evalNow([this] { return listener_->accept(); })
        .then(
            [this](kj::Own<kj::AsyncIoStream>&& stream) -> kj::Promise<void> {
              auto served = rpc_.accept(*stream);
              tasks_.add(served.attach(kj::mv(stream)));
              return kj::READY_NOW;
            },
            // Too many open files: wait until some clients have left.
            [this](kj::Exception&&) { return io_.provider->getTimer().afterDelay(100 * kj::MILLISECONDS); })
        .then([this] { return accept_clients(); });
  }

  /// An id that no other object has, not even one of an earlier process at this port: 128 random bits.
  static std::string new_id() {
    std::random_device entropy;
    std::string id = "obj_";
    for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", entropy());
    return id;
  }

  /// A client broke off in mid-message, or does not speak the protocol. Its connection is closed; the others go on.
  void taskFailed(kj::Exception&&) override {}

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  std::map<std::string, capnp::Capability::Client> objects_;
  kj::Own<kj::ConnectionReceiver> listener_;
  capnp::TwoPartyServer rpc_{kj::heap<Daemon>(objects_)};
  kj::TaskSet tasks_{*this};
};

/// Stands for an object of another process: use it like a pointer to the object's Client. It can be called at once:
/// the calls wait until it has connected, and fail if it cannot. It must outlive the calls.
template <typename Interface>
class Proxy {
 public:
  Proxy(Node& node, const std::string& address) : Proxy(node, kj::Promise<kj::String>(kj::str(address))) {}

  Proxy(Node& node, kj::Promise<kj::String> address)
      : connection_(kj::heap<Connection>()), object_(connect(node, *connection_, kj::mv(address))) {}

  typename Interface::Client& operator*() { return object_; }
  typename Interface::Client* operator->() { return &object_; }

 private:
  struct Connection {
    kj::Own<kj::AsyncIoStream> stream;
    std::optional<capnp::TwoPartyClient> rpc;
  };

  static typename Interface::Client connect(Node& node, Connection& connection, kj::Promise<kj::String> address) {
    return address.then([&node, &connection](kj::String&& text) {
      const Address at = parse_address(text.cStr());
      return node.network()
          .parseAddress(at.host, at.port)
          .then([](kj::Own<kj::NetworkAddress>&& found) {
            auto stream = found->connect();
            return stream.attach(kj::mv(found));
          })
          .then([&connection, id = at.id](kj::Own<kj::AsyncIoStream>&& stream) {
            connection.stream = kj::mv(stream);
            connection.rpc.emplace(*connection.stream);
            auto request = connection.rpc->bootstrap().template castAs<remote::Daemon>().objectRequest();
            request.setId(id);
            // Not waited for: what is asked of the answer before it is here goes along with the question.
            return request.send().getObject().template castAs<Interface>();
          });
    });
  }

  kj::Own<Connection> connection_;
  typename Interface::Client object_;
};

/// The text of the Error that `action` throws; "no error" if it throws none.
template <typename Action>
std::string error_of(Action action) {
  try {
    action();
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace remote
