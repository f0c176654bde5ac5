// The program's output for rings of several lengths, and the object from inside.

#include "05_distributed/object_ring/chain.hpp"

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
  EXPECT_THAT(result.lines_with("^server \\d: "), ElementsAre("server 1: 1 forwarding the message to the object 2",
                                                              "server 1: Back at 1; the chain is closed!",
                                                              "server 2: 2 forwarding the message to the object 3",
                                                              "server 3: 3 forwarding the message to the object 1"));
}

TEST(object_ring, starts_at_any_server) {
  const auto result = run("object_ring", {"--start", "2"});
  EXPECT_TRUE(
      result.has_line(R"(ok    result: ["passed on from 2", "passed on from 3", "passed on from 1", "complete at 2"])"))
      << result.text();
  EXPECT_TRUE(result.has_line("server 2: Back at 2; the chain is closed!")) << result.text();
}

TEST(object_ring, has_any_length) {
  for (const int servers : {1, 2, 30}) {
    const std::string last = std::to_string(servers);
    const auto result = run("object_ring", {"--servers", last, "--start", last});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
    EXPECT_EQ(result.lines_with("forwarding the message").size(), static_cast<std::size_t>(servers));
    EXPECT_TRUE(result.has_line("server " + last + ": Back at " + last + "; the chain is closed!")) << result.text();
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

  remote::Node node;
  const std::string names = node.add(kj::heap<remote::Names>());
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
