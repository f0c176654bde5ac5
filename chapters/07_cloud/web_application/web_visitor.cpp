// Web visitor
//
// Starts the web application as a process of its own, and visits it: first as browsers do, then as nobody should, then
// while it is being ended. With --compare it also puts load on it and on nginx, if that and wrk are installed
// (compare.hpp). run.sh starts it, and removes the files that this makes.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/web_application/web_visitor.cpp common/cookbook/*.cpp -lfmt -pthread -o web_visitor
// Run:     web_visitor [--clients N] [--compare N], beside web_application

#include <sys/resource.h>

#include <string>
#include <vector>

#include "child.hpp"
#include "compare.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "visits.hpp"

namespace {

void visit_pages(cookbook::Checks& checks, unsigned short port) {
  checks.equal("GET /", visit(port, request("GET", "/")).text(), "200 Hello from Flask!");
  checks.equal("GET /?name=x", visit(port, request("GET", "/?name=x")).text(), "200 Hello from Flask!");
  const Reply head = visit(port, request("HEAD", "/"));
  checks.equal("HEAD /, length", head.field("Content-Length"), "17");
  checks.equal("POST /echo", visit(port, request("POST", "/echo", "Content-Length: 5\r\n", "again")).text(),
               "200 again");
  checks.equal("GET /health", visit(port, request("GET", "/health")).text(), "200 ok");
  checks.equal("GET /nowhere", visit(port, request("GET", "/nowhere")).status, 404);
  const Reply refused = visit(port, request("DELETE", "/"));
  checks.equal("DELETE /", refused.status, 405);
  checks.equal("allowed instead", refused.field("Allow"), "GET, HEAD, OPTIONS");
}

void visit_rudely(cookbook::Checks& checks, unsigned short port) {
  checks.equal("no HTTP", visit(port, "\x16\x03\x01 may I?\r\n\r\n").status, 400);
  checks.equal("a body of 65537 bytes", visit(port, request("POST", "/echo", "Content-Length: 65537\r\n")).status, 413);
  const std::string cookie = "Cookie: " + std::string(8000, 'c') + "\r\n";
  checks.equal("a head of more than 8000 bytes", visit(port, request("GET", "/", cookie)).status, 431);
}

/// Two requests one after the other, then 16 without waiting, all on one connection.
void visit_again(cookbook::Checks& checks, unsigned short port) {
  Client client(port);
  std::vector<int> statuses;
  for (const char* path : {"/", "/nowhere"}) {
    client.send(request("GET", path));
    statuses.push_back(receive_reply(client).status);
  }
  checks.equal("two visits on one connection", statuses, {200, 404});

  std::string sixteen;
  for (int i = 0; i < 16; ++i) sixteen += request("POST", "/echo", "Content-Length: 2\r\n", std::to_string(10 + i));
  client.send(sixteen);
  int in_order = 0;
  for (int i = 0; i < 16; ++i) in_order += receive_reply(client).body == std::to_string(10 + i);
  checks.equal("requests without waiting, answered in order", in_order, 16);
}

void visit_in_crowds(cookbook::Checks& checks, unsigned short port, int count) {
  std::vector<Client> crowd;
  for (int i = 0; i < count; ++i) crowd.emplace_back(port);
  for (Client& client : crowd) client.send(request("GET", "/"));
  int answered = 0;
  for (Client& client : crowd) answered += receive_reply(client).text() == "200 Hello from Flask!";
  checks.equal("clients at once, answered", answered, count);

  const std::string metrics = visit(port, request("GET", "/metrics")).body;
  const std::size_t line = metrics.find("http_requests_total{code=\"404\"}");
  checks.equal("by its metrics, pages not found", line == std::string::npos ? "" : metrics.substr(line + 32, 1), "2");
}

/// The first client says nothing, the second sends a byte now and then but never completes its request.
void visit_slowly(cookbook::Checks& checks, const std::string& server) {
  WebServer web({server, "--timeout-ms", "80"});
  Client silent(web.port), slow(web.port);
  int sent = 0;
  for (; sent < 2000 && slow.send("G"); ++sent) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  checks.that("a client that never completes its request is disconnected", sent < 2000);
  checks.that("a silent client is disconnected", silent.is_ended());
}

/// One client has sent half a request, another one waits between two requests.
void visit_at_the_end(cookbook::Checks& checks, const std::string& server) {
  WebServer web({server});
  Client half(web.port), idle(web.port);
  idle.send(request("GET", "/"));
  bool right = receive_reply(idle).status == 200;
  half.send("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nha");
  right = receive_reply(half).status == 100 && right;  // so the server has seen the head
  web.send(SIGTERM);
  checks.that("at SIGTERM an idle client is let go", right && idle.is_ended());
  half.send("lf");
  checks.equal("a request that had begun is answered", receive_reply(half).text(), "200 half");
  checks.that("then that client is let go, too", half.is_ended());
  checks.equal("exit code of the server", web.wait(), 0);
}

}  // namespace

int main(int argc, char** argv) {
  int clients = 1000, runs = 0;
  cookbook::Options options("Visit the web application; with --serve as the first word, run that alone instead");
  options.add("clients", clients, "clients at once", 1, 5000);
  options.add("compare", runs, "runs under load beside nginx, each 4 seconds in all, after one to warm up; 0 for none",
              0, 1000);
  options.parse(argc, argv);

  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  const std::string server = beside_this_program("web_application");
  cookbook::Checks checks;
  {
    const WebServer web({server});
    visit_pages(checks, web.port);
    visit_rudely(checks, web.port);
    visit_again(checks, web.port);
    visit_in_crowds(checks, web.port, clients);
  }
  visit_slowly(checks, server);
  visit_at_the_end(checks, server);
  if (runs > 0) compare_with_nginx(checks, server, runs);
  return checks.exit_code();
}
