/// Waiting for the answer of another process, which may never come.
#pragma once

#include <kj/async-io.h>
#include <kj/exception.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string>

/// A call that gave no result. The text is one line, for people.
struct RemoteError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What went wrong, in one line.
inline std::string reason(const kj::Exception& error) {
  std::string text = error.getDescription().cStr();
  if (const std::string prefix = "remote exception: "; text.starts_with(prefix)) text.erase(0, prefix.size());
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c); }, '?');
  switch (error.getType()) {
    case kj::Exception::Type::DISCONNECTED:
      return "the server is gone";
    case kj::Exception::Type::UNIMPLEMENTED:
      return "the object has no such method";
    default:
      return text;
  }
}

/// Waits for what was promised, and runs the event loop meanwhile, but not longer than `timeout`: a server may hang,
/// or its machine be switched off, and then nothing comes, not even an error. Throws a RemoteError.
template <typename Result>
Result wait_for(kj::AsyncIoContext& io, kj::Promise<Result> promise, kj::Duration timeout) {
  bool late = false;
  auto alarm = io.provider->getTimer().afterDelay(timeout).then([&late]() -> kj::Promise<Result> {
    late = true;
    return KJ_EXCEPTION(OVERLOADED, "late");
  });
  try {
    // The loser is dropped, and to drop a promise is to cancel the call: the server hears of it.
    return promise.exclusiveJoin(kj::mv(alarm)).wait(io.waitScope);
  } catch (const kj::Exception& error) {
    if (late) throw RemoteError("no answer within " + std::to_string(timeout / kj::MILLISECONDS) + " ms");
    throw RemoteError(reason(error));
  }
}
