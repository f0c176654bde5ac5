/// A container of an engine as an object of C++.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "cookbook/measure.hpp"
#include "cookbook/print.hpp"
#include "engine.hpp"

/// A container with a web server, which runs as long as this object lives. The engine passes on to the server what
/// arrives at `port` of the host.
struct Container {
  const Engine& engine;
  std::string id;
  int port = 0;

  Container(const Engine& engine_, const std::string& image, const std::string& address) : engine(engine_) {
    id = engine.run(image, 5000, address);
    try {
      port = engine.port_of(id, 5000);
      const cookbook::Stopwatch watch;
      while (answer_at("127.0.0.1") != "Hello World!") {  // the server has been started, and does not listen yet
        if (watch.seconds() > 5) throw std::runtime_error("the server in the container does not answer");
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    } catch (...) {  // the destructor does not run when the constructor throws
      remove();
      throw;
    }
  }
  ~Container() { remove(); }
  Container(const Container&) = delete;

  /// What the server answers through an address of this machine, or why there is no answer.
  std::string answer_at(const std::string& address) const {
    namespace ip = boost::asio::ip;
    try {
      const ip::tcp::endpoint server(ip::make_address(address), static_cast<unsigned short>(port));
      return exchange<ip::tcp>(server, {http::verb::get, "/", 11}, std::chrono::seconds(5)).body();
    } catch (const boost::system::system_error& error) {
      return error.code().message();
    }
  }

 private:
  void remove() const {
    try {
      engine.remove(id);
    } catch (const std::exception& error) {
      cookbook::print_error(error.what());
    }
  }
};
