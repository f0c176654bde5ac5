/// For the visitor, the measuring: the web application beside nginx, both under wrk.
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
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"
#include "visits.hpp"

inline bool is_installed(const std::string& program) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/", "/usr/local/bin/"}) {
    if (std::filesystem::exists(folder + program)) return true;
  }
  return false;
}

/// A port that is free now. nginx must be told one.
inline unsigned short free_port() {
  const int probe = socket_check(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  sockaddr_in address = loop_back(0);
  socklen_t size = sizeof address;
  socket_check(bind(probe, reinterpret_cast<const sockaddr*>(&address), size), "bind");
  socket_check(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
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

struct Load {
  std::vector<double> seconds;    ///< a request, by wrk's count; one entry a run
  std::vector<double> processor;  ///< a request, of the server's process
  bool right = true;              ///< whether all answers had status 200
};

/// One run of wrk: 16 connections, a second.
inline void put_load(const Child& server, unsigned short port, const std::string& script, int processor, Load& load) {
  std::vector<std::string> words = {"wrk", "-t1", "-c16", "-d1s"};
  if (!script.empty()) words.insert(words.end(), {"-s", script});
  words.push_back(fmt::format("http://127.0.0.1:{}/", port));
  const double before = server.processor_seconds();
  Child wrk(words, processor);
  const std::string report = wrk.read_all();
  const double used = server.processor_seconds() - before;

  // "  70000 requests in 1.00s, 11.48MB read" and "Requests/sec:  70000.00"
  const std::size_t count = report.find(" requests in "), rate = report.find("Requests/sec:");
  load.right = load.right && wrk.wait() == 0 && count != std::string::npos && rate != std::string::npos &&
               report.find("Non-2xx") == std::string::npos && report.find("Socket errors") == std::string::npos;
  if (!load.right) return;
  load.seconds.push_back(1 / std::stod(report.substr(rate + 13)));
  load.processor.push_back(used / std::stod(report.substr(report.rfind('\n', count) + 1)));
}

/// Both servers and wrk share one processor; the servers have their runs in turn, so that they meet the same
/// disturbances.
inline void compare_with_nginx(cookbook::Verdict& verdict, const std::string& server, int runs) {
  if (!is_installed("nginx") || !is_installed("wrk")) {
    cookbook::println("no comparison: nginx or wrk is not installed; scripts/setup --peers does that");
    return;
  }
  const std::string folder = std::filesystem::temp_directory_path();  // run.sh makes one for this, by TMPDIR
  const int here = sched_getcpu();
  const unsigned short port = free_port();
  Child peer(nginx(folder, port), here);
  WebServer ours({server}, here);
  wait_until_open(port);
  const auto without_date = [](const Reply& reply) {
    std::string head = reply.head;
    if (const auto date = head.find("Date: "); date != std::string::npos) head.replace(date, 37, "");
    if (const auto name = head.find("Server: "); name != std::string::npos) head.replace(name, 13, "");
    return head + reply.body;
  };
  verdict.that("nginx answers the same, but for date and name",
               without_date(visit(port, request("GET", "/"))) == without_date(visit(ours.port, request("GET", "/"))));

  const std::string script = folder + "/pipeline.lua";
  std::ofstream(script) << "init = function(args)\n  local requests = {}\n"
                           "  for i = 1, 16 do requests[i] = wrk.format() end\n"
                           "  all = table.concat(requests)\nend\nrequest = function() return all end\n";
  std::vector<cookbook::Figures> tables;
  for (const int depth : {1, 16}) {
    Load loads[2];
    for (int i = 0; i < runs; ++i) {
      put_load(peer, port, depth == 1 ? "" : script, here, loads[0]);
      put_load(ours, ours.port, depth == 1 ? "" : script, here, loads[1]);
    }
    verdict.that(fmt::format("wrk got nothing but status 200, depth {}", depth), loads[0].right && loads[1].right);
    if (!verdict.passed()) return;
    const auto fill = [&](cookbook::Figures table, std::vector<double> Load::*seconds) {
      table.add_peer("nginx", cookbook::timing_of(loads[0].*seconds), 1);
      table.add("web_application", cookbook::timing_of(loads[1].*seconds), 1);
      tables.push_back(table);
    };
    fill({fmt::format("requests, depth {}", depth), cookbook::rate("/s", 1)}, &Load::seconds);
    fill({fmt::format("server's processor time a request, depth {}", depth), cookbook::cost("us", 1e-6)},
         &Load::processor);
  }
  for (const cookbook::Figures& table : tables) table.print(verdict);
}
