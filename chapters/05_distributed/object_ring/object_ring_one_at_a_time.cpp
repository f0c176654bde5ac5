// Pitfall: one call at a time
//
// To protect its data, each object of the ring takes a call only when it has answered the one before. Object 1 waits
// for object 2, which waits for object 3, and this one for object 1, which is busy until it has its answer: a deadlock.
// The client gives up after a while; the objects stay blocked, as a later call shows. All three are in one process
// here; the deadlock is the same.
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed chapters/05_distributed/node.capnp && capnp compile -oc++:build --src-prefix=chapters/05_distributed/object_ring chapters/05_distributed/object_ring/object_ring.capnp && g++ -std=c++20 -O1 -Icommon -Ichapters/05_distributed -Ibuild chapters/05_distributed/object_ring/object_ring_one_at_a_time.cpp build/node.capnp.c++ build/object_ring.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o object_ring_one_at_a_time
// Run:     object_ring_one_at_a_time
// Symptom: exit 1, prints "no answer within 500 ms"

#include "node.hpp"
#include "object_ring.capnp.h"

class BusyChain : public api::Chain::Server {
 public:
  void set_next(api::Chain::Client next) { next_ = kj::mv(next); }

  kj::Promise<void> process(ProcessContext context) override {
    auto answered = before_.addBranch().then([this, context]() mutable -> kj::Promise<void> {
      const unsigned length = context.getParams().getMessage().size();
      if (length == 4) return kj::READY_NOW;  // once around: only the length counts here, the texts stay empty
      auto request = next_.processRequest();
      request.initMessage(length + 1);
      return request.send().ignoreResult();
    });
    // fork() lets several wait for one promise, each by an addBranch(); no process is forked.
    before_ = answered.fork();  // wrong: the next call waits for the answer of this one
    return before_.addBranch();
  }

 private:
  api::Chain::Client next_ = nullptr;
  kj::ForkedPromise<void> before_ = kj::Promise<void>(kj::READY_NOW).fork();
};

int main() {
  remote::Node node;
  auto object_1 = kj::heap<BusyChain>(), object_2 = kj::heap<BusyChain>(), object_3 = kj::heap<BusyChain>();
  BusyChain &first = *object_1, &second = *object_2, &third = *object_3;
  api::Chain::Client one = kj::mv(object_1);
  third.set_next(one);
  second.set_next(kj::mv(object_3));
  first.set_next(kj::mv(object_2));

  auto request = one.processRequest();
  request.initMessage(1).set(0, "hello");
  const std::string outcome = remote::error_of([&] { node.call(request, 500 * kj::MILLISECONDS); });
  cookbook::println("{}", outcome);
  auto later = one.processRequest();
  later.initMessage(1);
  cookbook::println("a later call: {}", remote::error_of([&] { node.call(later, 500 * kj::MILLISECONDS); }));
  return outcome == "no error" ? 0 : 1;
}
