/// The object of the recipe object_ring.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "name_server.hpp"
#include "object_ring.capnp.h"

using remote::Texts;

/// One server's object of the ring. It passes a message on to the next one, unless its name is in the message.
class Chain : public api::Chain::Server {
 public:
  Chain(remote::Node& node, std::string names, std::string own, std::string next)
      : node_(node), names_(std::move(names)), own_(std::move(own)), next_name_(std::move(next)) {}

  kj::Promise<void> process(ProcessContext context) override {
    ++open_;
    auto count_down = kj::defer([this] { --open_; });  // when the call is answered, even if its client has given up
    Texts message = remote::texts_of(context.getParams().getMessage());
    const std::string indent(2 * message.size(), ' ');  // the deeper the call, the longer the message
    if (std::find(message.begin(), message.end(), own_) != message.end()) {
      say(indent + "Back at " + own_ + "; the chain is closed!");
      remote::fill(context.getResults().initResult(1), {"complete at " + own_});
      return kj::READY_NOW;
    }

    say(indent + own_ + " forwarding the message to the object " + next_name_);
    message.push_back(own_);
    // Found at the first use, so that the servers can start in any order. find() does not wait either.
    if (!next_)
      next_ = std::make_shared<Proxy>(remote::find<api::Chain>(node_, names_, "example.chainTopology." + next_name_));
    const std::shared_ptr<Proxy> next = next_;  // which this call keeps, in `forget_next`, until it is answered
    auto forget_next = [this, next](kj::Exception&& error) {
      if (next_ == next) next_ = nullptr;  // the next call looks it up again: it may have been started meanwhile
      kj::throwFatalException(kj::mv(error));
    };
    auto request = (*next)->processRequest();
    remote::fill(request.initMessage(static_cast<unsigned>(message.size())), message);
    auto pass_back = [this, context, indent](auto&& answer) mutable {
      say(indent + own_ + " has its answer");
      Texts result = remote::texts_of(answer.getResult());
      result.insert(result.begin(), "passed on from " + own_);
      remote::fill(context.getResults().initResult(static_cast<unsigned>(result.size())), result);
    };
    // Returns at once: until the answer comes, this process can take the next call.
    return request.send().then(kj::mv(pass_back), kj::mv(forget_next)).attach(kj::mv(count_down));
  }

 private:
  using Proxy = remote::Proxy<api::Chain>;

  void say(const std::string& what) const { cookbook::println("{:<48}  {}", what, open_); }

  remote::Node& node_;
  std::string names_, own_, next_name_;
  std::shared_ptr<Proxy> next_;
  int open_ = 0;  // calls that this object has begun and not answered
};
