// The programs from outside, and the chapter's Node, Proxy and name server, which three other recipes use as well.

#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <deque>
#include <set>

#include "05_distributed/name_server.hpp"
#include "05_distributed/remote_object/greeting.hpp"
#include "cookbook/process.hpp"
#include "random_bytes.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using remote::error_of;
using test_support::run;
using testing::ElementsAre;
using testing::HasSubstr;

void serve_greeting() {
  remote::Node node;
  cookbook::println("{}", node.add(kj::heap<Greeting>()));
  node.serve();
}

std::string welcome(remote::Node& node, api::Greeting::Client& greeting, const std::string& name,
                    kj::Duration timeout = 20 * kj::SECONDS) {
  auto request = greeting.welcomeMessageRequest();
  request.setName(name);
  return node.call(request, timeout).getMessage();
}

/// A part of the program as a process of its own: names, server or client.
class Part : public test_support::Process {
 public:
  explicit Part(const std::string& name, std::vector<std::string> more = {})
      : Process("remote_object", with_name(name, std::move(more))) {}

 private:
  static std::vector<std::string> with_name(const std::string& name, std::vector<std::string> more) {
    more.insert(more.begin(), {"--part", name});
    return more;
  }
};

std::string last_word(const std::string& line) { return line.substr(line.rfind(' ') + 1); }

TEST(remote_object, tells_what_the_caller_gets_and_leaves_nothing_behind) {
  const auto result = run("remote_object", {"--visitor", "Zoë 世界"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
  EXPECT_TRUE(result.has_line("ok    called there, as called here: Hi welcome Zoë 世界")) << result.text();
  EXPECT_TRUE(result.has_line("ok    the killed server had said of the call: begun")) << result.text();
  for (const char* row :
       {"called in this process +Hi welcome Zoë 世界", "called in another process +Hi welcome Zoë 世界",
        "the server hangs +no answer within 100 ms +[1-9]?[5-9][0-9]\\.[0-9]+ ms|the server hangs +no answer within "
        "100 ms +[1-9][0-9][0-9]\\.[0-9]+ ms",
        "the server goes on +greetings since then: 1", "killed in the middle of a call +the other side is not there",
        "another one has been started +the other side is not there",
        "and its name is looked up +Hi welcome Zoë 世界"}) {
    EXPECT_THAT(result.lines_with("^" + std::string(row)), testing::SizeIs(1)) << row << "\n" << result.text();
  }
}

TEST(remote_object, ctrl_c_or_a_kill_leaves_nothing_behind) {
  for (const int after_ms : {5, 30, 80}) {
    EXPECT_EQ(run("remote_object", {}, {.interrupt_after_ms = after_ms}).leaked_processes, 0) << after_ms;
    EXPECT_EQ(run("remote_object", {}, {.kill_after_ms = after_ms}).leaked_processes, 0) << after_ms;
  }
}

TEST(remote_object, its_parts_work_in_processes_of_their_own) {
  Part name_server("names");
  const std::string names = name_server.read_line();
  Part server("server", {"--names", names});
  const std::string address = last_word(server.read_line());
  EXPECT_THAT(address, testing::MatchesRegex("capnp:obj_[0-9a-f]+@127.0.0.1:[1-9][0-9]*"));
  for (const std::string visitor : {"Ada", "", "Zoë 世界"}) {
    Part client("client", {"--names", names, "--visitor", visitor});
    EXPECT_EQ(client.read_line(), "Hi welcome " + visitor);
    EXPECT_EQ(client.wait().exit_code, 0);
  }
}

TEST(remote_object, many_clients_at_once_are_served) {
  Part name_server("names");
  const std::string names = name_server.read_line();
  Part server("server", {"--names", names});
  server.read_line();
  std::deque<Part> clients;
  for (int i = 0; i < 20; ++i) {
    clients.emplace_back("client", std::vector<std::string>{"--names", names, "--visitor", std::to_string(i)});
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(clients[i].read_line(), "Hi welcome " + std::to_string(i));
}

TEST(remote_object, each_failure_of_a_client_is_one_line_and_exit_code_3) {
  const std::string dead = "capnp:obj_0@127.0.0.1:1";
  for (const std::string names : {"", "names", "capnp:x@:1", "capnp:x@127.0.0.1:0", "capnp:x@127.0.0.1:65536"}) {
    for (const char* name : {"client", "server"}) {
      const auto result = run("remote_object", {"--part", name, "--names", names}, {.limit = 10s});
      EXPECT_EQ(result.exit_code, 3) << result.text();
      EXPECT_THAT(result.err, ElementsAre(HasSubstr("'" + names + "' is no address"))) << result.text();
    }
  }
  for (const char* name : {"client", "server"}) {
    const auto result = run("remote_object", {"--part", name, "--names", dead}, {.limit = 10s});
    EXPECT_EQ(result.exit_code, 3) << result.text();
    EXPECT_THAT(result.err, ElementsAre(HasSubstr("the other side is not there"))) << result.text();
  }
}

TEST(remote_object, its_bench_refuses_more_than_its_ranges) {
  EXPECT_EQ(run("remote_object_bench", {"--calls", "0"}).exit_code, 2);
}

TEST(remote_object_node, each_object_has_an_address_of_its_own_at_a_port_that_the_system_chose) {
  remote::Node one, *same = &one;
  const auto first = remote::parse_address(one.add(kj::heap<Greeting>()));
  const auto second = remote::parse_address(same->add(kj::heap<Greeting>()));
  EXPECT_NE(first.id, second.id);
  EXPECT_EQ(first.id.size(), 36U);
  EXPECT_EQ(first.port, second.port);
  EXPECT_GT(first.port, 0U);
}

TEST(remote_object_node, an_unknown_object_and_an_unknown_method_are_errors_and_the_server_goes_on) {
  cookbook::ChildProcess server(serve_greeting);
  auto address = remote::parse_address(server.read_line());
  remote::Node node;
  remote::Proxy<api::Greeting> greeting(node, address.text());
  remote::Proxy<remote::NameServer> wrong_kind(node, address.text());
  EXPECT_EQ(error_of([&] { node.call(wrong_kind->listRequest()); }), "the object has no such method");
  address.id = "obj_0";
  remote::Proxy<api::Greeting> nothing(node, address.text());
  EXPECT_EQ(error_of([&] { welcome(node, *nothing, "World"); }), "this process has no such object: obj_0");
  EXPECT_EQ(welcome(node, *greeting, "World"), "Hi welcome World");
}

TEST(remote_object_node, an_object_of_another_kind_has_no_such_method) {
  cookbook::ChildProcess name_server([] { remote::serve_names(); });
  const std::string names = name_server.read_line();
  remote::Node node;
  remote::Proxy<api::Greeting> greeting(node, names);
  EXPECT_EQ(error_of([&] { welcome(node, *greeting, "World"); }), "the object has no such method");
}

TEST(remote_object_node, a_wrong_argument_is_an_error_and_the_longest_right_one_is_not) {
  cookbook::ChildProcess server(serve_greeting);
  const std::string address = server.read_line();
  remote::Node node;
  remote::Proxy<api::Greeting> greeting(node, address);
  EXPECT_EQ(welcome(node, *greeting, std::string(100, 'x')), "Hi welcome " + std::string(100, 'x'));
  EXPECT_EQ(error_of([&] { welcome(node, *greeting, std::string(101, 'x')); }), "a name has at most 100 bytes");
}

TEST(remote_object_node, a_message_that_is_too_large_is_an_error_and_others_are_served) {
  cookbook::ChildProcess server(serve_greeting);
  const std::string address = server.read_line();
  remote::Node node;
  remote::Proxy<api::Greeting> greedy(node, address), modest(node, address);
  EXPECT_NE(error_of([&] { welcome(node, *greedy, std::string(100'000'000, 'x')); }), "no error");
  EXPECT_EQ(welcome(node, *modest, "World"), "Hi welcome World");
}

TEST(remote_object_node, a_wait_ends_after_its_timeout_and_the_server_can_go_on_later) {
  cookbook::ChildProcess server(serve_greeting);
  const std::string address = server.read_line();
  remote::Node node;
  remote::Proxy<api::Greeting> greeting(node, address);
  server.send_signal(SIGSTOP);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(error_of([&] { welcome(node, *greeting, "World", 200 * kj::MILLISECONDS); }), "no answer within 200 ms");
  EXPECT_GE(std::chrono::steady_clock::now() - start, 200ms);
  server.send_signal(SIGCONT);
  EXPECT_EQ(welcome(node, *greeting, "World"), "Hi welcome World");
  EXPECT_EQ(node.call(greeting->greetedRequest()).getTimes(), 2U) << "that for which nobody has waited, too";
}

TEST(remote_object_node, a_wait_has_a_limit_of_its_own) {
  cookbook::ChildProcess server(serve_greeting);
  const std::string address = server.read_line();
  remote::Node node;
  remote::Proxy<api::Greeting> greeting(node, address);
  server.send_signal(SIGSTOP);
  EXPECT_EQ(error_of([&] { node.call(greeting->welcomeMessageRequest()); }), "no answer within 5000 ms");
}

TEST(remote_object_node, the_question_for_an_object_and_its_call_leave_together) {
  // A server that accepts and never answers. What the client sends all the same, it sends without waiting.
  sockaddr_in at = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof at;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&at), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size), 0);

  remote::Node node;
  remote::Proxy<api::Greeting> greeting(node, fmt::format("capnp:obj_7@127.0.0.1:{}", ntohs(at.sin_port)));
  EXPECT_NE(error_of([&] { welcome(node, *greeting, "World", 500 * kj::MILLISECONDS); }), "no error");
  const int connection = accept(listener, nullptr, nullptr);
  std::string sent(100'000, '\0');
  sent.resize(std::max<ssize_t>(0, recv(connection, sent.data(), sent.size(), 0)));
  EXPECT_THAT(sent, HasSubstr("obj_7"));
  EXPECT_THAT(sent, HasSubstr("World"));
  close(connection);
  close(listener);
}

TEST(remote_object_node, garbage_does_not_end_a_server) {
  cookbook::ChildProcess server(serve_greeting);
  const auto address = remote::parse_address(server.read_line());
  for (const std::string& garbage :
       {std::string("x"), std::string(8, '\xff'), std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100'000, '\0'),
        std::string("\xff\xff\xff\x7f"), std::string("\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0", 16)}) {
    sockaddr_in at = {.sin_family = AF_INET,
                      .sin_port = htons(static_cast<std::uint16_t>(address.port)),
                      .sin_addr = {htonl(INADDR_LOOPBACK)},
                      .sin_zero = {}};
    const int connection = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(connect(connection, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    send(connection, garbage.data(), garbage.size(), MSG_NOSIGNAL);
    close(connection);
  }
  remote::Node node;
  remote::Proxy<api::Greeting> greeting(node, address.text());
  EXPECT_EQ(welcome(node, *greeting, "World"), "Hi welcome World");
}

TEST(remote_object_node, more_connections_than_a_server_may_have_wait_until_some_are_gone) {
  cookbook::ChildProcess server([] {
    const rlimit few = {32, 32};
    check(setrlimit(RLIMIT_NOFILE, &few), "setrlimit");
    serve_greeting();
  });
  const std::string address = server.read_line();
  remote::Node node;
  {
    std::vector<std::unique_ptr<remote::Proxy<api::Greeting>>> many;
    int refused = 0;
    for (int i = 0; i < 60; ++i) {
      many.push_back(std::make_unique<remote::Proxy<api::Greeting>>(node, address));
      refused += error_of([&] { welcome(node, **many.back(), "x", 500 * kj::MILLISECONDS); }) != "no error";
      if (refused > 2) break;
    }
    EXPECT_GT(refused, 2);
    EXPECT_GT(many.size(), 10U);
  }
  remote::Proxy<api::Greeting> greeting(node, address);
  EXPECT_EQ(welcome(node, *greeting, "World"), "Hi welcome World");
}

TEST(remote_object_names, a_name_stands_for_the_address_that_was_published_last) {
  cookbook::ChildProcess name_server([] { remote::serve_names(); });
  const std::string names = name_server.read_line();
  cookbook::ChildProcess first(serve_greeting), second(serve_greeting);
  const std::string first_address = first.read_line(), second_address = second.read_line();
  remote::Node node;
  remote::publish(node, names, "server", first_address);
  auto greeting = remote::find<api::Greeting>(node, names, "server");
  EXPECT_EQ(welcome(node, *greeting, "World"), "Hi welcome World");
  first.stop(SIGKILL);
  EXPECT_EQ(error_of([&] { welcome(node, *greeting, "World"); }), "the other side is not there");
  remote::publish(node, names, "server", second_address);
  EXPECT_EQ(error_of([&] { welcome(node, *greeting, "World"); }), "the other side is not there");
  auto again = remote::find<api::Greeting>(node, names, "server");
  EXPECT_EQ(welcome(node, *again, "World"), "Hi welcome World");
}

TEST(remote_object_names, are_listed_by_prefix_and_wrong_ones_are_refused) {
  cookbook::ChildProcess name_server([] { remote::serve_names(); });
  const std::string names = name_server.read_line(), address = "capnp:obj_0@127.0.0.1:1";
  remote::Node node;
  for (const char* name : {"shop.b", "shop.a", "shop", "ring"}) remote::publish(node, names, name, address);
  EXPECT_THAT(remote::list(node, names, "shop."), ElementsAre("shop.a", "shop.b"));
  EXPECT_EQ(remote::list(node, names, "").size(), 4U);
  EXPECT_THAT(remote::list(node, names, "x"), ElementsAre());
  EXPECT_EQ(error_of([&] { remote::publish(node, names, "", address); }), "a name has 1 to 255 bytes");
  EXPECT_EQ(error_of([&] { remote::publish(node, names, std::string(256, 'x'), address); }),
            "a name has 1 to 255 bytes");
  EXPECT_THAT(error_of([&] { remote::publish(node, names, "x", "nowhere"); }), HasSubstr("'nowhere' is no address"));
  auto nobody = remote::find<api::Greeting>(node, names, "nobody");
  EXPECT_EQ(error_of([&] { welcome(node, *nobody, "World"); }), "unknown name: nobody");
}

TEST(remote_object_names, a_name_server_that_hangs_or_dies_is_an_error_in_time) {
  cookbook::ChildProcess name_server([] { remote::serve_names(); });
  const std::string names = name_server.read_line();
  remote::Node node;
  name_server.send_signal(SIGSTOP);
  auto greeting = remote::find<api::Greeting>(node, names, "server");
  EXPECT_EQ(error_of([&] { welcome(node, *greeting, "World", 100 * kj::MILLISECONDS); }), "no answer within 100 ms");
  name_server.stop(SIGKILL);
  EXPECT_EQ(error_of([&] { welcome(node, *greeting, "World"); }), "the other side is not there");
  auto again = remote::find<api::Greeting>(node, names, "server");
  EXPECT_EQ(error_of([&] { welcome(node, *again, "World"); }), "the other side is not there");
}

/// What a client sends to a server for one call, as bytes. A socket stands for the server, and answers nothing.
template <typename Call>
std::string bytes_of_call(Call call) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener, 1), 0);
  EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_EQ(error_of([&] { call(fmt::format("capnp:obj_0@127.0.0.1:{}", ntohs(address.sin_port))); }).substr(0, 9),
            "no answer");
  const int connection = accept(listener, nullptr, nullptr);
  std::string bytes(10'000, '\0');
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(0, recv(connection, bytes.data(), bytes.size(), 0))));
  close(connection);
  close(listener);
  return bytes;
}

/// Sends 10,000 changed copies of `bytes` to the server at this address.
void send_random_changes(const std::string& bytes, const std::string& address) {
  ASSERT_GT(bytes.size(), 200U);
  const unsigned port = remote::parse_address(address).port;
  RandomBytes random(5);
  for (int i = 0; i < 10'000; ++i) {
    std::string message = random.one_in(10) ? random.bytes(300) : random.changed(random.changed(bytes));
    if (random.one_in(20)) message.assign(message.size() / 8 * 8, '\xff');  // the largest numbers that there are
    ASSERT_TRUE(send_and_leave(static_cast<int>(port), message, random.one_in(3))) << i;
  }
}

TEST(remote_object_node, an_object_survives_random_messages) {
  cookbook::ChildProcess server(serve_greeting);
  const std::string address = server.read_line();
  remote::Node node;
  const std::string bytes = bytes_of_call([&](const std::string& at) {
    remote::Proxy<api::Greeting> greeting(node, at);
    welcome(node, *greeting, "random", 200 * kj::MILLISECONDS);
  });
  send_random_changes(bytes, address);
  remote::Proxy<api::Greeting> greeting(node, address);
  EXPECT_EQ(welcome(node, *greeting, "World", 60 * kj::SECONDS), "Hi welcome World");
  EXPECT_EQ(server.wait(0ms), std::nullopt);
}

TEST(remote_object_names, the_name_server_survives_random_messages) {
  cookbook::ChildProcess server([] { remote::serve_names(); });
  const std::string address = server.read_line();
  remote::Node node;
  const std::string bytes = bytes_of_call([&](const std::string& at) {
    remote::Proxy<remote::NameServer> names(node, at);
    auto request = names->publishRequest();
    request.setName("server");
    request.setAddress("capnp:obj_0@127.0.0.1:1");
    node.call(request, 200 * kj::MILLISECONDS);
  });
  send_random_changes(bytes, address);
  remote::Proxy<remote::NameServer> names(node, address);
  node.call(names->listRequest(), 60 * kj::SECONDS);  // a busy machine needs its time for 10,000 messages
  remote::publish(node, address, "good", "capnp:obj_7@127.0.0.1:7");
  EXPECT_THAT(remote::list(node, address, "good"), ElementsAre("good"));
  EXPECT_EQ(server.wait(0ms), std::nullopt);
}

}  // namespace
