// Container: the program in the image
//
// A web server with three pages: / is a greeting, /process is the number of its process, and /files are the files in
// its root directory. It is linked statically, so the image needs nothing but this one file.
//
// Compile: g++ -std=c++20 -Os -static -s chapters/07_cloud/container/container_greeting.cpp -o container_greeting
// Run:     container_greeting, then Ctrl-C

#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

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

/// Reads the head of a request, and answers it. Clients that are slow or say too much are not answered.
void answer(int client) {
  const timeval patience = {1, 0};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string head(4096, '\0');
  std::size_t length = 0;
  while (head.find("\r\n\r\n") == head.npos) {
    const ssize_t count = recv(client, head.data() + length, head.size() - length, 0);
    if (count <= 0) return;
    length += static_cast<std::size_t>(count);
  }
  std::string status = "200 OK", body;
  if (head.starts_with("GET / ")) {
    body = "Hello World!";
  } else if (head.starts_with("GET /process ")) {
    body = std::to_string(getpid());
  } else if (head.starts_with("GET /files ")) {
    body = files();
  } else {
    status = "404 Not Found";
  }
  const std::string text = "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
                           "\r\nConnection: close\r\n\r\n" + body;
  send(client, text.data(), text.size(), MSG_NOSIGNAL);
}

}  // namespace

int main() {
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
