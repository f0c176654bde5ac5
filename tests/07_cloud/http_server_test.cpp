// HTTP server: as well-behaved and hostile clients see it.

#include <sys/resource.h>

#include <csignal>
#include <future>
#include <random>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "07_cloud/http_server/http_server.hpp"
#include "support/client.hpp"
#include "support/eventually.hpp"
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
  static const ServerProcess server("http_server", {"--serve"});
  return server.port;
}

TEST(http_server, an_answer_has_a_date_and_a_length) {
  const Reply reply = visit(shared_server(), request("GET", "/"));
  EXPECT_EQ(reply.text(), greeting);
  EXPECT_EQ(reply.field("Content-Length"), "17");
  EXPECT_TRUE(std::regex_search(reply.head, std::regex("Date: \\w{3}, \\d\\d \\w{3} \\d{4} \\d\\d:\\d\\d:\\d\\d GMT")));
}

TEST(http_server, head_has_the_head_of_get_and_no_body) {
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

TEST(http_server, what_is_no_request_is_refused_and_ends_the_connection) {
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
      coding + "\r\nContent-Length: 2\r\n\r\nxx", coding + "\r\n\r\n", coding + "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      coding + "chunked\r\nTransfer-Encoding: \r\n\r\n0\r\n\r\n", length + "\r\n\r\n", length + "2\r\nContent-Length: \r\n\r\nxx",
      old + "Transfer-Encoding: \r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      old + "Transfer-Encoding: \r\nContent-Length: 2\r\n\r\nxx",
      get + "Host: a b/c\r\n\r\n", get + "Host: a/b\r\n\r\n", get + "Host: you@a\r\n\r\n", "GET / HTTP/1.0\r\nHost: a b\r\n\r\n",
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
  for (const char* host : {"", "here", "127.0.0.1:8080", "[::1]:80", "a-b.example:1"}) {
    EXPECT_EQ(visit(shared_server(), get + "Host: " + host + "\r\n\r\n").text(), greeting) << host;
  }
}

TEST(http_server, empty_lines_without_end_end_the_connection) {
  ServerProcess server("http_server", {"--serve", "--timeout-ms", "60000"});
  Client client(server.port);
  const std::string lines(1 << 16, '\n');
  int sent = 0;
  while (sent < 1024 && client.send(lines)) ++sent;  // 64 MiB, unless the server closes
  EXPECT_LT(sent, 1024);
  Client two(server.port);
  two.send("\r\n\r\n" + request("GET", "/"));
  EXPECT_EQ(receive_reply(two).status, 400) << "one empty line is ignored, not two";
  EXPECT_TRUE(two.is_ended());
}

TEST(http_server, what_is_echoed_is_no_html) {
  const Reply reply = visit(shared_server(), request("POST", "/echo", "Content-Length: 3\r\n", "<b>"));
  EXPECT_EQ(reply.text(), "200 <b>");
  EXPECT_EQ(reply.field("Content-Type"), "text/plain");
}

TEST(http_server, one_client_too_many_is_refused_until_another_one_leaves) {
  const ServerProcess server("http_server", {"--serve", "--max-clients", "3"});
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(server.port).send(request("GET", "/"));
    EXPECT_EQ(receive_reply(clients.back()).text(), greeting);
  }
  for (int i = 0; i < 100; ++i) {
    Client refused(server.port);
    const Reply reply = receive_reply(refused);
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.field("Connection"), "close");
    EXPECT_TRUE(refused.is_ended());
  }
  for (Client& client : clients) {
    client.send(request("GET", "/"));
    EXPECT_EQ(receive_reply(client).text(), greeting) << "the others are served";
  }
  clients.pop_back();
  EXPECT_TRUE(test_support::eventually([&] { return visit(server.port, request("GET", "/")).text() == greeting; }));
}

TEST(http_server, listens_on_one_address_alone) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(shared_server());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);  // 127.0.0.2
  EXPECT_NE(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  close(client);
}

TEST(http_server, bodies_and_heads_have_limits) {
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

TEST(http_server, a_client_that_goes_on_sending_after_a_refusal_is_cut_off_long_before_the_deadline) {
  ServerProcess server("http_server", {"--serve", "--timeout-ms", "60000"});
  Client client(server.port);
  client.send(request("POST", "/echo", "Content-Length: 1000000000\r\n"));  // 413
  const std::string piece(1 << 16, 'b');
  int sent = 0;
  while (sent < 1024 && client.send(piece)) ++sent;  // 64 MiB, unless the server closes
  EXPECT_LT(sent, 1024);
}

TEST(http_server, a_head_without_end_costs_no_processor_time) {
  ServerProcess server("http_server", {"--serve", "--timeout-ms", "60000"});
  std::vector<Client> clients;
  for (int i = 0; i < 4; ++i) {
    Client& client = clients.emplace_back(server.port);
    const bool chunk = i % 2 == 0;  // a line before a chunk without end, or a head without end
    client.send((chunk ? request("POST", "/echo", "Transfer-Encoding: chunked\r\n", "1;") : "GET /") +
                std::string(20'000, 'a'));
    EXPECT_EQ(receive_reply(client).status, 431);
  }
  EXPECT_TRUE(server.is_idle());
  EXPECT_EQ(visit(server.port, request("GET", "/")).text(), greeting);
  server.send_signal(SIGTERM);
  EXPECT_EQ(server.wait().exit_code, 0);  // without waiting for the clients, which are still connected
  for (Client& client : clients) EXPECT_TRUE(client.is_ended());
}

TEST(http_server, connections_are_kept_unless_the_client_wants_otherwise) {
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

TEST(http_server, requests_come_in_pieces_or_many_at_once_or_after_an_empty_line) {
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

TEST(http_server, only_clients_of_http_1_1_are_told_to_continue) {
  Client client(shared_server());
  client.send("POST /echo HTTP/1.0\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody");
  EXPECT_EQ(receive_reply(client).text(), "200 body");
}

TEST(http_server, a_client_that_has_no_body_to_send_is_not_told_to_continue) {
  Client client(shared_server());
  const std::string expect = "Expect: 100-continue\r\n";
  for (const auto& text : {request("GET", "/", expect), request("GET", "/", expect + "Content-Length: 0\r\n")}) {
    client.send(text);
    EXPECT_EQ(receive_reply(client).text(), greeting) << text;
  }
}

TEST(http_server, a_client_that_asks_and_never_reads_costs_little_and_is_disconnected) {
  ServerProcess server("http_server", {"--serve", "--timeout-ms", "1000"});
  const long before = server.resident();
  Client client(server.port);
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += request("GET", "/");
  while (client.send(many)) continue;  // ends when the server has broken the connection
  EXPECT_LT(server.resident() - before, 2000 * test_support::memory_factor);
  EXPECT_EQ(visit(server.port, request("GET", "/")).text(), greeting);
}

TEST(http_server, a_thousand_clients_at_once_are_answered_and_cost_little) {
  const ServerProcess server("http_server", {"--serve"});
  const rlimit files = {4096, 4096};
  setrlimit(RLIMIT_NOFILE, &files);
  const long before = server.resident();
  std::vector<Client> clients;
  for (int i = 0; i < 1000; ++i) clients.emplace_back(server.port);
  for (Client& client : clients) client.send(request("GET", "/"));
  for (Client& client : clients) EXPECT_EQ(receive_reply(client).text(), greeting);
  EXPECT_LT(server.resident() - before, 1000 * 24 * test_support::memory_factor);
}

TEST(http_server, resets_and_silence_do_not_hurt_it) {
  const ServerProcess server("http_server", {"--serve", "--timeout-ms", "1000"});
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

TEST(http_server, a_client_that_goes_on_asking_is_served_for_longer_than_the_time_of_one_request) {
  const ServerProcess server("http_server", {"--serve", "--timeout-ms", "2000"});
  Client client(server.port);
  for (int i = 0; i < 6; ++i) {  // 3 seconds in all
    client.send(request("GET", "/"));
    EXPECT_EQ(receive_reply(client).text(), greeting) << i;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

TEST(http_server, without_file_descriptors_new_clients_wait_and_are_served_later) {
  const ServerProcess server("http_server", {"--serve"}, {.max_files = 24});
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

TEST(http_server, both_signals_drain_it) {
  for (const int signal : {SIGTERM, SIGINT}) {
    ServerProcess server("http_server", {"--serve", "--timeout-ms", "60000"});
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

TEST(http_server, an_end_without_requests_waits_for_nobody) {
  ServerProcess server("http_server", {"--serve", "--timeout-ms", "60000"});
  Client idle(server.port), kept(server.port), part(server.port);
  kept.send(request("GET", "/"));
  EXPECT_EQ(receive_reply(kept).text(), greeting);
  part.send("GET / HT");
  server.send_signal(SIGTERM);
  for (Client* client : {&idle, &kept, &part}) EXPECT_TRUE(client->is_ended());
  EXPECT_EQ(server.wait().exit_code, 0);
}

TEST(http_server, draining_ends_with_the_timeout_or_at_a_second_signal) {
  for (const bool again : {false, true}) {
    ServerProcess server("http_server", {"--serve", "--timeout-ms", again ? "86400000" : "1000"});
    Client half(server.port);
    half.send(request("POST", "/echo", "Content-Length: 4\r\nExpect: 100-continue\r\n"));
    EXPECT_EQ(receive_reply(half).status, 100);
    server.send_signal(SIGTERM);
    wait_until_closed(server);
    if (again) server.send_signal(SIGTERM);
    EXPECT_EQ(server.wait().exit_code, again ? -SIGTERM : 0);
  }
}

TEST(http_server, an_application_that_throws_ends_neither_the_connection_nor_the_server) {
  const auto application = [](const Request& request) -> Response {
    if (request.target() == "/broken") throw std::runtime_error("no database");
    return {http::status::ok, 11};
  };
  HttpServer server(application, 0, {.timeout = std::chrono::seconds(60)});
  const auto end = std::async(std::launch::async, [&] { server.run(); });
  Client client(server.port());
  client.send(request("GET", "/broken"));
  EXPECT_EQ(receive_reply(client).status, 500);
  client.send(request("GET", "/"));
  EXPECT_EQ(receive_reply(client).status, 200);
  std::raise(SIGTERM);  // the request that failed is answered, so run() waits for nobody, also not for this idle client
  EXPECT_EQ(end.wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

/// Pieces of requests in a random order, of which few make sense, and here and there a changed byte.
std::string random_message(std::mt19937& random) {
  static const std::vector<std::string> pieces = {
      "GET ",
      "POST ",
      "HEAD ",
      "/",
      "/echo",
      "*",
      "?",
      " HTTP/1.1\r\n",
      " HTTP/1.0\r\n",
      " HTTP/2\r\n",
      "Host: here\r\n",
      "Host: ",
      "Content-Length: ",
      "5\r\n",
      "-1\r\n",
      "99999999999999999999\r\n",
      "Transfer-Encoding: chunked\r\n",
      "Transfer-Encoding: \r\n",
      "Expect: 100-continue\r\n",
      "Connection: close\r\n",
      "\r\n",
      "\r\n\r\n",
      "\n",
      "\r",
      "0\r\n\r\n",
      "5\r\nabcde\r\n",
      "fffffffff\r\n",
      "1;x=\r\n",
      ": ",
      "\0"s,
      "\xff",
      std::string(9'000, 'x'),
      request("GET", "/"),
      request("POST", "/echo", "Content-Length: 5\r\n", "bytes"),
      request("POST", "/echo", "Transfer-Encoding: chunked\r\n", "5\r\nbytes\r\n0\r\n\r\n")};
  std::string text;
  for (auto count = 1 + random() % 12; count-- > 0;) text += pieces[random() % pieces.size()];
  for (auto changes = random() % 3; changes-- > 0;) text[random() % text.size()] = static_cast<char>(random());
  return text;
}

TEST(http_server, lives_through_10000_random_messages) {
  ServerProcess server("http_server", {"--serve"});
  const long before = server.resident();
  std::mt19937 random(1);
  int answered = 0, greeted = 0;
  for (int i = 0; i < 10'000 && !HasFailure(); ++i) {
    Client client(server.port);
    client.send(random_message(random));
    if (i % 4 == 0) {
      client.reset();
    } else if (i % 4 != 1) {  // nothing more comes: the server answers what it can, and ends the connection
      client.end_stream();
      const std::string answer = client.receive(1 << 20);
      EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 ")) << answer;
      answered += !answer.empty();
    }
    if (i % 100 == 99) greeted += visit(server.port, request("GET", "/")).text() == greeting;
  }
  EXPECT_EQ(greeted, 100);
  EXPECT_GT(answered, 1'000);
  EXPECT_LT(server.resident() - before, 20'000 * test_support::memory_factor);
  server.send_signal(SIGTERM);
  EXPECT_EQ(server.wait().exit_code, 0);
}

TEST(http_server, the_program_shows_each_kind_of_client_and_a_port_in_use_is_refused) {
  const auto result = run("http_server");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("surplus   comes while three are connected 3 clients    503                 200"));
  EXPECT_TRUE(result.has_line("long      sends a head of 9000 bytes      8000 bytes   431                 404"));
  EXPECT_TRUE(result.has_line("greedy    sends a body of 65537 bytes     65536 bytes  413                 200"));
  EXPECT_TRUE(result.has_line("confused  names two lengths for one body  one length   400                 400"));
  const std::regex slow("slow +sends one byte every 20 ms +1 s +closed after ([0-9.]+) s +open after ([0-9.]+) s");
  std::smatch seconds;
  const std::string text = result.text();
  ASSERT_TRUE(std::regex_search(text, seconds, slow)) << text;
  EXPECT_GE(std::stod(seconds[1]), 1.0);  // the time limit; the clock began before the server's
  EXPECT_GE(std::stod(seconds[2]), 2.0);
  EXPECT_TRUE(result.has_line(R"(ok    with the limits: ["200", "503", "closed", "431", "413", "400", "200"])"))
      << text;
  EXPECT_TRUE(result.has_line(R"(ok    without: ["200", "200", "open", "404", "200", "400", "200"])")) << text;
  const ServerProcess server("http_server", {"--serve"});
  EXPECT_EQ(run("http_server", {"--port", std::to_string(server.port)}).exit_code, 3);
}

TEST(http_server, curl_gets_and_sends_pages) {
  if (system("command -v curl >/dev/null") != 0) GTEST_SKIP() << "curl is not installed";
  const ServerProcess server("http_server", {"--serve"});
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port);
  const auto curl = [&](const std::string& words) {
    const std::string command = "curl -s --max-time 10 -w '|%{http_code} %{num_connects}' " + words;
    return fmt::format("{}", fmt::join(run("/bin/sh", {"-c", command}).out, "\n"));
  };
  // Two pages on one connection, the body of a POST in chunks, and one that is too large.
  EXPECT_EQ(curl(url + "/ " + url + "/"), "Hello from Flask!|200 1Hello from Flask!|200 0");
  EXPECT_EQ(curl("-H 'Transfer-Encoding: chunked' -d again " + url + "/echo"), "again|200 1");
  EXPECT_EQ(curl("-d " + std::string(70'000, 'd') + " " + url + "/echo"), "|413 1");
}

TEST(http_server, wrk_gets_nothing_but_pages) {
  if (system("command -v wrk >/dev/null") != 0)
    GTEST_SKIP() << "wrk is not installed: scripts/setup --with-test-dependencies";
  const ServerProcess server("http_server", {"--serve"});
  const auto result = run("/usr/bin/timeout", {"--preserve-status", "--signal", "INT", "0.3", "wrk", "-t1", "-c16",
                                               "-d9s", "http://127.0.0.1:" + std::to_string(server.port) + "/"});
  EXPECT_EQ(result.lines_with("Requests/sec").size(), 1U) << result.text();
  EXPECT_TRUE(result.lines_with("Non-2xx|Socket errors").empty()) << result.text();
}

}  // namespace
