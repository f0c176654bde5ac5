// Container engine
//
// A program asks a container engine, docker or podman, to start two containers of one image, by HTTP requests as the
// command `docker` sends them. In each of them the same web server listens on the same port 5000. The engine publishes
// one at 127.0.0.1, and for the other it is told no address. The output shows through which addresses each can be
// reached.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/container_engine/container_engine.cpp common/cookbook/*.cpp -lboost_json -lfmt -pthread -o container_engine
// Run:     run.sh BIN, which starts an engine; or container_engine --socket FILE --archive FILE

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "engine.hpp"
#include "running_container.hpp"

namespace {

void print_row(const char* what, const std::string& first, const std::string& second) {
  cookbook::println("{:44}{:22}{}", what, first, second);
}

/// Runs two containers of one image and prints what is to be seen of them; the exit code. Both are removed at the end,
/// also if something is thrown.
int run_two(const Engine& engine, const std::string& image) {
  const Container first(engine, image, "127.0.0.1"), second(engine, image, "");
  const std::string far_first = first.answer_at("127.0.0.2"), far_second = second.answer_at("127.0.0.2");
  print_row("published at", "127.0.0.1", "no address is named");
  print_row("asked through 127.0.0.1", first.answer_at("127.0.0.1"), second.answer_at("127.0.0.1"));
  print_row("asked through 127.0.0.2, another address", far_first, far_second);
  cookbook::Checks checks;
  checks.equal("through 127.0.0.2 the first says", far_first, "Connection refused");
  checks.equal("through 127.0.0.2 the second says", far_second, "Hello World!");
  checks.equal("exit code of the first after SIGTERM", engine.stop(first.id), 0);
  return checks.exit_code();
}

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
  try {
    Engine engine(socket);
    engine.version();  // so that later requests have a version that both know
    if (!engine.has(image)) {
      std::ifstream file(archive, std::ios::binary);
      engine.load(std::string(std::istreambuf_iterator<char>(file), {}));
    }
    return run_two(engine, image);
  } catch (const std::exception& error) {
    cookbook::print_error(error.what());
    return 3;
  }
}
