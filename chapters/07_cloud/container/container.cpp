// Container
//
// An image is an archive of files, and a container is processes that see these files instead of the machine's. This
// program makes two containers without an engine: in each it starts the web server of an image, with a root directory,
// process numbers and a network of its own. Then it asks both servers what they see.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/container/container.cpp common/cookbook/*.cpp -lfmt -pthread -o container
// Run:     run.sh BIN, which unpacks the image; or container --root FOLDER

#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "isolated.hpp"

namespace {

/// What the web server in a container answers to GET.
std::string get(const Isolated& container, const std::string& path) {
  const int server = container.connect_to(5000);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: container\r\n\r\n";
  send(server, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char part[1024];
  for (ssize_t count = 0; (count = recv(server, part, sizeof part, 0)) > 0;) {
    answer.append(part, static_cast<std::size_t>(count));
  }
  close(server);
  const auto end_of_head = answer.find("\r\n\r\n");
  return end_of_head == answer.npos ? answer : answer.substr(end_of_head + 4);
}

}  // namespace

int main(int argc, char** argv) {
  std::string root = "greeting";
  cookbook::Options options("Start the program of an image in two containers made by hand");
  options.add("root", root, "the folder with the files of the image");
  options.parse(argc, argv);

  try {
    if (!may_isolate()) throw std::system_error(errno, std::generic_category(), "unshare");
    Isolated first(root), second(root);
    cookbook::println("for this machine the servers are the processes {} and {}", first.process(), second.process());
    const std::vector<std::string> own_numbers = {get(first, "/process"), get(second, "/process")};

    cookbook::Checks checks;
    checks.equal("the first container says", get(first, "/"), "Hello World!");
    checks.equal("for themselves, both at port 5000, they are the processes", own_numbers, {"1", "1"});
    checks.equal("files in the root directory of the first", get(first, "/files"), "greeting");
    checks.equal("exit codes of both after SIGTERM", std::vector{first.stop(), second.stop()}, {0, 0});
    return checks.exit_code();
  } catch (const std::system_error& error) {
    const bool not_allowed = error.code() == std::errc::operation_not_permitted || error.code().value() == ENOSPC;
    cookbook::println("{}{}", not_allowed ? "skipped: this system allows no namespaces: " : "", error.what());
    return not_allowed ? 77 : 3;
  }
}
