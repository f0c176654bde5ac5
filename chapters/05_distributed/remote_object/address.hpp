/// Where an object is: "capnp:ID@HOST:PORT".
#pragma once

#include <cstdlib>
#include <random>
#include <regex>
#include <stdexcept>
#include <string>

#include "cookbook/print.hpp"

struct Address {
  std::string id;    ///< which of the server's objects
  std::string host;  ///< as the network knows it
  unsigned port = 0;

  std::string text() const { return fmt::format("capnp:{}@{}:{}", id, host, port); }
};

/// Throws std::invalid_argument if `text` is no address.
inline Address parse_address(const std::string& text) {
  static const std::regex form(R"(capnp:(\w+)@([\w.-]+|\[[\da-fA-F:.]+\]):(\d{1,5}))");
  std::smatch part;
  if (!std::regex_match(text, part, form) || std::stoul(part[3]) - 1 >= 65535) {
    throw std::invalid_argument(fmt::format("'{}' is no address; it has the form capnp:ID@HOST:PORT", text));
  }
  return {part[1], part[2], static_cast<unsigned>(std::stoul(part[3]))};
}

/// The value of the option --name; ends the program with exit code 2 if it is no address.
inline Address address_of_option(const std::string& name, const std::string& value) {
  try {
    return parse_address(value);
  } catch (const std::invalid_argument& error) {
    cookbook::complain("--" + name + ": " + error.what());
    std::exit(2);
  }
}

/// An id that no other object has: 128 random bits as 32 hexadecimal digits.
inline std::string new_id() {
  std::random_device entropy;
  std::string id = "obj_";
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", entropy());
  return id;
}
