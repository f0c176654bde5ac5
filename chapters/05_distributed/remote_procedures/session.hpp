/// The server's objects of the recipe remote_procedures.
#pragma once

#include <charconv>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "node.hpp"
#include "remote_procedures.capnp.h"

/// The server's own output.
class Console : public api::Output::Server {
 public:
  kj::Promise<void> write(WriteContext context) override {
    cookbook::println("{}", remote::one_line(context.getParams().getText()));
    return kj::READY_NOW;
  }
};

using remote::Texts;

/// What `execute` gets is valid until it returns, not in a `then`: copy what is needed there.
struct Procedure {
  std::size_t arguments;  ///< how many it takes
  std::function<kj::Promise<kj::String>(const Texts& arguments, api::Output::Client& output)> execute;
};

/// Throws std::invalid_argument if `text` is not a number from its first to its last character.
inline double number(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) throw std::invalid_argument("not a number: " + text);
  return value;
}

inline kj::String add(const Texts& arguments, api::Output::Client&) {
  return kj::str(number(arguments[0]) + number(arguments[1]));
}

inline kj::Promise<kj::String> print(const Texts& arguments, api::Output::Client& output) {
  auto request = output.writeRequest();  // a call from the server to the client, if the output is the client's
  request.setText(arguments[0]);
  return request.send().then([](auto&&) { return kj::str("printed"); });
}

/// What clients may call; nothing else.
inline const std::map<std::string, Procedure> permitted = {{"add", {2, add}}, {"print", {1, print}}};

/// One client's way to the procedures. Its `print` writes to the server's output until it is redirected.
class Session : public api::Session::Server {
 public:
  kj::Promise<void> execute(ExecuteContext context) override {
    const std::string name = context.getParams().getProcedure();
    const auto found = permitted.find(name);
    if (found == permitted.end()) throw std::out_of_range("not a permitted procedure: " + name);
    const Texts arguments = remote::texts_of(context.getParams().getArguments());
    if (arguments.size() != found->second.arguments) {
      throw std::invalid_argument(fmt::format("{} arguments, expected {}", arguments.size(), found->second.arguments));
    }
    return found->second.execute(arguments, output_).then([context](kj::String&& result) mutable {
      context.getResults().setResult(result);
    });
  }

  kj::Promise<void> redirect(RedirectContext context) override {
    if (!context.getParams().hasOutput()) throw std::invalid_argument("no output to redirect to");
    output_ = context.getParams().getOutput();
    return kj::READY_NOW;
  }

 private:
  api::Output::Client output_ = kj::heap<Console>();  // at first the server's own
};

class Procedures : public api::Procedures::Server {
 public:
  /// A session per client: when the client has left, its session is destroyed, and with it its redirection.
  kj::Promise<void> connect(ConnectContext context) override {
    context.getResults().setSession(kj::heap<Session>());
    return kj::READY_NOW;
  }
};
