// Remote object: the programs seen from outside, and the stream that sends calls in batches. Catalogue: 5.C6, 5.6.

#include <set>

#include "05_distributed/remote_object/object_server.hpp"
#include "05_distributed/remote_object/rates.hpp"

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;
using testing::ElementsAre;
using testing::HasSubstr;

using Lines = std::vector<std::string>;

/// Runs a Bash script beside a name server and a greeting server, whose addresses are in $names and $server and whose
/// process ids in $names_pid and $server_pid. `client` calls; `line` makes one line of exit code and output.
Result scene(const std::string& script) {
  const std::string prologue = R"sh(
trap 'kill -9 $(jobs -p) $names_pid $server_pid $heir_pid 2>/dev/null' EXIT
exec {out}< <(exec remote_object_names); names_pid=$!
read -r text <&$out; names=${text##* }
start() { exec {out}< <(ulimit -n ${files:-256}; exec remote_object_server --names "$names" "$@"); }
start; server_pid=$!; read -r text <&$out; server=${text##* }; port=${server##*:}
client() { timeout 20 remote_object_client --names "$names" "$@" 2>&1; }
line() { local text code; text=$("$@" 2>&1); code=$?; echo "$code: $text"; }
)sh";
  return run("/bin/bash", {"-c", prologue + script},
             {.environment = {{"PATH", test_support::bin() + ":" + std::getenv("PATH")}}});
}

TEST(remote_object, all_checks_hold_and_nothing_is_left_behind) {
  const auto result = run("remote_object", {"--calls", "100", "--repeats", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.left_behind, 0);
  EXPECT_EQ(result.lines_with("^ok ").size(), 18U) << result.text();
  EXPECT_TRUE(result.has_line("ok    called here: Hi welcome World"));
  EXPECT_TRUE(result.has_line("ok    called there: Hi welcome World"));
  EXPECT_TRUE(result.has_line("ok    a name beyond ASCII: Hi welcome Zoë 世界"));
  EXPECT_EQ(result.lines_with("^bare TCP echo.*1.00 x$").size(), 2U) << result.text();
  EXPECT_EQ(result.lines_with("^call .* K/s .* x$").size(), 6U) << result.text();
}

TEST(remote_object, calls_that_are_under_way_together_leave_in_one_batch) {
  auto io = kj::setupAsyncIo();
  ObjectServer server(io, 0);
  const Address address = server.add(kj::heap<Greeting>());
  const auto served = server.serve().eagerlyEvaluate([](kj::Exception&& error) { FAIL() << reason(error); });
  Proxy<remote::Greeting> there(io, address, 30 * kj::SECONDS);
  one_at_a_time(io, *there, 1);  // the object is here now
  const long before = there.stream().batches_sent();
  one_at_a_time(io, *there, 100);
  const long alone = there.stream().batches_sent() - before;
  pipelined(io, *there, 100);
  const long together = there.stream().batches_sent() - before - alone;
  EXPECT_GE(alone, 100);
  EXPECT_LE(together, 3);  // the calls, and the word that their answers are no longer needed
}

TEST(remote_object_timing, pipelined_calls_hide_the_distance) {
  const auto result = run("remote_object", {"--calls", "500", "--repeats", "3"});
  const auto alone = result.captures("^call 1 ms away, one at a time +([0-9.]+) K/s");
  const auto pipelined = result.captures("^call 1 ms away, all under way +([0-9.]+) K/s");
  ASSERT_EQ(alone.size() + pipelined.size(), 2U) << result.text();
  EXPECT_LT(std::stod(alone[0]), 1.0) << "an answer came in less than 1 ms";
  EXPECT_GT(std::stod(pipelined[0]), 3 * std::stod(alone[0]));
}

TEST(remote_object, address_has_id_host_and_a_port_that_the_system_chose) {
  std::set<std::string> addresses;
  for (int i = 0; i < 2; ++i) {
    const auto result = run("remote_object", {"--calls", "1", "--repeats", "1"});
    const auto found =
        result.captures("^Ready. Object uri = (capnp:obj_[0-9a-f]{32}@127\\.0\\.0\\.1:[1-9][0-9]{0,4})$");
    ASSERT_EQ(found.size(), 1U) << result.text();
    addresses.insert(found[0]);
  }
  EXPECT_EQ(addresses.size(), 2U);
}

TEST(remote_object, clients_in_sequence_and_at_once_are_served) {
  const auto result = scene(R"sh(
for visitor in Ada Grace "Zoë 世界" "$(printf %10000s x)"; do client --visitor "$visitor" | wc -c; done
echo Ada | client; client < /dev/null
client --object "$server" --visitor "by address"
for i in {10..29}; do client --visitor $i & clients+=($!); done | sort | uniq -c | wc -l)sh");
  EXPECT_THAT(result.out, ElementsAre("15", "17", "23", "10012", "What is your name? Hi welcome Ada",
                                      "What is your name? Hi welcome ", "Hi welcome by address", "20"))
      << result.text();
}

TEST(remote_object, each_failure_is_one_line_and_exit_code_3) {
  const auto result = scene(R"sh(
line client --visitor Ada --object nobody
line client --visitor Ada --object "capnp:obj_0@127.0.0.1:$port"
line client --visitor Ada --object "capnp:names@${names##*@}"
kill -STOP $server_pid; line client --visitor Ada --timeout-ms 100
kill -CONT $server_pid; line client --visitor Ada
kill -STOP $names_pid; line client --visitor Ada --timeout-ms 100; kill -CONT $names_pid
kill -9 $server_pid; line client --visitor Ada
start; heir_pid=$!; read -r text <&$out; line client --visitor Ada
kill $heir_pid; until line client --visitor Ada | grep -m 1 nothing; do sleep 0.01; done
line timeout 20 remote_object_names --port ${names##*:}
kill -9 $names_pid; line client --visitor Ada
line timeout 20 remote_object_server --names "$names")sh");
  const std::string client = "3: remote_object_client: ";
  EXPECT_THAT(
      result.out,
      ElementsAre(client + "nothing is registered under this name; name = nobody",
                  client + "this server has no such object; id = obj_0", client + "the object has no such method",
                  client + "no answer within 100 ms", "0: Hi welcome Ada", client + "no answer within 100 ms",
                  client + "the server is gone", "0: Hi welcome Ada",
                  client + "nothing is registered under this name; name = server", HasSubstr("Address already in use"),
                  client + "the server is gone", "3: remote_object_server: the server is gone"))
      << result.text();
}

TEST(remote_object, name_server_knows_objects_by_many_names) {
  const auto result = scene(R"sh(
start --name other; heir_pid=$!; read -r text <&$out
for name in server other; do line client --visitor $name --object $name; done
kill $heir_pid; while kill -0 $heir_pid 2>/dev/null; do sleep 0.01; done
for name in server other; do line client --visitor $name --object $name; done
line timeout 20 remote_object_server --names "$names" --name "$(printf %256s x)")sh");
  EXPECT_THAT(result.out,
              ElementsAre("0: Hi welcome server", "0: Hi welcome other", "0: Hi welcome server",
                          HasSubstr("3: remote_object_client: nothing is registered under this name; name = other"),
                          "3: remote_object_server: a name and an address have 1 to 255 bytes"))
      << result.text();
}

TEST(remote_object, garbage_does_not_end_a_server) {
  const auto result = scene(R"sh(
for size in 1 7 8 100 100000; do head -c $size /dev/urandom > /dev/tcp/127.0.0.1/$port; done
printf '\xff\xff\xff\x7f' > /dev/tcp/127.0.0.1/$port
head -c 100000 /dev/zero > /dev/tcp/127.0.0.1/$port
client --visitor "after garbage")sh");
  EXPECT_THAT(result.out, ElementsAre("Hi welcome after garbage")) << result.text();
}

TEST(remote_object, more_connections_than_a_server_may_have_wait) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UndefinedBehaviorSanitizer opens a pipe to check a type, and cannot when all descriptors are in use";
#endif
  const auto result = scene(R"sh(
files=32; start --name crowded; heir_pid=$!; read -r text <&$out; port=${text##*:}
for i in {1..100}; do exec {silent[i]}<> /dev/tcp/127.0.0.1/$port; done
line client --object crowded --visitor x --timeout-ms 100
for i in {1..100}; do exec {silent[i]}>&-; done
client --object crowded --visitor "after silence")sh");
  EXPECT_THAT(result.out, ElementsAre("3: remote_object_client: no answer within 100 ms", "Hi welcome after silence"))
      << result.text();
}

TEST(remote_object, ctrl_c_leaves_nothing_behind) {
  for (const int after_ms : {20, 100, 800}) {
    const auto result =
        run("remote_object", {"--calls", "100000", "--repeats", "1000"}, {.interrupt_after_ms = after_ms});
    EXPECT_EQ(result.exit_code, -2) << result.text();
    EXPECT_EQ(result.left_behind, 0) << after_ms;
  }
}

TEST(remote_object, command_lines_are_checked) {
  for (const Lines& wrong : std::vector<Lines>{{"remote_object_names", "--port", "65536"},
                                               {"remote_object_server", "--names", ""},
                                               {"remote_object_server", "--names", "capnp:a@b:0"},
                                               {"remote_object_client", "--names", "capnp:a@b:65536"},
                                               {"remote_object_client", "--object", "capnp:a b@c:1"},
                                               {"remote_object_client"},
                                               {"remote_object_client", "--nonsense"}}) {
    const auto result = run(wrong[0], {wrong.begin() + 1, wrong.end()}, {.limit = std::chrono::seconds(5)});
    EXPECT_EQ(result.exit_code, 2) << wrong.back() << result.text();
    EXPECT_EQ(result.err.size(), 1U) << wrong.back() << result.text();
    EXPECT_EQ(run(wrong[0], {"--help"}).exit_code, 0);
  }
}

}  // namespace
