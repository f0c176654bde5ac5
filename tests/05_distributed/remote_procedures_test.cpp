// The program's output, and sessions from inside: what may be called, where output goes, who leaves.

#include "05_distributed/remote_procedures/session.hpp"

#include <csignal>
#include <memory>

#include "cookbook/process.hpp"
#include "support/run.hpp"

namespace {

using remote::error_of;
using remote::Texts;
using test_support::run;
using testing::ElementsAre;
using testing::MatchesRegex;

void serve_procedures() {
  remote::Node node;
  cookbook::println("{}", node.add(kj::heap<Procedures>()));
  node.serve();
}

class Lines : public api::Output::Server {
 public:
  explicit Lines(Texts& lines) : lines_(lines) {}
  kj::Promise<void> write(WriteContext context) override {
    lines_.push_back(context.getParams().getText());
    return kj::READY_NOW;
  }

 private:
  Texts& lines_;
};

class Failing : public api::Output::Server {
  kj::Promise<void> write(WriteContext) override { throw std::runtime_error("no space left"); }
};

/// Never finishes a write.
class Stuck : public api::Output::Server {
  kj::Promise<void> write(WriteContext) override { return kj::NEVER_DONE; }
};

struct Client {
  Client(remote::Node& node_, const std::string& address) : node(node_), server(node, address) {}

  auto request(const std::string& procedure, const Texts& arguments) {
    auto made = session.executeRequest();
    made.setProcedure(procedure);
    remote::fill(made.initArguments(static_cast<unsigned>(arguments.size())), arguments);
    return made;
  }
  std::string operator()(const std::string& procedure, const Texts& arguments) {
    return node.call(request(procedure, arguments)).getResult();
  }
  void redirect(api::Output::Client output) {
    auto made = session.redirectRequest();
    made.setOutput(kj::mv(output));
    node.call(made);
  }

  remote::Node& node;
  remote::Proxy<api::Procedures> server;
  api::Session::Client session = server->connectRequest().send().getSession();
};

struct remote_procedures_session : testing::Test {
  ~remote_procedures_session() noexcept override {}  // the members' destructors may throw, as Cap'n Proto's do
  cookbook::ChildProcess server{serve_procedures};
  std::string address = server.read_line();
  remote::Node node;
};

TEST(remote_procedures, each_text_is_printed_at_the_side_whose_output_it_is) {
  const auto result = run("remote_procedures", {"--text", "grüße"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
  EXPECT_THAT(result.lines_with("^(add|system) "),
              ElementsAre(MatchesRegex("add 2 3 +5 *"), MatchesRegex("add 2 three +not a number: three *"),
                          MatchesRegex("system ls +not a permitted procedure: system *")))
      << result.text();
  EXPECT_THAT(result.lines_with("^print "),
              ElementsAre(MatchesRegex("print hi there +printed +at the server: hi there"),
                          MatchesRegex("print grüße +printed +at the client: grüße"),
                          MatchesRegex("print hi again +printed +at the server: hi again")))
      << result.text();
}

TEST(remote_procedures_timing, a_call_with_a_call_back_takes_longer) {
  std::string last;
  for (int attempt = 0; attempt < 5; ++attempt) {  // one run may be disturbed by other programs
    const auto result = run("remote_procedures");
    const std::string line = "^the fastest of 100 calls: add ([0-9.]+) ms, print at the client [0-9.]+ ms$";
    const std::string other = "^the fastest of 100 calls: add [0-9.]+ ms, print at the client ([0-9.]+) ms$";
    const auto add = result.captures(line), print = result.captures(other);
    ASSERT_EQ(add.size(), 1U) << result.text();
    ASSERT_EQ(print.size(), 1U) << result.text();
    if (std::stod(print[0]) > 1.4 * std::stod(add[0])) return;
    last = result.text();
  }
  FAIL() << last;
}

TEST(remote_procedures, ctrl_c_or_a_kill_leaves_nothing_behind) {
  for (const int after_ms : {3, 10, 30}) {
    EXPECT_EQ(run("remote_procedures", {}, {.interrupt_after_ms = after_ms}).leaked_processes, 0) << after_ms;
    EXPECT_EQ(run("remote_procedures", {}, {.kill_after_ms = after_ms}).leaked_processes, 0) << after_ms;
  }
}

TEST_F(remote_procedures_session, executes_only_what_is_in_the_table) {
  Client call(node, address);
  for (const std::string& name : Texts{"", "system", "Add", "add ", "print\n", std::string(100'000, 'x')}) {
    const std::string error = error_of([&] { call(name, {"1", "2"}); });
    EXPECT_TRUE(error.starts_with("not a permitted procedure: ")) << error.substr(0, 100);
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
  EXPECT_EQ(call("add", {"2", "3.5"}), "5.5");
  EXPECT_EQ(call("print", {"x"}), "printed");
}

TEST_F(remote_procedures_session, wrong_arguments_are_errors_and_the_session_goes_on) {
  Client call(node, address);
  EXPECT_EQ(error_of([&] { call("add", {}); }), "0 arguments, expected 2");
  EXPECT_EQ(error_of([&] { call("print", {"a", "b"}); }), "2 arguments, expected 1");
  for (const std::string text : {"", "two", "1x", " 1", "1 "}) {
    EXPECT_EQ(error_of([&] { call("add", {"1", text}); }), "not a number: " + text);
  }
  EXPECT_EQ(call("add", {"1", "-4"}), "-3");
}

TEST_F(remote_procedures_session, a_redirection_to_nothing_is_refused) {
  Client call(node, address);
  EXPECT_EQ(error_of([&] { node.call(call.session.redirectRequest()); }), "no output to redirect to");
  EXPECT_EQ(call("print", {"x"}), "printed");
}

TEST_F(remote_procedures_session, two_sessions_have_an_output_each) {
  Texts of_first, of_second;
  Client first(node, address), second(node, address);
  first.redirect(kj::heap<Lines>(of_first));
  second("print", {"to the server\nforged"});  // one line stays one
  second.redirect(kj::heap<Lines>(of_second));
  first("print", {"to the first"});
  second("print", {"to the second"});
  EXPECT_THAT(of_first, ElementsAre("to the first"));
  EXPECT_THAT(of_second, ElementsAre("to the second"));
  server.stop(SIGKILL);
  EXPECT_THAT(server.lines(), ElementsAre(address, "to the server?forged"));
}

TEST_F(remote_procedures_session, many_calls_at_once_are_called_back_in_order) {
  Texts lines;
  Client call(node, address);
  call.redirect(kj::heap<Lines>(lines));
  kj::Vector<kj::Promise<void>> answers;
  Texts expected;
  for (int i = 0; i < 200; ++i) {
    expected.push_back(std::to_string(i));
    answers.add(call.request("print", {expected.back()}).send().ignoreResult());
  }
  node.wait(kj::joinPromises(answers.releaseAsArray()));
  EXPECT_EQ(lines, expected);
}

TEST_F(remote_procedures_session, an_error_in_the_call_back_comes_back_to_the_client) {
  Client call(node, address);
  call.redirect(kj::heap<Failing>());
  EXPECT_THAT(error_of([&] { call("print", {"x"}); }), testing::HasSubstr("no space left"));
  EXPECT_EQ(call("add", {"1", "2"}), "3");
}

TEST_F(remote_procedures_session, a_client_that_never_takes_its_output_holds_up_only_itself) {
  Client stuck(node, address), other(node, address);
  stuck.redirect(kj::heap<Stuck>());
  EXPECT_EQ(error_of([&] { node.call(stuck.request("print", {"x"}), 100 * kj::MILLISECONDS); }),
            "no answer within 100 ms");
  EXPECT_EQ(other("add", {"1", "2"}), "3");
}

TEST_F(remote_procedures_session, a_client_that_leaves_during_a_call_leaves_the_server_and_its_output_as_they_were) {
  {
    Client leaving(node, address);
    leaving.redirect(kj::heap<Stuck>());
    auto under_way = leaving.request("print", {"lost"}).send();
    EXPECT_EQ(leaving("add", {"1", "1"}), "2");
  }
  Client next(node, address);
  next("print", {"from the next"});
  server.stop(SIGKILL);
  EXPECT_THAT(server.lines(), ElementsAre(address, "from the next"));
}

TEST_F(remote_procedures_session, a_server_that_is_killed_is_an_error) {
  Client call(node, address);
  EXPECT_EQ(call("add", {"1", "2"}), "3");
  server.stop(SIGKILL);
  EXPECT_EQ(error_of([&] { call("add", {"1", "2"}); }), "the other side is not there");
}

}  // namespace
