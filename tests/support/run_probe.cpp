// Loaded by LD_PRELOAD into each program that a test runs (support/run.hpp): writes a line to the file that
// COOKBOOK_RUN_RECORD names for what no program of the cookbook should do:
//
//   it binds a socket to an address that other machines can reach, or listens there
//   at its end it has a descriptor open, or memory mapped that it shares with others, that it did not have at its start
//   it has made a shared memory object and not removed its name
//
// It looks only at programs of the folder that COOKBOOK_RUN_FOLDER names: not at mpirun, a broker or an engine. What an
// MPI library opens for itself is no matter of the cookbook, so it does not look at programs with one either; nor, at
// the end, at descriptors and mappings of a program into which a GPU's driver has been loaded: it keeps its own until
// then.

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "interposer.hpp"

namespace {

void tell(const std::string& what) { record(what, "COOKBOOK_RUN_RECORD"); }

std::string target(const std::string& link) {
  char text[PATH_MAX];
  const ssize_t length = readlink(link.c_str(), text, sizeof text);
  return length < 0 ? "" : std::string(text, static_cast<std::size_t>(length));
}

/// The open descriptors, as "3 -> socket:[17]", each with its file's device and inode: a file that was open before may
/// have another name at the end, as a log that is being put aside.
std::map<std::string, std::pair<dev_t, ino_t>> descriptors() {
  std::map<std::string, std::pair<dev_t, ino_t>> found;
  for (int i = 0; i < 1024; ++i) {
    struct stat status;
    if (fstat(i, &status) != 0) continue;
    const std::string number = std::to_string(i);
    found[number + " -> " + target("/proc/self/fd/" + number)] = {status.st_dev, status.st_ino};
  }
  return found;
}

/// The number of a descriptor that descriptors() has given.
std::string number_of(const std::string& descriptor) { return descriptor.substr(0, descriptor.find(' ')); }

/// The mappings of memory that is shared with others or with a file: their names, as often as they occur.
std::multiset<std::string> shared_mappings() {
  std::multiset<std::string> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string addresses, permissions, offset, device, inode, name;
    words >> addresses >> permissions >> offset >> device >> inode >> name;
    if (permissions.size() == 4 && permissions[3] == 's') found.insert(name);
  }
  return found;
}

/// Whether a library of NVIDIA's driver has been loaded.
bool has_gpu_driver() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/libcuda.so") != std::string::npos || line.find("/libnvidia-") != std::string::npos) return true;
  }
  return false;
}

class Probe {
 public:
  Probe() {
    const char* const folder = std::getenv("COOKBOOK_RUN_FOLDER");
    const std::string program = target("/proc/self/exe");
    looks_ = folder && program.substr(0, program.rfind('/')) == folder && dlsym(RTLD_DEFAULT, "MPI_Init") == nullptr;
    name_ = program.substr(program.rfind('/') + 1);
    if (!looks_) return;
    process_ = getpid();
    for (const auto& [descriptor, file] : descriptors()) descriptors_[number_of(descriptor)] = file;
    mappings_ = shared_mappings();
  }

  ~Probe() {
    if (!looks_ || getpid() != process_) return;  // a child that was forked has what its parent had
    if (has_gpu_driver()) return;
    for (const auto& [descriptor, file] : descriptors()) {
      const auto before = descriptors_.find(number_of(descriptor));
      if (before == descriptors_.end() || before->second != file) {
        tell(name_ + " has left a descriptor open: " + descriptor);
      }
    }
    for (const std::string& one : shared_mappings()) {
      if (const auto before = mappings_.find(one); before != mappings_.end()) {
        mappings_.erase(before);
      } else {
        tell(name_ + " has left shared memory mapped: " + one);
      }
    }
  }

  bool looks() const { return looks_; }
  const std::string& name() const { return name_; }

 private:
  bool looks_ = false;
  std::string name_;
  pid_t process_ = 0;
  std::map<std::string, std::pair<dev_t, ino_t>> descriptors_;  // by number
  std::multiset<std::string> mappings_;
};

const Probe probe;

bool is_of_this_machine(const sockaddr* address, socklen_t length) {
  if (address->sa_family == AF_INET && length >= sizeof(sockaddr_in)) {
    sockaddr_in four;
    std::memcpy(&four, address, sizeof four);
    return ntohl(four.sin_addr.s_addr) >> 24 == 127;
  }
  if (address->sa_family == AF_INET6 && length >= sizeof(sockaddr_in6)) {
    sockaddr_in6 six;
    std::memcpy(&six, address, sizeof six);
    return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
  }
  return true;
}

}  // namespace

extern "C" int bind(int file, const sockaddr* address, socklen_t length) {
  static const auto real = hidden<decltype(&bind)>("bind");
  if (probe.looks() && !is_of_this_machine(address, length)) {
    tell(probe.name() + " binds a socket to an address that other machines can reach");
  }
  return real(file, address, length);
}

extern "C" int listen(int file, int backlog) {
  static const auto real = hidden<decltype(&listen)>("listen");
  const int result = real(file, backlog);
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  // A socket without an address gets one on which other machines reach it.
  if (probe.looks() && getsockname(file, where, &length) == 0 && !is_of_this_machine(where, length)) {
    tell(probe.name() + " listens where other machines can reach it");
  }
  return result;
}

extern "C" int shm_open(const char* name, int flags, mode_t mode) {
  static const auto real = hidden<decltype(&shm_open)>("shm_open");
  const int file = real(name, flags, mode);
  if (probe.looks() && file >= 0 && flags & O_CREAT) tell(std::string("/dev/shm/") + (name + (*name == '/')));
  return file;
}
