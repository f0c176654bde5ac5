/// The object of the recipe remote_object.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "cookbook/print.hpp"
#include "remote_object.capnp.h"

/// Greets its callers. It cannot tell whether they are in this process or in another one.
class Greeting : public api::Greeting::Server {
 public:
  kj::Promise<void> welcomeMessage(WelcomeMessageContext context) override {
    const auto name = context.getParams().getName();
    if (name.size() > 100) throw std::invalid_argument("a name has at most 100 bytes");
    context.getResults().setMessage(kj::str("Hi welcome ", name));
    ++greeted_;
    return kj::READY_NOW;
  }

  /// A call during which the server can be killed.
  kj::Promise<void> workForever(WorkForeverContext) override {
    cookbook::println("begun");
    return kj::NEVER_DONE;
  }

  kj::Promise<void> greeted(GreetedContext context) override {
    context.getResults().setTimes(greeted_);
    return kj::READY_NOW;
  }

 private:
  std::uint64_t greeted_ = 0;
};
