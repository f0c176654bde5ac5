/// What the programs share about a broker: where it is, what it carries, how it fails.
#pragma once

#include <amqp.h>

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "amqp_table.hpp"
#include "cookbook/print.hpp"

namespace task_queue {

inline const std::string default_broker = "amqp://guest@localhost//";

/// Where messages end up that no worker can execute.
inline const std::string dead_letters = "celery.dead";

inline std::string version() { return fmt::format("1.0.0, Celery message protocol 2, librabbitmq {}", amqp_version()); }

/// The connection is lost, or cannot be made: it is worth trying again.
struct Lost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The broker is there and says no, to a wrong password for one: to try again is of no use.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Where a broker is.
struct Address {
  std::string user, password, host, vhost;
  int port;

  /// Reads amqp://user:password@host:port/vhost, all but the scheme optional. Throws std::invalid_argument.
  explicit Address(std::string url) {
    // The virtual host is mostly named "/". Celery writes that as a second slash or leaves it out; librabbitmq reads
    // it only if the slash is escaped, or if the path is left out altogether.
    const std::size_t path = url.find('/', std::string_view("amqp://").size());
    if (path != std::string::npos && url.find_first_not_of('/', path) == std::string::npos) url.resize(path);

    std::string parsed = url;  // amqp_parse_url() cuts it to pieces
    amqp_connection_info info;
    amqp_default_connection_info(&info);
    if (amqp_parse_url(parsed.data(), &info) != AMQP_STATUS_OK || info.ssl != 0) {
      throw std::invalid_argument(url + ": not a broker's address, which is amqp://user:password@host:port/vhost");
    }
    user = info.user;
    password = info.password;
    host = info.host;
    vhost = info.vhost;
    port = info.port;
  }

  /// For people to read, so without the password.
  std::string text() const { return fmt::format("amqp://{}:**@{}:{}/{}", user, host, port, vhost); }
};

/// The address that an option gives. A wrong one ends the program with exit code 2.
inline Address address_of_option(const std::string& url) try {
  return Address(url);
} catch (const std::invalid_argument& error) {
  cookbook::complain(fmt::format("--broker {}", error.what()));
  std::exit(2);
}

/// The queues that an option names, separated by commas. A wrong name ends the program with exit code 2.
inline std::vector<std::string> queues_of_option(const std::string& names) {
  std::vector<std::string> list;
  std::istringstream stream(names + ',');
  for (std::string name; std::getline(stream, name, ',');) {
    if (name.empty() || name.size() > 255) {
      cookbook::complain(fmt::format("queues {}: a queue's name has 1 to 255 bytes", names));
      std::exit(2);
    }
    list.push_back(name);
  }
  return list;
}

/// A message, in the terms of AMQP.
struct Message {
  std::string body = "";
  std::string content_type = "application/json";
  std::string content_encoding = "utf-8";
  std::string correlation_id = "";  ///< in an answer: to what
  std::string reply_to = "";        ///< the queue for the answer
  json::object headers = {};
  bool persistent = true;  ///< in a durable queue: kept on disk, so that it outlives the broker
};

/// What a broker sends of its own accord: a message, or word that it has a published message safe.
struct Delivery {
  std::uint64_t tag;     ///< to acknowledge it by, on the connection that it came by
  bool redelivered;      ///< somebody had it before, and did not acknowledge it
  std::string consumer;  ///< which consumer it is for
  Message message;
};
struct Confirmed {
  amqp_channel_t channel;
  std::uint64_t number;  ///< counts the messages published on that channel, from 1
  bool and_all_before;
};
using Event = std::variant<Delivery, Confirmed>;

}  // namespace task_queue
