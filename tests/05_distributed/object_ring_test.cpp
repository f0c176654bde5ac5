// The program's output for rings of several lengths, and the object from inside.

#include "05_distributed/object_ring/chain.hpp"

#include <csignal>
#include <map>
#include <memory>
#include <vector>

#include "cookbook/process.hpp"
#include "support/run.hpp"

namespace {

using remote::Texts;
using test_support::run;
using testing::ElementsAre;

TEST(object_ring, three_servers_give_the_four_texts) {
  const auto result = run("object_ring");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
  EXPECT_TRUE(
      result.has_line(R"(ok    result: ["passed on from 1", "passed on from 2", "passed on from 3", "complete at 1"])"))
      << result.text();
  EXPECT_THAT(
      result.lines_with("^(?!ok)"),
      ElementsAre(
          "the client calls object 1                         open calls of the object",
          "  1 forwarding the message to the object 2        1", "    2 forwarding the message to the object 3      1",
          "      3 forwarding the message to the object 1    1", "        Back at 1; the chain is closed!           2",
          "      3 has its answer                            1", "    2 has its answer                              1",
          "  1 has its answer                                1", "the client has its answer"));
}

TEST(object_ring, starts_at_any_server) {
  const auto result = run("object_ring", {"--start", "2"});
  EXPECT_TRUE(
      result.has_line(R"(ok    result: ["passed on from 2", "passed on from 3", "passed on from 1", "complete at 2"])"))
      << result.text();
  EXPECT_TRUE(result.has_line("        Back at 2; the chain is closed!           2")) << result.text();
}

TEST(object_ring, has_any_length) {
  for (const int servers : {1, 2, 30}) {
    const std::string last = std::to_string(servers);
    const auto result = run("object_ring", {"--servers", last, "--start", last});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
    EXPECT_EQ(result.lines_with("forwarding the message").size(), static_cast<std::size_t>(servers));
    EXPECT_EQ(result.lines_with("^ +Back at " + last + "; the chain is closed! +2$").size(), 1U) << result.text();
    EXPECT_EQ(result.lines_with("^ +" + last + " has its answer +1$").size(), 1U) << result.text();
  }
  EXPECT_TRUE(
      run("object_ring", {"--servers", "1"}).has_line(R"(ok    result: ["passed on from 1", "complete at 1"])"));
}

TEST(object_ring, refuses_a_start_outside_of_the_ring) {
  const auto result = run("object_ring", {"--servers", "2", "--start", "3"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, ElementsAre("object_ring: --start 3: there are only 2 servers"));
}

TEST(object_ring, ctrl_c_or_a_kill_leaves_nothing_behind) {
  for (const int after_ms : {5, 30, 80}) {
    EXPECT_EQ(run("object_ring", {"--servers", "20"}, {.interrupt_after_ms = after_ms}).leaked_processes, 0)
        << after_ms;
    EXPECT_EQ(run("object_ring", {"--servers", "20"}, {.kill_after_ms = after_ms}).leaked_processes, 0) << after_ms;
  }
}

/// Counts how often it is asked for each name.
class CountingNames : public remote::Names {
 public:
  explicit CountingNames(std::map<std::string, int>& asked) : asked_(asked) {}
  kj::Promise<void> lookup(LookupContext context) override {
    ++asked_[context.getParams().getName()];
    return remote::Names::lookup(context);
  }

 private:
  std::map<std::string, int>& asked_;
};

using Calls = std::vector<kj::Own<kj::PromiseFulfiller<void>>>;

/// Answers a call when the test does so by `calls`.
class Held : public api::Chain::Server {
 public:
  explicit Held(Calls& calls) : calls_(calls) {}
  kj::Promise<void> process(ProcessContext) override {
    auto answer = kj::newPromiseAndFulfiller<void>();
    calls_.push_back(kj::mv(answer.fulfiller));
    return kj::mv(answer.promise);
  }

 private:
  Calls& calls_;
};

/// Chains in this process. They find one another by the name server, which is here as well.
struct Ring {
  explicit Ring(int length) {
    for (int i = 1; i <= length; ++i) {
      const std::string own = std::to_string(i);
      publish(own, kj::heap<Chain>(node, names, own, std::to_string(i % length + 1)));
    }
  }

  void publish(const std::string& name, api::Chain::Client chain) {
    remote::publish(node, names, "example.chainTopology." + name, node.add(kj::mv(chain)));
  }

  capnp::Request<api::Chain::ProcessParams, api::Chain::ProcessResults> request(int start, const Texts& message) {
    auto made = object(start)->processRequest();
    remote::fill(made.initMessage(static_cast<unsigned>(message.size())), message);
    return made;
  }

  Texts process(int start, const Texts& message) {
    return remote::texts_of(node.call(request(start, message)).getResult());
  }

  remote::Proxy<api::Chain>& object(int number) {
    proxies.push_back(std::make_unique<remote::Proxy<api::Chain>>(
        remote::find<api::Chain>(node, names, "example.chainTopology." + std::to_string(number))));
    return *proxies.back();
  }

  std::map<std::string, int> asked;
  remote::Node node;
  const std::string names = node.add(kj::heap<CountingNames>(asked));
  std::vector<std::unique_ptr<remote::Proxy<api::Chain>>> proxies;
};

TEST(object_ring_chain, a_ring_of_one_is_entered_again_by_its_own_call) {
  Ring ring(1);
  EXPECT_THAT(ring.process(1, {"hello"}), ElementsAre("passed on from 1", "complete at 1"));
}

TEST(object_ring_chain, a_message_that_was_there_before_is_not_forwarded) {
  Ring ring(3);
  EXPECT_THAT(ring.process(1, {"hello", "1"}), ElementsAre("complete at 1"));
  EXPECT_THAT(ring.process(2, {"1", "hello", "3"}), ElementsAre("passed on from 2", "complete at 3"));
  EXPECT_THAT(ring.process(3, {}),
              ElementsAre("passed on from 3", "passed on from 1", "passed on from 2", "complete at 3"));
}

TEST(object_ring_chain, many_messages_are_under_way_at_once) {
  Ring ring(3);
  auto vector = kj::Vector<kj::Promise<void>>();
  int right = 0;
  for (int i = 0; i < 100; ++i) {
    vector.add(ring.request(i % 3 + 1, {"hello"}).send().then([&right, i](auto&& answer) {
      const std::string start = std::to_string(i % 3 + 1);
      const Texts result = remote::texts_of(answer.getResult());
      right += result.size() == 4 && result[0] == "passed on from " + start && result[3] == "complete at " + start;
    }));
  }
  ring.node.wait(kj::joinPromises(vector.releaseAsArray()));
  EXPECT_EQ(right, 100);
}

TEST(object_ring_chain, a_gap_in_the_ring_is_an_error_at_the_client) {
  Ring ring(1);
  ring.publish("7", kj::heap<Chain>(ring.node, ring.names, "7", "8"));
  EXPECT_EQ(remote::error_of([&] { ring.process(7, {"hello"}); }), "unknown name: example.chainTopology.8");
}

TEST(object_ring_chain, a_server_may_be_called_before_the_next_one_is_there) {
  Ring ring(1);
  ring.publish("7", kj::heap<Chain>(ring.node, ring.names, "7", "8"));
  EXPECT_EQ(remote::error_of([&] { ring.process(7, {"hello"}); }), "unknown name: example.chainTopology.8");
  ring.publish("8", kj::heap<Chain>(ring.node, ring.names, "8", "7"));
  EXPECT_THAT(ring.process(7, {"hello"}), ElementsAre("passed on from 7", "passed on from 8", "complete at 7"));
}

TEST(object_ring_chain, a_server_that_is_started_again_is_found_after_one_error) {
  const auto serve_8 = [] {
    remote::Node node;
    cookbook::println("{}", node.add(kj::heap<Chain>(node, "", "8", "7")));
    node.serve();
  };
  cookbook::ChildProcess first(serve_8), second(serve_8);  // both before this process has an event loop
  Ring ring(1);
  ring.publish("7", kj::heap<Chain>(ring.node, ring.names, "7", "8"));
  remote::publish(ring.node, ring.names, "example.chainTopology.8", first.read_line());
  EXPECT_THAT(ring.process(7, {"8"}), ElementsAre("passed on from 7", "complete at 8"));
  first.stop(SIGKILL);
  remote::publish(ring.node, ring.names, "example.chainTopology.8", second.read_line());
  EXPECT_EQ(remote::error_of([&] { ring.process(7, {"8"}); }), "the other side is not there");
  EXPECT_THAT(ring.process(7, {"8"}), ElementsAre("passed on from 7", "complete at 8"));
}

TEST(object_ring_chain, calls_that_fail_at_the_same_time_fail_alone) {
  Ring ring(1);
  ring.publish("7", kj::heap<Chain>(ring.node, ring.names, "7", "8"));
  ring.publish("8", kj::heap<Chain>(ring.node, ring.names, "8", "9"));
  auto calls = kj::Vector<kj::Promise<void>>();
  int failed = 0, right = 0;
  for (int i = 0; i < 50; ++i) {  // 8 finds no 9, but knows its own name
    const bool wrong = i % 2 == 0;
    calls.add(
        ring.request(7, {wrong ? "hello" : "8"}).send().then([&](auto&&) { ++right; }, [&](auto&&) { ++failed; }));
  }
  ring.node.wait(kj::joinPromises(calls.releaseAsArray()));
  EXPECT_EQ(failed, 25);
  EXPECT_EQ(right, 25);
}

TEST(object_ring_chain, an_error_of_an_old_proxy_does_not_drop_the_new_one) {
  Ring ring(1);
  Calls calls;
  ring.publish("7", kj::heap<Chain>(ring.node, ring.names, "7", "8"));
  ring.publish("8", kj::heap<Held>(calls));
  const auto begin = [&] {
    const std::size_t before = calls.size();
    auto answer = ring.request(7, {"hello"}).send().ignoreResult();
    while (calls.size() == before) ring.node.wait(ring.node.timer().afterDelay(1 * kj::MILLISECONDS));
    return answer;
  };
  const auto fail = [&](std::size_t call, kj::Promise<void> answer) {
    calls[call]->reject(KJ_EXCEPTION(FAILED, "refused"));
    EXPECT_NE(remote::error_of([&] { ring.node.wait(kj::mv(answer)); }), "no error");
  };
  auto first = begin(), second = begin();
  fail(0, kj::mv(first));
  auto third = begin();  // by a new proxy
  fail(1, kj::mv(second));
  auto fourth = begin();
  EXPECT_EQ(ring.asked["example.chainTopology.8"], 2);
  fail(2, kj::mv(third));
  fail(3, kj::mv(fourth));
}

TEST(object_ring_chain, a_server_of_the_ring_that_is_gone_is_an_error_at_the_client) {
  Ring ring(1);
  ring.publish("7", kj::heap<Chain>(ring.node, ring.names, "7", "8"));
  remote::publish(ring.node, ring.names, "example.chainTopology.8", "capnp:obj_0@127.0.0.1:1");
  EXPECT_EQ(remote::error_of([&] { ring.process(7, {"hello"}); }), "the other side is not there");
}

TEST(object_ring_chain, the_next_object_is_found_only_when_it_is_needed) {
  Ring ring(1);
  ring.publish("7", kj::heap<Chain>(ring.node, ring.names, "7", "8"));
  ring.publish("8", kj::heap<Chain>(ring.node, ring.names, "8", "7"));
  EXPECT_THAT(ring.process(7, {"hello"}), ElementsAre("passed on from 7", "passed on from 8", "complete at 7"));
}

}  // namespace
