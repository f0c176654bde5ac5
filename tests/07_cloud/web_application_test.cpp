// Web application: the server driven from outside, its table of routes alone, and the recipe as a whole.

#include <sys/resource.h>

#include <filesystem>
#include <regex>

#include "../../chapters/07_cloud/web_application/routes.hpp"
#include "../../chapters/07_cloud/web_application/visits.hpp"
#include "04_async/serving.hpp"
#include "support/run.hpp"

namespace {

using namespace std::string_literals;
using test_support::run;
using test_support::run_parts;
using test_support::Serving;

const std::string recipe = "07_cloud/web_application", greeting = "200 Hello from Flask!";

TEST(web_application, root_is_a_greeting_of_17_characters) {
  const Serving server("web_application", {});
  const Reply reply = visit(server.port, request("GET", "/"));
  EXPECT_EQ(reply.text(), greeting);
  EXPECT_EQ(reply.body.size(), 17U);
  EXPECT_TRUE(std::regex_search(reply.head, std::regex("Date: \\w{3}, \\d\\d \\w{3} \\d{4} \\d\\d:\\d\\d:\\d\\d GMT")));
  EXPECT_EQ(visit(server.port, request("GET", "/?a=b&c")).text(), greeting);
  EXPECT_EQ(visit(server.port, request("GET", "http://elsewhere/?a")).text(), greeting);
}

TEST(web_application, head_has_the_head_of_get_and_no_body) {
  const Serving server("web_application", {});
  Client client(server.port);
  client.send(request("HEAD", "/") + request("GET", "/nowhere") + request("HEAD", "/nowhere") + request("GET", "/"));
  EXPECT_EQ(receive_reply(client, true).field("Content-Length"), "17");
  EXPECT_EQ(receive_reply(client).status, 404);
  EXPECT_EQ(receive_reply(client, true).status, 404);
  EXPECT_EQ(receive_reply(client).text(), greeting);
}

TEST(web_application, methods_that_a_path_has_not_are_refused_with_those_that_it_has) {
  const Serving server("web_application", {});
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW"}) {
    const Reply reply = visit(server.port, request(method, "/"));
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_EQ(reply.field("Allow"), "GET, HEAD, OPTIONS") << method;
  }
  const Reply options = visit(server.port, request("OPTIONS", "/echo"));
  EXPECT_EQ(options.status, 200);
  EXPECT_EQ(options.field("Allow"), "POST, OPTIONS");
  EXPECT_EQ(visit(server.port, request("HEAD", "/echo")).status, 405);
}

TEST(web_application, what_is_no_request_is_refused_and_ends_the_connection) {
  const Serving server("web_application", {});
  const std::string garbage = "\x16\x03\x01\x00\xff garbage\r\n\r\n"s;  // with its byte 0
  const std::string get = "GET / HTTP/1.1\r\n", post = "POST /echo HTTP/1.1\r\nHost: here\r\n";
  const std::string length = post + "Content-Length: ", coding = post + "Transfer-Encoding: ";
  const std::vector<std::string> wrong = {// clang-format off
      garbage, "GET /\r\n\r\n", "GET nowhere HTTP/1.1\r\nHost: here\r\n\r\n", "GET / HTTP/2.0\r\nHost: here\r\n\r\n",
      get + "\r\n", get + "Host: here\r\nHost: there\r\n\r\n", get + "Host: here\r\nA field\r\n\r\n",
      get + "Host: here\r\nField : x\r\n\r\n", get + "Host: here\r\nField: \x01\r\n\r\n",
      length + "-1\r\n\r\n", length + "many\r\n\r\n", length + "1\r\nContent-Length: 2\r\n\r\nxx",
      length + "5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", coding + "gzip\r\n\r\n",
      coding + "gzip, chunked\r\n\r\n0\r\n\r\n", coding + "chunked\r\n\r\nmany\r\n"};
  // clang-format on
  for (const std::string& text : wrong) {
    Client client(server.port);
    client.send(text);
    const Reply reply = receive_reply(client);
    EXPECT_EQ(reply.status, 400) << text;
    EXPECT_TRUE(reply.field("Connection") == "close" && client.is_ended()) << text;
  }
  EXPECT_EQ(visit(server.port, request("GET", "/")).text(), greeting);
}

TEST(web_application, bodies_and_heads_have_limits) {
  const Serving server("web_application", {});
  const std::string longest(65'536, 'b');
  EXPECT_EQ(visit(server.port, request("POST", "/echo", "Content-Length: 65536\r\n", longest)).text(),
            "200 " + longest);
  EXPECT_EQ(visit(server.port, request("POST", "/echo", "Content-Length: 65537\r\n")).status, 413);
  EXPECT_EQ(visit(server.port, request("POST", "/echo", "Content-Length: 99999999999999999999\r\n")).status, 400);
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  EXPECT_EQ(visit(server.port, request("POST", "/echo", chunked, "3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n")).body, "abcd");
  EXPECT_EQ(visit(server.port, request("POST", "/echo", chunked, "fffff\r\n")).status, 413);
  EXPECT_EQ(visit(server.port, request("POST", "/echo", chunked, "1;" + std::string(20'000, 'x'))).status, 431);
  EXPECT_EQ(visit(server.port, request("GET", "/", "Field: " + std::string(7900, 'f') + "\r\n")).text(), greeting);
  EXPECT_EQ(visit(server.port, request("GET", "/", "Field: " + std::string(8000, 'f') + "\r\n")).status, 431);
  EXPECT_EQ(visit(server.port, request("GET", "/" + std::string(100'000, 'p'))).status, 431);
}

TEST(web_application, connections_are_kept_unless_the_client_wants_otherwise) {
  const Serving server("web_application", {});
  const std::string old = "GET / HTTP/1.0\r\n";
  Client kept(server.port);
  for (const auto& text : {request("GET", "/"), old + "Connection: keep-alive\r\n\r\n"}) {
    kept.send(text);
    EXPECT_EQ(receive_reply(kept).text(), greeting);
  }
  for (const auto& text : {request("GET", "/", "Connection: close\r\n"), old + "\r\n"}) {
    Client closed(server.port);
    closed.send(text);
    EXPECT_EQ(receive_reply(closed).text(), greeting);
    EXPECT_TRUE(closed.is_ended());
  }
}

TEST(web_application, requests_come_in_pieces_or_many_at_once) {
  const Serving server("web_application", {});
  Client client(server.port);
  for (const char byte : request("POST", "/echo", "Content-Length: 5\r\n", "bytes")) client.send({&byte, 1});
  EXPECT_EQ(receive_reply(client).text(), "200 bytes");
  std::string many;
  for (int i = 0; i < 200; ++i) many += request("POST", "/echo", "Content-Length: 3\r\n", std::to_string(100 + i));
  client.send(many);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(receive_reply(client).body, std::to_string(100 + i));
}

TEST(web_application, a_client_that_asks_and_never_reads_costs_little_and_is_disconnected) {
  Serving server("web_application", {"--timeout-ms", "300"});
  const long before = server.resident();
  Client client(server.port);
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += request("GET", "/metrics");
  while (client.send(many)) continue;  // ends when the server has broken the connection
  EXPECT_LT(server.resident() - before, 2000 * test_support::memory_factor);
  EXPECT_EQ(visit(server.port, request("GET", "/")).text(), greeting);
}

TEST(web_application, a_thousand_clients_at_once_are_answered_and_cost_little) {
  const Serving server("web_application", {});
  const rlimit files = {4096, 4096};
  setrlimit(RLIMIT_NOFILE, &files);
  const long before = server.resident();
  std::vector<Client> clients;
  for (int i = 0; i < 1000; ++i) clients.emplace_back(server.port);
  for (Client& client : clients) client.send(request("GET", "/"));
  for (Client& client : clients) EXPECT_EQ(receive_reply(client).text(), greeting);
  EXPECT_LT(server.resident() - before, 1000 * 24 * test_support::memory_factor);
}

TEST(web_application, resets_silence_and_too_many_clients_do_not_hurt_it) {
  const Serving server("web_application", {"--timeout-ms", "200", "--max-connections", "3"});
  for (int i = 0; i < 100; ++i) {
    Client client(server.port);
    client.send(request("GET", "/"));
    client.reset();
  }
  Client silent(server.port), half(server.port), third(server.port);
  half.send("GET / HT");
  EXPECT_TRUE(silent.is_ended());
  EXPECT_TRUE(half.is_ended());
  EXPECT_TRUE(third.is_ended());
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(server.port);
  for (Client& client : clients) client.send(request("GET", "/"));
  for (Client& client : clients) EXPECT_EQ(receive_reply(client).text(), greeting);
  EXPECT_TRUE(Client(server.port).is_ended());
}

TEST(web_application, without_file_descriptors_new_clients_wait_and_are_served_later) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UndefinedBehaviorSanitizer opens a pipe to check a type, and cannot when all descriptors are in use";
#endif
  const Serving server("web_application", {}, 24);
  std::vector<Client> clients;
  for (int i = 0; i < 40; ++i) clients.emplace_back(server.port);
  for (Client& client : clients) client.send(request("GET", "/"));
  for (; !clients.empty(); clients.erase(clients.begin())) {
    EXPECT_EQ(receive_reply(clients.front()).text(), greeting);
  }
}

TEST(web_application, both_signals_drain_it) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Serving server("web_application", {});
    Client half(server.port), idle(server.port);
    half.send(request("POST", "/echo", "Content-Length: 4\r\nExpect: 100-continue\r\n", "ha"));
    EXPECT_EQ(receive_reply(half).status, 100);  // it is told to go on
    server.send_signal(signal);
    EXPECT_TRUE(idle.is_ended());
    EXPECT_THROW(Client(server.port), std::system_error);
    half.send("lf");
    EXPECT_EQ(receive_reply(half).text(), "200 half");
    EXPECT_TRUE(half.is_ended());
    EXPECT_EQ(server.read_line(), "ended after 2 connections");
    EXPECT_EQ(server.exit_code(), 0);
  }
}

TEST(web_application, draining_ends_with_the_timeout_or_at_a_second_signal) {
  for (const bool again : {false, true}) {
    Serving server("web_application", {"--timeout-ms", again ? "86400000" : "200"});
    Client half(server.port), idle(server.port);
    half.send(request("POST", "/echo", "Content-Length: 4\r\nExpect: 100-continue\r\n"));
    EXPECT_EQ(receive_reply(half).status, 100);
    server.send_signal(SIGTERM);
    EXPECT_TRUE(idle.is_ended());
    if (again) server.send_signal(SIGTERM);
    EXPECT_EQ(server.exit_code(), 0);
  }
}

TEST(web_application, metrics_count_exactly) {
  const Serving server("web_application", {});
  for (int i = 0; i < 7; ++i) visit(server.port, request("GET", i < 5 ? "/" : "/nowhere"));
  visit(server.port, "garbage\r\n\r\n");
  const Reply reply = visit(server.port, request("GET", "/metrics"));
  EXPECT_EQ(reply.field("Content-Type"), "text/plain; version=0.0.4");
  for (const char* line : {"http_requests_total{code=\"200\"} 5\n", "http_requests_total{code=\"404\"} 2\n",
                           "http_requests_total{code=\"400\"} 1\n", "http_connections_total 9\n"}) {
    EXPECT_NE(reply.body.find(line), std::string::npos) << line << reply.body;
  }
  const std::regex allowed("(# (HELP|TYPE) \\w+ .+|\\w+(\\{code=\"\\d+\"\\})? \\d+)");
  std::istringstream lines(reply.body);
  for (std::string line; std::getline(lines, line);) EXPECT_TRUE(std::regex_match(line, allowed)) << line;
}

TEST(web_application, the_table_calls_the_handler_of_path_and_method) {
  Routes routes;
  routes.add("/a", http::verb::get, [](const Request&) { return Response{"got"}; });
  routes.add("/a", http::verb::put, [](const Request& request) { return Response{"put " + request.body}; });
  routes.add("/b", http::verb::get, [](const Request&) -> Response { throw std::runtime_error("no"); });
  EXPECT_EQ(routes.answer({http::verb::get, "/a", ""}).body, "got");
  EXPECT_EQ(routes.answer({http::verb::put, "/a", "x"}).body, "put x");
  EXPECT_EQ(routes.answer({http::verb::delete_, "/a", ""}).allow, "GET, HEAD, PUT, OPTIONS");
  EXPECT_EQ(routes.answer({http::verb::get, "/a/", ""}).status, http::status::not_found);
  EXPECT_EQ(routes.answer({http::verb::get, "/b", ""}).status, http::status::internal_server_error);
}

TEST(web_application, a_port_in_use_is_refused) {
  const Serving server("web_application", {});
  EXPECT_EQ(run("web_application", {"--port", std::to_string(server.port)}).exit_code, 3);
}

TEST(web_application, visitor_is_content_and_leaves_nothing_behind) {
  for (const std::string clients : {"1", "2000"}) {
    const auto result = run_parts(recipe, {"--clients", clients});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    clients at once, answered: " + clients)) << result.text();
  }
  const auto broken_off = run_parts(recipe, {}, {.interrupt_after_ms = 100});
  EXPECT_NE(broken_off.exit_code, 0);
  EXPECT_EQ(broken_off.left_behind, 0);
}

TEST(web_application, is_compared_with_nginx) {
  // With runs of 0.2 s, by another wrk in front of the path.
  const auto short_runs = std::filesystem::path(__FILE__).parent_path() / "short_runs";
  const auto result = run_parts(recipe, {"--clients", "1", "--compare", "1"},
                                {.environment = {{"PATH", short_runs.string() + ":" + std::getenv("PATH")}}});
  if (!result.lines_with("^no comparison").empty()) GTEST_SKIP() << "no nginx or no wrk: scripts/setup --peers";
  EXPECT_TRUE(result.has_line("ok    nginx answers the same, but for date and name: yes")) << result.text();
  EXPECT_EQ(result.lines_with("^web_application .* x$").size(), 4U) << result.text();
}

}  // namespace
