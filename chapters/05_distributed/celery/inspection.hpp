/// What `celery inspect` and monitors show of tasks and workers, in the form that Celery expects. To understand the
/// worker, you need not read this.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "celery/pool.hpp"

namespace celery {

/// Of a task, for the event that it has been received.
inline json::object details_of(const Task& task) {
  return {{"name", task.name},
          {"args", json::serialize(task.args)},
          {"kwargs", json::serialize(task.kwargs)},
          {"root_id", member(task.headers, "root_id")},
          {"parent_id", member(task.headers, "parent_id")},
          {"retries", task.retries},
          {"eta", or_null(task.eta)},
          {"expires", or_null(task.expires)}};
}

/// Of a task that worker `node` has, and of the process that executes it, if one does.
inline json::object description(const Job& job, const std::string& node, const Pool::Process* process = nullptr) {
  const json::object delivery = {
      {"exchange", ""}, {"routing_key", job.message.queue}, {"priority", 0}, {"redelivered", job.message.redelivered}};
  return {{"id", job.task.id},
          {"name", job.task.name},
          {"type", job.task.name},
          {"args", job.task.args},
          {"kwargs", job.task.kwargs},
          {"hostname", node},
          {"acknowledged", false},
          {"time_start", process ? json::value(timestamp(process->started)) : nullptr},
          {"worker_pid", process ? json::value(process->pid) : nullptr},
          {"delivery_info", delivery}};
}

inline json::array active(const Pool& pool, const std::string& node) {
  json::array all;
  for (const Pool::Process& process : pool.processes()) {
    if (process.job) all.push_back(description(*process.job, node, &process));
  }
  return all;
}

inline json::array reserved(const std::deque<Job>& waiting, const std::string& node) {
  json::array all;
  for (const Job& job : waiting) all.push_back(description(job, node));
  return all;
}

inline json::array scheduled(const std::multimap<Time, Job>& held, const std::string& node) {
  json::array all;
  for (const auto& [due, job] : held) {
    all.push_back({{"eta", to_iso(due)}, {"priority", 6}, {"request", description(job, node)}});
  }
  return all;
}

inline json::array registered(const Registry& registry) {
  json::array names;
  for (const auto& [name, function] : registry.functions()) names.push_back(json::value(name));
  return names;
}

/// Where the worker's broker is, without the password. Flower's page of a worker needs it.
inline json::object broker_info(const std::string& url) {
  const amqp::Address where = amqp::parse_url(url);
  return {{"transport", "amqp"},  {"hostname", where.host},      {"port", where.port},
          {"userid", where.user}, {"virtual_host", where.vhost}, {"ssl", false}};
}

inline json::array active_queues(const std::vector<std::string>& queues) {
  json::array all;
  for (const std::string& queue : queues) {
    const json::object exchange = {{"name", queue}, {"type", "direct"}, {"durable", true}};
    all.push_back({{"name", queue},
                   {"routing_key", queue},
                   {"durable", true},
                   {"exclusive", false},
                   {"auto_delete", false},
                   {"no_ack", false},
                   {"alias", nullptr},
                   {"queue_arguments", nullptr},
                   {"binding_arguments", nullptr},
                   {"exchange", exchange}});
  }
  return all;
}

}  // namespace celery
