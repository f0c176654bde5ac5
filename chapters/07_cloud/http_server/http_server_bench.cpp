// HTTP server, measured beside nginx
//
// Both servers send the same page to wrk, on 16 connections: one request at a time on each, and then 16 (wrk sends all
// of them before the first answer comes, which HTTP calls pipelining). The three share one processor, so the rate tells
// how much work of the processor a request costs, wrk's part included.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/07_cloud/http_server/http_server_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o http_server_bench
// Run:     http_server_bench [--run-ms N] [--rounds N]

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/posix.hpp"
#include "cookbook/process.hpp"
#include "http_server.hpp"

namespace {

/// Status and body of GET /; empty if nobody listens.
std::string page(unsigned short port) {
  tcp::iostream stream("127.0.0.1", std::to_string(port));
  stream << "GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n" << std::flush;
  const std::string all{std::istreambuf_iterator<char>(stream), {}};
  return all.empty() ? "" : all.substr(9, 4) + all.substr(all.find("\r\n\r\n") + 4);
}

/// nginx as one process without a log, with the page in its memory.
class Nginx {
 public:
  Nginx() {
    check(mkdtemp(folder_.data()) == nullptr ? -1 : 0, "mkdtemp");
    std::ofstream settings(folder_ + "/nginx.conf");
    settings << "daemon off; master_process off; worker_processes 1; error_log stderr crit; pid " << folder_
             << "/pid;\n"
             << "events { worker_connections 1024; }\nhttp { access_log off; server_tokens off;\n"
             << "keepalive_requests 1000000000;\n";
    for (const std::string kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
      settings << kind << "_temp_path " << folder_ << '/' << kind << ";\n";
    }
    settings << "server { listen 127.0.0.1:" << port << "; default_type \"text/html; charset=utf-8\";\n"
             << "location = / { return 200 \"Hello from Flask!\"; } } }\n";
    settings.close();
    process_.emplace(
        std::vector<std::string>{"/usr/sbin/nginx", "-p", folder_, "-c", folder_ + "/nginx.conf", "-e", "stderr"},
        cookbook::ChildProcess::Output::inherited);
    for (int i = 0; i < 2000 && page(port).empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  Nginx(const Nginx&) = delete;
  Nginx& operator=(const Nginx&) = delete;
  ~Nginx() {
    process_->stop(SIGTERM);
    std::filesystem::remove_all(folder_);
  }

  const unsigned short port = free_port();

  /// A script for wrk, by which it sends 16 requests at a time.
  std::string sixteen_at_a_time() const {
    const std::string path = folder_ + "/sixteen.lua";
    std::ofstream(path)
        << "init = function() all = string.rep(wrk.format(), 16) end\nrequest = function() return all end\n";
    return path;
  }

 private:
  /// nginx must be told a port; this one is free now.
  static unsigned short free_port() {
    asio::io_context loop;
    return tcp::acceptor(loop, {asio::ip::address_v4::loopback(), 0}).local_endpoint().port();
  }

  std::string folder_ = std::filesystem::temp_directory_path() / "http_server_bench.XXXXXX";
  std::optional<cookbook::ChildProgram> process_;
};

/// Lets wrk send requests for so long, one at a time on each connection or as its script says. Returns the seconds per
/// request, by wrk's count; sets `right` to false if not all answers were right.
double load(unsigned short port, const std::string& script, int run_ms, bool& right) {
  // wrk takes whole seconds, but reports when it is interrupted.
  std::vector<std::string> words = {"timeout",
                                    "--preserve-status",
                                    "--signal",
                                    "INT",
                                    fmt::format("{}", run_ms / 1e3),
                                    "wrk",
                                    "-t1",
                                    "-c16",
                                    "-d600s",
                                    fmt::format("http://127.0.0.1:{}/", port)};
  if (!script.empty()) words.insert(words.end(), {"-s", script});
  cookbook::ChildProgram wrk(words, cookbook::ChildProcess::Output::piped_with_errors);
  const std::string report = wrk.read_all(std::chrono::milliseconds(run_ms) + std::chrono::seconds(30));
  const std::size_t rate = report.find("Requests/sec:");
  if (wrk.wait() != 0 || rate == report.npos || report.find("Non-2xx") != report.npos ||
      report.find("Socket errors") != report.npos) {
    right = false;
    return 1;
  }
  return 1 / std::stod(report.substr(rate + 13));
}

}  // namespace

int main(int argc, char** argv) {
  int run_ms = 1000, rounds = 9;
  cookbook::Options options("The HTTP server and nginx under the same load");
  options.add("run-ms", run_ms, "milliseconds of a measured run", 200, 60'000);
  options.add("rounds", rounds, "measured runs of each server", 1, 1000);
  options.parse(argc, argv);
  if (access("/usr/sbin/nginx", X_OK) != 0 || system("command -v wrk >/dev/null") != 0) {
    cookbook::println("skipped: nginx or wrk is not installed; scripts/setup --with-test-dependencies installs them");
    return 77;
  }

  // All on one processor, where they do not interrupt each other when they are woken (SCHED_BATCH). Threads and
  // processes that are started from here on inherit both.
  cookbook::pin(0);
  const sched_param none = {};
  check(sched_setscheduler(0, SCHED_BATCH, &none), "sched_setscheduler");

  const Nginx nginx;
  const auto greet = [](const Request&) {
    Response response(http::status::ok, 11);
    response.set(http::field::content_type, "text/html; charset=utf-8");
    response.body() = "Hello from Flask!";
    return response;
  };
  HttpServer server(greet, 0);
  std::jthread running([&] { server.run(); });

  bool right = page(nginx.port) == "200 Hello from Flask!" && page(server.port()) == page(nginx.port);
  cookbook::Figures single("requests, one at a time on each of 16 connections", cookbook::rate("/s", 1)),
      pipelined("requests, 16 at a time on each of 16 connections", cookbook::rate("/s", 1));
  for (cookbook::Figures* const figures : {&single, &pipelined}) {
    const std::string script = figures == &single ? "" : nginx.sixteen_at_a_time();
    figures->measure({{"nginx", 1, [&] { return load(nginx.port, script, run_ms, right); }},
                      {"http_server", 1, [&] { return load(server.port(), script, run_ms, right); }}},
                     rounds);
    figures->speedup_over("nginx");
  }

  std::raise(SIGTERM);
  running.join();
  cookbook::Checks checks;
  checks.that("all answers are status 200 and the same page", right);
  single.print(checks);
  pipelined.print(checks);
  return checks.exit_code();
}
