/// For the visitor, the measuring: the web application beside nginx, both under wrk. All three share one processor.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"
#include "visits.hpp"

constexpr int shared_processor = 0;  ///< the first of those that are allowed

inline bool is_installed(const std::string& program) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/", "/usr/local/bin/"}) {
    if (std::filesystem::exists(folder + program)) return true;
  }
  return false;
}

/// A port that is free now. nginx must be told one.
inline unsigned short free_port() {
  const int probe = check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  sockaddr_in address = loop_back(0);
  socklen_t size = sizeof address;
  check(bind(probe, reinterpret_cast<const sockaddr*>(&address), size), "bind");
  check(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
  close(probe);
  return ntohs(address.sin_port);
}

/// nginx as one process, without a log, with the same page from its memory: the same bytes in the same order, but for
/// the name of the server, which is as long.
inline std::vector<std::string> nginx(const std::string& folder, unsigned short port) {
  std::ofstream settings(folder + "/nginx.conf");
  settings << "daemon off; master_process off; worker_processes 1; error_log stderr crit;\npid " << folder
           << "/pid;\nevents { worker_connections 1024; }\nhttp {\n  access_log off; server_tokens off;\n"
              "  keepalive_requests 1000000000;\n";
  for (const char* kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
    settings << "  " << kind << "_temp_path " << folder << '/' << kind << ";\n";
  }
  settings << "  server {\n    listen 127.0.0.1:" << port << ";\n    default_type \"text/html; charset=utf-8\";\n"
           << "    location = / { return 200 \"Hello from Flask!\"; }\n  }\n}\n";
  return {"/usr/sbin/nginx", "-p", folder, "-c", folder + "/nginx.conf", "-e", "stderr"};
}

inline void wait_until_open(unsigned short port) {
  for (int i = 0; i < 2000; ++i) {
    try {
      Client knocks(port);
      return;
    } catch (const std::system_error&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  throw std::runtime_error("nginx does not listen");
}

/// A server under load.
struct Loaded {
  const Child& server;
  unsigned short port;
  std::vector<double> processor = {};  ///< seconds of the server's process for a request; one entry for each run
  bool right = true;                   ///< whether all answers had status 200
};

/// One run of wrk: 16 connections, a second. Returns the seconds for a request, by wrk's count.
inline double seconds_under_load(Loaded& loaded, const std::string& script) {
  std::vector<std::string> words = {"wrk", "-t1", "-c16", "-d1s"};
  if (!script.empty()) words.insert(words.end(), {"-s", script});
  words.push_back(fmt::format("http://127.0.0.1:{}/", loaded.port));
  const double before = loaded.server.processor_seconds();
  Child wrk(words, shared_processor);
  const std::string report = wrk.read_all();
  const double used = loaded.server.processor_seconds() - before;

  // "  70000 requests in 1.00s, 11.48MB read" and "Requests/sec:  70000.00"
  const std::size_t count = report.find(" requests in "), rate = report.find("Requests/sec:");
  if (wrk.wait() != 0 || count == std::string::npos || rate == std::string::npos ||
      report.find("Non-2xx") != std::string::npos || report.find("Socket errors") != std::string::npos) {
    loaded.right = false;
    return 1;
  }
  loaded.processor.push_back(used / std::stod(report.substr(report.rfind('\n', count) + 1)));
  return 1 / std::stod(report.substr(rate + 13));
}

inline void compare_with_nginx(cookbook::Checks& checks, const std::string& server, int runs) {
  if (!is_installed("nginx") || !is_installed("wrk")) {
    cookbook::println("no comparison: nginx or wrk is not installed; scripts/setup --peers does that");
    return;
  }
  const std::string folder = std::filesystem::temp_directory_path();  // run.sh makes one for this, by TMPDIR
  const unsigned short port = free_port();
  const Child reference(nginx(folder, port), shared_processor);
  const WebServer ours({server}, shared_processor);
  wait_until_open(port);
  const auto without_date = [](const Reply& reply) {
    std::string head = reply.head;
    if (const auto date = head.find("Date: "); date != std::string::npos) head.replace(date, 37, "");
    if (const auto name = head.find("Server: "); name != std::string::npos) head.replace(name, 13, "");
    return head + reply.body;
  };
  checks.that("nginx answers the same, but for date and name",
              without_date(visit(port, request("GET", "/"))) == without_date(visit(ours.port, request("GET", "/"))));

  const std::string script = folder + "/pipeline.lua";
  std::ofstream(script) << "init = function(args)\n  local requests = {}\n"
                           "  for i = 1, 16 do requests[i] = wrk.format() end\n"
                           "  all = table.concat(requests)\nend\nrequest = function() return all end\n";
  std::vector<cookbook::Figures> tables;
  for (const int depth : {1, 16}) {
    Loaded servers[] = {{reference, port}, {ours, ours.port}};
    const char* const names[] = {"nginx", "web_application"};
    std::vector<cookbook::Row> rows;
    for (int i = 0; i < 2; ++i) {
      rows.emplace_back(names[i], 1, [&, i] { return seconds_under_load(servers[i], depth == 1 ? "" : script); });
    }
    const std::vector<cookbook::Timing> timings = cookbook::measure_in_turns(rows, runs);
    checks.that(fmt::format("wrk got nothing but status 200, depth {}", depth), servers[0].right && servers[1].right);
    if (!checks.passed()) return;
    cookbook::Figures& rates = tables.emplace_back(fmt::format("requests, depth {}", depth), cookbook::rate("/s", 1));
    for (int i = 0; i < 2; ++i) rates.add(names[i], timings[i], 1);
    cookbook::Figures& costs = tables.emplace_back(fmt::format("server's processor time a request, depth {}", depth),
                                                   cookbook::cost("us", 1e-6));
    for (int i = 0; i < 2; ++i) {
      std::vector<double>& processor = servers[i].processor;
      processor.erase(processor.begin());  // of the run to warm up
      costs.add(names[i], cookbook::timing_of(processor), 1);
    }
  }
  for (cookbook::Figures& table : tables) {
    table.times("nginx");
    table.print(checks);
  }
}
