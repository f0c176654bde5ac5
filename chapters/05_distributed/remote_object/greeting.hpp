/// The object that is called, from here or from elsewhere.
#pragma once

#include <kj/string.h>

#include "remote_object.capnp.h"

/// How large a message with this text becomes, in words of 8 bytes. Without such a hint each message gets 8 KiB, which
/// must be set to zero.
inline capnp::MessageSize size_with(kj::StringPtr text) { return {text.size() / 8 + 4, 0}; }

class Greeting : public remote::Greeting::Server {
 public:
  kj::Promise<void> welcomeMessage(WelcomeMessageContext context) override {
    const auto message = kj::str("Hi welcome ", context.getParams().getName());
    context.getResults(size_with(message)).setMessage(message);
    return kj::READY_NOW;
  }
};
