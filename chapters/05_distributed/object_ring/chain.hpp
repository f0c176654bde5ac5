/// The object of the recipe object_ring.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "name_server.hpp"
#include "object_ring.capnp.h"

using remote::Texts;

/// One server's object of the ring. It passes a message on to the next one, or knows it again and ends its way.
class Chain : public api::Chain::Server {
 public:
  Chain(remote::Node& node, std::string names, std::string own, std::string next)
      : node_(node), names_(std::move(names)), own_(std::move(own)), next_name_(std::move(next)) {}

  kj::Promise<void> process(ProcessContext context) override {
    Texts message = remote::texts_of(context.getParams().getMessage());
    if (std::find(message.begin(), message.end(), own_) != message.end()) {
      cookbook::println("Back at {}; the chain is closed!", own_);
      remote::fill(context.getResults().initResult(1), {"complete at " + own_});
      return kj::READY_NOW;
    }

    cookbook::println("{} forwarding the message to the object {}", own_, next_name_);
    message.push_back(own_);
    // Found at the first use, so that the servers can start in any order. find() does not wait either.
    if (!next_) next_.emplace(remote::find<api::Chain>(node_, names_, "example.chainTopology." + next_name_));
    auto request = (*next_)->processRequest();
    remote::fill(request.initMessage(static_cast<unsigned>(message.size())), message);
    return request.send().then([this, context](auto&& answer) mutable {
      Texts result = remote::texts_of(answer.getResult());
      result.insert(result.begin(), "passed on from " + own_);
      remote::fill(context.getResults().initResult(static_cast<unsigned>(result.size())), result);
    });  // returns at once: until the answer comes, this process can take the next call
  }

 private:
  remote::Node& node_;
  std::string names_, own_, next_name_;
  std::optional<remote::Proxy<api::Chain>> next_;
};
