// Web application: the table of routes from inside, and the server as well-behaved and hostile clients see it.

#include <sys/resource.h>

#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "07_cloud/web_application/routes.hpp"
#include "support/client.hpp"
#include "support/run.hpp"

namespace {

using namespace std::string_literals;
using test_support::Client;
using test_support::run;
using test_support::ServerProcess;

const std::string greeting = "200 Hello from Flask!";

std::string request(const std::string& method, const std::string& path, const std::string& fields = "",
                    const std::string& body = "") {
  return method + ' ' + path + " HTTP/1.1\r\nHost: here\r\n" + fields + "\r\n" + body;
}

struct Reply {
  int status = 0;  ///< 0 if none came
  std::string head, body;

  /// The value of a header field, empty if there is none.
  std::string field(const std::string& name) const {
    const std::size_t found = head.find("\r\n" + name + ": ");
    if (found == std::string::npos) return "";
    const std::size_t begin = found + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }

  std::string text() const { return std::to_string(status) + ' ' + body; }
};

/// Receives one reply; of one to HEAD, the head alone.
Reply receive_reply(Client& client, bool head_only = false) {
  Reply reply;
  while (!reply.head.ends_with("\r\n\r\n")) {
    const std::string byte = client.receive(1);
    if (byte.empty()) return {};
    reply.head += byte;
  }
  reply.status = std::stoi(reply.head.substr(9, 3));
  if (const std::string length = reply.field("Content-Length"); !head_only && !length.empty()) {
    reply.body = client.receive(std::stoul(length));
  }
  return reply;
}

/// Sends `text` on a connection of its own, and receives one reply.
Reply visit(unsigned short port, const std::string& text) {
  Client client(port);
  client.send(text);
  return receive_reply(client, text.starts_with("HEAD"));
}

/// A server that all tests share which neither end it nor count its connections.
unsigned short shared_server() {
  static const ServerProcess server("web_application", {"--serve"});
  return server.port;
}

TEST(web_application, root_is_a_greeting_of_17_characters) {
  const Reply reply = visit(shared_server(), request("GET", "/"));
  EXPECT_EQ(reply.text(), greeting);
  EXPECT_EQ(reply.body.size(), 17U);
  EXPECT_EQ(reply.field("Content-Type"), "text/html; charset=utf-8");
  EXPECT_TRUE(std::regex_search(reply.head, std::regex("Date: \\w{3}, \\d\\d \\w{3} \\d{4} \\d\\d:\\d\\d:\\d\\d GMT")));
  EXPECT_EQ(visit(shared_server(), request("GET", "/?a=b&c")).text(), greeting);
  EXPECT_EQ(visit(shared_server(), request("GET", "http://elsewhere/?a")).text(), greeting);
  EXPECT_EQ(visit(shared_server(), request("GET", "/health")).text(), "200 ok");
}

TEST(web_application, head_has_the_head_of_get_and_no_body) {
  Client client(shared_server());
  client.send(request("HEAD", "/") + request("GET", "/nowhere") + request("HEAD", "/nowhere") + request("GET", "/"));
  EXPECT_EQ(receive_reply(client, true).field("Content-Length"), "17");
  EXPECT_EQ(receive_reply(client).status, 404);
  EXPECT_EQ(receive_reply(client, true).status, 404);
  EXPECT_EQ(receive_reply(client).text(), greeting);
  client.send("HEAD / HTTP/1.1\r\nno field\r\n\r\n");  // malformed
  EXPECT_EQ(receive_reply(client, true).status, 400);
  EXPECT_TRUE(client.is_ended());
}

TEST(web_application, methods_that_a_path_has_not_are_refused_with_those_that_it_has) {
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW"}) {
    const Reply reply = visit(shared_server(), request(method, "/"));
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_EQ(reply.field("Allow"), "OPTIONS, HEAD, GET") << method;
  }
  const Reply options = visit(shared_server(), request("OPTIONS", "/echo"));
  EXPECT_EQ(options.status, 200);
  EXPECT_EQ(options.field("Allow"), "OPTIONS, POST");
  EXPECT_EQ(visit(shared_server(), request("HEAD", "/echo")).status, 405);
  EXPECT_EQ(visit(shared_server(), request("OPTIONS", "*")).status, 200);
  EXPECT_EQ(visit(shared_server(), request("OPTIONS", "/nowhere")).status, 404);
}

TEST(web_application, what_is_no_request_is_refused_and_ends_the_connection) {
  const std::string garbage = "\x16\x03\x01\x00\xff garbage\r\n\r\n"s;  // with its byte 0
  const std::string get = "GET / HTTP/1.1\r\n", post = "POST /echo HTTP/1.1\r\nHost: here\r\n";
  const std::string length = post + "Content-Length: ", coding = post + "Transfer-Encoding: ";
  const std::string old = "POST /echo HTTP/1.0\r\n";
  const std::vector<std::string> wrong = {// clang-format off
      garbage, "GET /\r\n\r\n", "GET / HTTP/2.0\r\nHost: here\r\n\r\n",
      get + "\r\n", get + "Host: here\r\nHost: there\r\n\r\n", get + "Host: here\r\nA field\r\n\r\n",
      get + "Host: here\r\nField : x\r\n\r\n", get + "Host: here\r\nField: \x01\r\n\r\n",
      length + "-1\r\n\r\n", length + "many\r\n\r\n", length + "99999999999999999999\r\n\r\n",
      length + "1\r\nContent-Length: 2\r\n\r\nxx", length + "1\r\nContent-Length: 1\r\n\r\nx", length + "1, 1\r\n\r\nx",
      length + "5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", coding + "gzip\r\n\r\n",
      coding + "chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", coding + "gzip, chunked\r\n\r\n0\r\n\r\n",
      coding + "gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", coding + "chunked\r\n\r\nmany\r\n",
      old + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", old + "Host: here\r\nHost: there\r\n\r\n"};
  // clang-format on
  for (const std::string& text : wrong) {
    Client client(shared_server());
    client.send(text);
    const Reply reply = receive_reply(client);
    EXPECT_EQ(reply.status, 400) << text;
    EXPECT_TRUE(reply.field("Connection") == "close" && client.is_ended()) << text;
  }
  EXPECT_EQ(visit(shared_server(), request("GET", "nowhere")).status, 404);
}

TEST(web_application, bodies_and_heads_have_limits) {
  const unsigned short port = shared_server();
  const std::string longest(65'536, 'b');
  EXPECT_EQ(visit(port, request("POST", "/echo", "Content-Length: 65536\r\n", longest)).text(), "200 " + longest);
  EXPECT_EQ(visit(port, request("POST", "/echo", "Content-Length: 65537\r\n")).status, 413);
  EXPECT_EQ(visit(port, request("POST", "/echo", "Content-Length: 900000\r\n", std::string(900'000, 'b'))).status, 413);
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  EXPECT_EQ(visit(port, request("POST", "/echo", chunked, "3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n")).body, "abcd");
  EXPECT_EQ(visit(port, request("POST", "/echo", chunked, "fffff\r\n")).status, 413);
  EXPECT_EQ(visit(port, request("POST", "/echo", chunked, "1;" + std::string(20'000, 'x'))).status, 431);
  EXPECT_EQ(visit(port, request("GET", "/", "Field: " + std::string(7900, 'f') + "\r\n")).text(), greeting);
  EXPECT_EQ(visit(port, request("GET", "/", "Field: " + std::string(8000, 'f') + "\r\n")).status, 431);
  EXPECT_EQ(visit(port, request("GET", "/" + std::string(100'000, 'p'))).status, 431);
}

TEST(web_application, a_head_without_end_costs_no_processor_time) {
  ServerProcess server("web_application", {"--serve", "--timeout-ms", "60000"});
  std::vector<Client> clients;
  for (int i = 0; i < 4; ++i) {
    Client& client = clients.emplace_back(server.port);
    const bool chunk = i % 2 == 0;  // a line before a chunk without end, or a head without end
    client.send((chunk ? request("POST", "/echo", "Transfer-Encoding: chunked\r\n", "1;") : "GET /") +
                std::string(20'000, 'a'));
    EXPECT_EQ(receive_reply(client).status, 431);
  }
  const double before = server.processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // in which a server that spins uses 0.3 s
  EXPECT_LT(server.processor_seconds() - before, 0.1);
  EXPECT_EQ(visit(server.port, request("GET", "/")).text(), greeting);
  server.send_signal(SIGTERM);
  EXPECT_EQ(server.wait().exit_code, 0);  // without waiting for the clients, which are still connected
  for (Client& client : clients) EXPECT_TRUE(client.is_ended());
}

TEST(web_application, connections_are_kept_unless_the_client_wants_otherwise) {
  const std::string old = "GET / HTTP/1.0\r\n";
  Client kept(shared_server());
  for (const auto& text : {request("GET", "/"), old + "Connection: keep-alive\r\n\r\n"}) {
    kept.send(text);
    EXPECT_EQ(receive_reply(kept).text(), greeting);
  }
  for (const auto& text : {request("GET", "/", "Connection: close\r\n"), old + "\r\n"}) {
    Client closed(shared_server());
    closed.send(text);
    EXPECT_EQ(receive_reply(closed).text(), greeting);
    EXPECT_TRUE(closed.is_ended());
  }
}

TEST(web_application, requests_come_in_pieces_or_many_at_once_or_after_an_empty_line) {
  Client client(shared_server());
  for (const char byte : "\r\n" + request("POST", "/echo", "Content-Length: 5\r\n", "bytes")) client.send({&byte, 1});
  EXPECT_EQ(receive_reply(client).text(), "200 bytes");
  std::string many;
  for (int i = 0; i < 200; ++i) {
    many += "\r\n" + request("POST", "/echo", "Content-Length: 3\r\n", std::to_string(100 + i));
  }
  client.send(many);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(receive_reply(client).body, std::to_string(100 + i));
}

TEST(web_application, only_clients_of_http_1_1_are_told_to_continue) {
  Client client(shared_server());
  client.send("POST /echo HTTP/1.0\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody");
  EXPECT_EQ(receive_reply(client).text(), "200 body");
}

TEST(web_application, a_client_that_asks_and_never_reads_costs_little_and_is_disconnected) {
  ServerProcess server("web_application", {"--serve", "--timeout-ms", "1000"});
  const long before = server.resident();
  Client client(server.port);
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += request("GET", "/metrics");
  while (client.send(many)) continue;  // ends when the server has broken the connection
  EXPECT_LT(server.resident() - before, 2000 * test_support::memory_factor);
  EXPECT_EQ(visit(server.port, request("GET", "/")).text(), greeting);
}

TEST(web_application, a_thousand_clients_at_once_are_answered_and_cost_little) {
  const ServerProcess server("web_application", {"--serve"});
  const rlimit files = {4096, 4096};
  setrlimit(RLIMIT_NOFILE, &files);
  const long before = server.resident();
  std::vector<Client> clients;
  for (int i = 0; i < 1000; ++i) clients.emplace_back(server.port);
  for (Client& client : clients) client.send(request("GET", "/"));
  for (Client& client : clients) EXPECT_EQ(receive_reply(client).text(), greeting);
  EXPECT_LT(server.resident() - before, 1000 * 24 * test_support::memory_factor);
}

TEST(web_application, resets_and_silence_do_not_hurt_it) {
  const ServerProcess server("web_application", {"--serve", "--timeout-ms", "1000"});
  for (int i = 0; i < 100; ++i) {
    Client client(server.port);
    client.send(request("GET", "/"));
    client.reset();
  }
  Client silent(server.port), half(server.port), kept(server.port), slow(server.port);
  half.send("GET / HT");
  kept.send(request("GET", "/"));
  EXPECT_EQ(receive_reply(kept).text(), greeting);
  int sent = 0;  // a byte now and then, and never a whole request
  for (; sent < 2000 && slow.send("G"); ++sent) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_LT(sent, 2000);
  for (Client* client : {&silent, &half, &kept}) EXPECT_TRUE(client->is_ended());
  EXPECT_EQ(visit(server.port, request("GET", "/")).text(), greeting);
}

TEST(web_application, without_file_descriptors_new_clients_wait_and_are_served_later) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UndefinedBehaviorSanitizer opens a pipe to check a type, and cannot when all descriptors are in use";
#endif
  const ServerProcess server("web_application", {"--serve"}, {.max_files = 24});
  std::vector<Client> clients;
  for (int i = 0; i < 40; ++i) clients.emplace_back(server.port);
  for (Client& client : clients) client.send(request("GET", "/"));
  for (; !clients.empty(); clients.erase(clients.begin())) {
    EXPECT_EQ(receive_reply(clients.front()).text(), greeting);
  }
}

/// Waits until the server has noticed a signal, and accepts nobody any more.
void wait_until_closed(const ServerProcess& server) {
  try {
    for (;;) const Client client(server.port);
  } catch (const std::system_error&) {
    return;
  }
}

TEST(web_application, both_signals_drain_it) {
  for (const int signal : {SIGTERM, SIGINT}) {
    ServerProcess server("web_application", {"--serve", "--timeout-ms", "60000"});
    Client half(server.port), idle(server.port), kept(server.port);
    kept.send(request("GET", "/"));
    EXPECT_EQ(receive_reply(kept).text(), greeting);
    half.send(request("POST", "/echo", "Content-Length: 4\r\nExpect: 100-continue\r\n", "ha"));
    EXPECT_EQ(receive_reply(half).status, 100);  // so the server has read its head
    server.send_signal(signal);
    wait_until_closed(server);
    kept.send(request("GET", "/"));  // whoever is connected gets one more answer
    EXPECT_EQ(receive_reply(kept).field("Connection"), "close");
    EXPECT_TRUE(kept.is_ended());
    half.send("lf");
    const Reply last = receive_reply(half);
    EXPECT_EQ(last.text(), "200 half");
    EXPECT_EQ(last.field("Connection"), "close");
    EXPECT_TRUE(half.is_ended());
    EXPECT_TRUE(idle.is_ended());
    EXPECT_EQ(server.wait().exit_code, 0);
  }
}

TEST(web_application, an_end_without_requests_waits_for_nobody) {
  ServerProcess server("web_application", {"--serve", "--timeout-ms", "60000"});
  Client idle(server.port), kept(server.port), part(server.port);
  kept.send(request("GET", "/"));
  EXPECT_EQ(receive_reply(kept).text(), greeting);
  part.send("GET / HT");
  server.send_signal(SIGTERM);
  for (Client* client : {&idle, &kept, &part}) EXPECT_TRUE(client->is_ended());
  EXPECT_EQ(server.wait().exit_code, 0);
}

TEST(web_application, draining_ends_with_the_timeout_or_at_a_second_signal) {
  for (const bool again : {false, true}) {
    ServerProcess server("web_application", {"--serve", "--timeout-ms", again ? "86400000" : "1000"});
    Client half(server.port);
    half.send(request("POST", "/echo", "Content-Length: 4\r\nExpect: 100-continue\r\n"));
    EXPECT_EQ(receive_reply(half).status, 100);
    server.send_signal(SIGTERM);
    wait_until_closed(server);
    if (again) server.send_signal(SIGTERM);
    EXPECT_EQ(server.wait().exit_code, again ? -SIGTERM : 0);
  }
}

TEST(web_application, metrics_count_exactly) {
  const ServerProcess server("web_application", {"--serve"});
  for (int i = 0; i < 7; ++i) visit(server.port, request("GET", i < 5 ? "/" : "/nowhere"));
  visit(server.port, "garbage\r\n\r\n");
  const Reply reply = visit(server.port, request("GET", "/metrics"));
  EXPECT_EQ(reply.field("Content-Type"), "text/plain; version=0.0.4");
  EXPECT_EQ(reply.body, "http_requests_total 8\n");
}

TEST(web_application, the_table_calls_the_handler_of_path_and_method) {
  Routes routes;
  routes["/a"][http::verb::get] = [](const Request&, Response& response) { response.body() = "got"; };
  routes["/a"][http::verb::put] = [](const Request& sent, Response& response) {
    response.body() = "put " + sent.body();
  };
  routes["/b"][http::verb::get] = [](const Request&, Response&) { throw std::runtime_error("no"); };
  const auto ask = [&](http::verb method, const char* path) { return answer(routes, {method, path, 11, "x"}); };
  EXPECT_EQ(ask(http::verb::get, "/a").body(), "got");
  EXPECT_EQ(ask(http::verb::put, "/a").body(), "put x");
  EXPECT_EQ(ask(http::verb::delete_, "/a")[http::field::allow], "OPTIONS, HEAD, GET, PUT");
  EXPECT_EQ(ask(http::verb::get, "/a/").result(), http::status::not_found);
  EXPECT_EQ(ask(http::verb::get, "/b").result(), http::status::internal_server_error);
}

TEST(web_application, the_program_visits_itself_and_a_port_in_use_is_refused) {
  const auto result = run("web_application");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^ok    ").size(), 6U) << result.text();
  const ServerProcess server("web_application", {"--serve"});
  EXPECT_EQ(run("web_application", {"--port", std::to_string(server.port)}).exit_code, 3);
}

TEST(web_application, curl_gets_and_sends_pages) {
  if (system("command -v curl >/dev/null") != 0) GTEST_SKIP() << "curl is not installed";
  const ServerProcess server("web_application", {"--serve"});
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port);
  const auto curl = [&](const std::string& words) {
    const std::string command = "curl -s --max-time 10 -w '|%{http_code} %{num_connects}' " + words;
    return fmt::format("{}", fmt::join(run("/bin/sh", {"-c", command}).out, "\n"));
  };
  // Two pages on one connection, the body of a POST in chunks, and one that is too large.
  EXPECT_EQ(curl(url + "/ " + url + "/health"), "Hello from Flask!|200 1ok|200 0");
  EXPECT_EQ(curl("-H 'Transfer-Encoding: chunked' -d again " + url + "/echo"), "again|200 1");
  EXPECT_EQ(curl("-X OPTIONS --request-target '*' " + url), "|200 1");
  EXPECT_EQ(curl("-d " + std::string(70'000, 'd') + " " + url + "/echo"), "|413 1");
}

TEST(web_application, wrk_gets_nothing_but_pages) {
  if (system("command -v wrk >/dev/null") != 0)
    GTEST_SKIP() << "wrk is not installed: scripts/setup --with-test-dependencies";
  const ServerProcess server("web_application", {"--serve"});
  const auto result = run("/usr/bin/timeout", {"--preserve-status", "--signal", "INT", "0.3", "wrk", "-t1", "-c16",
                                               "-d9s", "http://127.0.0.1:" + std::to_string(server.port) + "/"});
  EXPECT_EQ(result.lines_with("Requests/sec").size(), 1U) << result.text();
  EXPECT_TRUE(result.lines_with("Non-2xx|Socket errors").empty()) << result.text();
}

}  // namespace
