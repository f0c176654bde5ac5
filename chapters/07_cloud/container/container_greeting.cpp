// Container: the program in the image
//
// A web server with two pages: / is a greeting, and /view is what it sees of the system. It is linked statically, so
// the image needs nothing but this one file. With the word `view` it prints this page instead, and ends.
//
// Compile: g++ -std=c++20 -Os -static -s chapters/07_cloud/container/container_greeting.cpp -o container_greeting
// Run:     container_greeting, then Ctrl-C; or container_greeting view

#include <dirent.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace {

/// The names of the files in the root directory.
std::string files() {
  std::string names;
  DIR* const root = opendir("/");
  while (const dirent* const entry = root != nullptr ? readdir(root) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.append(names.empty() ? "" : " ").append(name);
  }
  if (root != nullptr) closedir(root);
  return names;
}

/// What this process sees and may do, a line each: nobody tells it whether it is in a container.
std::string view() {
  int devices = 0, variables = 0, open_files = 0, capabilities = 0;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return "";
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {  // one of AF_PACKET per device
    // Some kernels put tunnels into each new network (tunl0, sit0); they are off.
    devices += one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_PACKET && (one->ifa_flags & IFF_UP) != 0;
  }
  freeifaddrs(first);
  while (environ[variables] != nullptr) ++variables;
  for (int descriptor = 3; descriptor < 100; ++descriptor) {  // 0, 1 and 2 are its standard input and outputs
    struct stat file;
    open_files += fstat(descriptor, &file) == 0 && !S_ISSOCK(file.st_mode);  // sockets are the server's own
  }
  __user_cap_header_struct version = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct rights[2] = {};
  syscall(SYS_capget, &version, rights);
  for (const auto& half : rights) capabilities += __builtin_popcount(half.permitted);
  std::string text;
  for (const auto& [what, number] : {std::pair{"process number", int(getpid())},
                                     {"network devices that are on", devices},
                                     {"environment variables", variables},
                                     {"inherited files from 3 on", open_files},
                                     {"capabilities", capabilities}}) {
    text += std::string(what) + ": " + std::to_string(number) + "\n";
  }
  return text + "files in the root directory: " + files() + "\n";
}

/// Reads the head of a request, and answers it. A client that says too much is not answered, nor is one that takes more
/// than a second: the others wait meanwhile.
void answer(int client) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(1);  // for the whole head, not for each byte
  std::string head(4096, '\0');
  std::size_t length = 0;
  while (head.find("\r\n\r\n") == head.npos) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd ready = {client, POLLIN, 0};
    if (left <= 0 || poll(&ready, 1, static_cast<int>(left)) != 1) return;
    const ssize_t count = recv(client, head.data() + length, head.size() - length, 0);
    if (count <= 0) return;
    length += static_cast<std::size_t>(count);
  }
  std::string status = "200 OK", body;
  if (head.starts_with("GET / ")) {
    body = "Hello World!";
  } else if (head.starts_with("GET /view ")) {
    body = view();
  } else {
    status = "404 Not Found";
  }
  const std::string text = "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
                           "\r\nConnection: close\r\n\r\n" + body;
  send(client, text.data(), text.size(), MSG_NOSIGNAL);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string_view("view")) {
    std::fputs(view().c_str(), stdout);
    return 0;
  }
  // The first process of a container ends at SIGTERM only if it has a function for it.
  for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, [](int) { _exit(0); });

  const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(5000);
  address.sin_addr.s_addr = htonl(INADDR_ANY);  // all addresses of the container: requests come from outside of it
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener, 100) != 0) {
    std::perror("greeting");
    return 3;
  }
  while (true) {
    const int client = accept(listener, nullptr, nullptr);
    if (client < 0) continue;
    answer(client);
    close(client);
  }
}
