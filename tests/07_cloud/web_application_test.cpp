// Web application: the table of routes from inside, and the program's pages as clients see them.

#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "07_cloud/function_metrics/prometheus.hpp"
#include "07_cloud/web_application/routes.hpp"
#include "support/client.hpp"
#include "support/run.hpp"

namespace {

using test_support::Client;
using test_support::run;
using test_support::ServerProcess;

/// All that the program answers to a request on a connection of its own, which it closes.
std::string visit(unsigned short port, const std::string& method, const std::string& path,
                  const std::string& fields = "", const std::string& body = "") {
  Client client(port);
  client.send(method + ' ' + path + " HTTP/1.1\r\nHost: here\r\n" + fields + "\r\n" + body);
  std::string all;
  for (std::string byte = client.receive(1); !byte.empty(); byte = client.receive(1)) all += byte;
  return all;
}

std::string status(const std::string& reply) { return reply.substr(0, std::min<std::size_t>(reply.size(), 12)); }
std::string body(const std::string& reply) { return reply.substr(reply.find("\r\n\r\n") + 4); }
bool has_field(const std::string& reply, const std::string& field) {
  return reply.find("\r\n" + field + "\r\n") != std::string::npos;
}

/// A server that all tests share.
const ServerProcess& server() {
  static const ServerProcess server("web_application", {"--serve"});
  return server;
}

unsigned short shared_server() { return server().port; }

TEST(web_application, a_server_without_visitors_only_waits) { EXPECT_TRUE(server().is_idle()); }

TEST(web_application, root_is_a_greeting_of_17_characters) {
  const std::string reply = visit(shared_server(), "GET", "/");
  EXPECT_EQ(status(reply), "HTTP/1.1 200");
  EXPECT_EQ(body(reply), "Hello from Flask!");
  EXPECT_TRUE(has_field(reply, "Content-Length: 17"));
  EXPECT_TRUE(has_field(reply, "Content-Type: text/html; charset=utf-8"));
  EXPECT_TRUE(has_field(reply, "Connection: close")) << "one request per connection, and it says so";
  EXPECT_EQ(body(visit(shared_server(), "GET", "/?a=b&c")), "Hello from Flask!");
  EXPECT_EQ(body(visit(shared_server(), "GET", "http://elsewhere/?a")), "Hello from Flask!");
}

TEST(web_application, head_has_the_head_of_get_and_no_body) {
  const std::string reply = visit(shared_server(), "HEAD", "/");
  EXPECT_TRUE(has_field(reply, "Content-Length: 17"));
  EXPECT_EQ(body(reply), "");
  EXPECT_EQ(status(visit(shared_server(), "HEAD", "/nowhere")), "HTTP/1.1 404");
}

TEST(web_application, methods_that_a_path_has_not_are_refused_with_those_that_it_has) {
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW"}) {
    const std::string reply = visit(shared_server(), method, "/");
    EXPECT_EQ(status(reply), "HTTP/1.1 405") << method;
    EXPECT_TRUE(has_field(reply, "Allow: OPTIONS, HEAD, GET")) << reply;
  }
  const std::string options = visit(shared_server(), "OPTIONS", "/echo");
  EXPECT_EQ(status(options), "HTTP/1.1 200");
  EXPECT_TRUE(has_field(options, "Allow: OPTIONS, POST")) << options;
  EXPECT_EQ(status(visit(shared_server(), "HEAD", "/echo")), "HTTP/1.1 405");
  EXPECT_EQ(status(visit(shared_server(), "OPTIONS", "*")), "HTTP/1.1 200");
  EXPECT_EQ(status(visit(shared_server(), "OPTIONS", "/nowhere")), "HTTP/1.1 404");
}

TEST(web_application, what_a_visitor_sends_is_shown_as_text) {
  EXPECT_EQ(body(visit(shared_server(), "GET", "/hello?age=7&name=<b>'\"&name=x")), "Hello &lt;b&gt;&#39;&quot;!");
  EXPECT_EQ(body(visit(shared_server(), "GET", "/hello?name=%3Cb%3E")), "Hello &lt;b&gt;!");
  EXPECT_EQ(body(visit(shared_server(), "GET", "/hello?name=%253Cb%253E")), "Hello %3Cb%3E!") << "decoded once";
  const std::string echo = visit(shared_server(), "POST", "/echo", "Content-Length: 3\r\n", "<b>");
  EXPECT_EQ(body(echo), "<b>");
  EXPECT_TRUE(has_field(echo, "Content-Type: text/plain"));  // as HTML, a browser would execute it
}

TEST(web_application, clients_that_go_or_send_no_request_do_not_end_it) {
  for (const char* text : {"garbage\r\n\r\n", "GET / HT", ""}) {
    Client client(shared_server());
    client.send(text);
    client.reset();
  }
  const std::string broken = visit(shared_server(), "GET", "/broken");
  EXPECT_EQ(status(broken), "HTTP/1.1 500");
  EXPECT_EQ(broken.find("database"), std::string::npos) << "the exception's text is not for strangers";
  EXPECT_EQ(body(visit(shared_server(), "GET", "/")), "Hello from Flask!");
}

TEST(web_application_routes, the_table_calls_the_handler_of_path_and_method) {
  Routes routes;
  routes["/a"][http::verb::get] = [](const Request&, Response& response) { response.body() = "got"; };
  routes["/a"][http::verb::put] = [](const Request& sent, Response& response) {
    response.body() = "put " + sent.body();
  };
  routes["/b"][http::verb::get] = [](const Request&, Response&) { throw std::runtime_error("no"); };
  routes["/c"][http::verb::get] = [](const Request&, Response&) { throw 7; };
  const auto ask = [&](http::verb method, const char* path) { return answer(routes, {method, path, 11, "x"}); };
  EXPECT_EQ(ask(http::verb::get, "/a").body(), "got");
  EXPECT_EQ(ask(http::verb::put, "/a").body(), "put x");
  EXPECT_EQ(ask(http::verb::delete_, "/a")[http::field::allow], "OPTIONS, HEAD, GET, PUT");
  EXPECT_EQ(ask(http::verb::get, "/a/").result(), http::status::not_found);
  EXPECT_EQ(ask(http::verb::get, "/b").result(), http::status::internal_server_error);
  EXPECT_EQ(ask(http::verb::get, "/b").body(), "") << "the exception's text is not sent";
  EXPECT_EQ(ask(http::verb::get, "/c").result(), http::status::internal_server_error) << "no std::exception";
}

TEST(web_application_routes, the_page_of_function_metrics_is_sent_as_text_and_not_as_html) {
  const FunctionMetrics functions[] = {FunctionMetrics("<b>")};
  Routes routes;
  routes["/metrics"][http::verb::get] = [&](const Request&, Response& response) {
    response.set(http::field::content_type, "text/plain; version=0.0.4");
    response.body() = prometheus_page(functions);
  };
  const Response response = answer(routes, {http::verb::get, "/metrics", 11, ""});
  EXPECT_EQ(response[http::field::content_type], "text/plain; version=0.0.4");
  EXPECT_NE(response.body().find("function_errors_total{function=\"<b>\"} 0\n"), std::string::npos);
}

TEST(web_application_routes, a_query_is_read_by_name) {
  const auto value = [](const char* target, const char* name) {
    return query({http::verb::get, target, 11, ""}, name);
  };
  EXPECT_EQ(value("/a?name=Ada&age=36", "name"), "Ada");
  EXPECT_EQ(value("/a?name=Ada&age=36", "age"), "36");
  EXPECT_EQ(value("/a?name=Ada&age=36", "nam"), "");
  EXPECT_EQ(value("/a?name=Ada&age=36", "me"), "");
  EXPECT_EQ(value("/a?x&name=&name=1", "name"), "");
  EXPECT_EQ(value("/a?a==", "a"), "=");
  for (const char* target : {"/a", "/a?", "/a?&", "/a?&&name"}) EXPECT_EQ(value(target, "name"), "") << target;
  EXPECT_EQ(value("/a?name=Ada+%26+Zo%C3%AB&age=36", "name"), "Ada & Zo\xc3\xab") << "an & that separates nothing";
  EXPECT_EQ(value("/a?a=%3c%3D%3E+%2B", "a"), "<=> +");
  EXPECT_EQ(value("/a?a=100%&b=%4&c=%zz%-1%0x41", "a"), "100%");
  EXPECT_EQ(value("/a?a=100%&b=%4&c=%zz%-1%0x41", "b"), "%4");
  EXPECT_EQ(value("/a?a=100%&b=%4&c=%zz%-1%+1%0x41", "c"), "%zz%-1% 1%0x41");
  EXPECT_EQ(value("/a?a=%2541", "a"), "%41") << "decoded once";
  EXPECT_EQ(escaped("<&>\"'a"), "&lt;&amp;&gt;&quot;&#39;a");
}

TEST(web_application, the_program_asks_itself_and_a_port_in_use_is_refused) {
  const auto result = run("web_application");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("GET /hello?name=%3Cb%3E     200  text/html; charset=utf-8  Hello &lt;b&gt;!"))
      << result.text();
  EXPECT_EQ(result.captures("^[A-Z]+ /.*? (\\d{3})(?: |$)"),
            (std::vector<std::string>{"200", "200", "200", "200", "200", "404", "405", "500"}))
      << result.text();
  EXPECT_TRUE(result.has_line("ok    statuses: [200, 200, 200, 200, 200, 404, 405, 500]")) << result.text();
  EXPECT_EQ(run("web_application", {"--port", std::to_string(shared_server())}).exit_code, 3);
}

TEST(web_application, curl_gets_pages) {
  if (system("command -v curl >/dev/null") != 0) GTEST_SKIP() << "curl is not installed";
  const std::string url = "http://127.0.0.1:" + std::to_string(shared_server());
  const auto curl = [&](const std::string& words) {
    const std::string command = "curl -s --max-time 10 -w '|%{http_code}' " + words;
    return fmt::format("{}", fmt::join(run("/bin/sh", {"-c", command}).out, "\n"));
  };
  EXPECT_EQ(curl("'" + url + "/hello?name=Ada'"), "Hello Ada!|200");
  EXPECT_EQ(curl("-G --data-urlencode 'name=<b> & +' " + url + "/hello"), "Hello &lt;b&gt; &amp; +!|200");
  EXPECT_EQ(curl("-d again " + url + "/echo"), "again|200");
  EXPECT_EQ(curl("-X OPTIONS --request-target '*' " + url), "|200");
}

}  // namespace
