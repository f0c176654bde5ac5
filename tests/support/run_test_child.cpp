// A program of many habits, each chosen by its first argument, for the tests of support/run.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/posix.hpp"

/// Maps a page that a file shares, closes the file, and removes the mapping if wanted.
static void map(int file, bool remove = false) {
  check(ftruncate(check(file, "memfd_create"), 4096), "ftruncate");
  void* const memory = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) cookbook::exit_with_errno("mmap");
  if (remove) munmap(memory, 4096);
  close(file);
}

int main(int, char** argv) {
  const std::string habit = argv[1];
  if (habit == "echo") {
    std::printf("out %s\n", argv[2]);
    std::fprintf(stderr, "err %s\n", std::getenv("ODD_VARIABLE"));
    return 5;
  }
  if (habit == "abort") std::abort();
  if (habit == "both_outputs") {
    std::puts("before");
    std::fflush(stdout);
    std::fputs("message\n", stderr);
    std::puts("after");
    return 0;
  }
  if (habit == "leave") {
    const std::string what = argv[2];
    if (what == "a descriptor") check(dup(1), "dup");
    if (what == "a mapping") map(memfd_create("left", 0));
    if (what == "a file") fclose(fopen((std::string(getenv("TMPDIR")) + "/left").c_str(), "w"));
    if (what == "a name") close(shm_open(("/left." + std::to_string(getpid())).c_str(), O_CREAT | O_RDWR, 0600));
    if (what == "nothing") {
      const std::string name = "/left." + std::to_string(getpid());
      close(dup(1));
      map(shm_open(name.c_str(), O_CREAT | O_RDWR, 0600), true);
      shm_unlink(name.c_str());
    }
    return 0;
  }
  if (habit == "threads") {
    std::vector<std::jthread> threads;
    for (int i = 0; i < std::stoi(argv[2]); ++i) {
      threads.emplace_back([] {
        while (std::clock() < CLOCKS_PER_SEC / 5) continue;  // processor time of the program
      });
    }
    if (threads.empty()) usleep(200'000);
    return 0;
  }
  if (habit == "bind") {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = inet_addr(argv[2]);
    const int file = socket(AF_INET, SOCK_STREAM, 0);
    if (argv[2] != std::string("nowhere")) {
      check(bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
    }
    check(listen(file, 1), "listen");
    close(file);
    return 0;
  }
  if (habit == "orphan" && fork() != 0) {
    std::puts("the parent has gone");
    return 0;
  }
  if (habit == "family" && fork() == 0) setpgid(0, 0);  // a child in a group of its own outlives a kill of ours
  if (habit == "much") {
    for (int i = 0; i < 100'000; ++i) std::printf("line %d\n", i);
    return 0;
  }
  for (volatile bool spin = habit == "spin"; spin;) continue;
  std::puts("waiting");
  std::fflush(stdout);
  for (;;) pause();
}
