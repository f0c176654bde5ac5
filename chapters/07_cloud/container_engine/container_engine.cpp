// A client of a container engine
//
// A container engine, such as docker or podman, is a server: programs send it HTTP requests, and it makes containers
// of images. This program asks the engine for its version and its images, and gives it an image that has one file, a
// web server. Then it starts two containers of this image, and visits both.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/container_engine/container_engine.cpp common/cookbook/*.cpp -lboost_json -lfmt -pthread -o container_engine
// Run:     run.sh BIN, which starts an engine; or container_engine --socket FILE --archive FILE

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "engine.hpp"

namespace {

/// What a web server on this machine answers to GET. Waits up to 5 s for one that has just been started.
std::string visit(int port, const std::string& path) {
  namespace ip = boost::asio::ip;
  for (int attempt = 0;; ++attempt) {
    try {
      const ip::tcp::endpoint server(ip::address_v4::loopback(), static_cast<unsigned short>(port));
      const http::request<http::string_body> request(http::verb::get, path, 11);
      return exchange<ip::tcp>(server, request, std::chrono::seconds(5)).body();
    } catch (const boost::system::system_error&) {
      if (attempt == 500) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

/// A container that runs as long as this object lives.
struct Container {
  const Engine& engine;
  std::string id;
  int port = 0;

  Container(const Engine& engine_, const std::string& image) : engine(engine_), id(engine.run(image, 5000)) {
    try {
      port = engine.port_of(id, 5000);
    } catch (...) {  // the destructor does not run when the constructor throws
      remove();
      throw;
    }
  }
  ~Container() { remove(); }
  Container(const Container&) = delete;

 private:
  void remove() const {
    try {
      engine.remove(id);
    } catch (const std::exception& error) {
      cookbook::print_error(error.what());
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::string socket = "/var/run/docker.sock", archive = "greeting.tar";
  cookbook::Options options("Run containers of an image by the HTTP interface of docker and podman");
  options.add("socket", socket, "the Unix socket of the engine");
  options.add("archive", archive, "the archive of the image");
  options.parse(argc, argv);
  const std::string image = "localhost/greeting:1.0";  // its name in the archive
  if (!std::filesystem::exists(socket)) {
    cookbook::println("skipped: there is no engine at {}", socket);
    return 77;
  }

  Engine engine(socket);
  const json::value version = engine.version();
  cookbook::println("client: API {} to {}; engine: {}, API {} to {}", Engine::oldest.text(), Engine::newest.text(),
                    Engine::text(version, "Version"), Engine::text(version, "MinAPIVersion"),
                    Engine::text(version, "ApiVersion"));
  if (!engine.has(image)) {
    std::ifstream file(archive, std::ios::binary);
    engine.load(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  for (const json::value& one : engine.images()) {
    cookbook::println("image {} of {:.2f} MB", json::serialize(one.at("RepoTags")),
                      1e-6 * one.at("Size").to_number<double>());
  }

  try {
    const Container first(engine, image), second(engine, image);
    cookbook::Checks checks;
    checks.that("the engine has the image", engine.has(image));
    checks.equal("the engine has localhost/greeting:latest", engine.has("localhost/greeting"), false);
    checks.equal("the first container says", visit(first.port, "/"), "Hello World!");
    checks.equal("for themselves, the two servers are the processes",
                 std::vector{visit(first.port, "/process"), visit(second.port, "/process")}, {"1", "1"});
    checks.equal("exit code of the first container after SIGTERM", engine.stop(first.id), 0);
    return checks.exit_code();
  } catch (const std::exception& error) {  // caught, so that the containers are removed
    cookbook::print_error(error.what());
    return 3;
  }
}
