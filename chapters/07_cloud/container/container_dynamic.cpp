// Pitfall: a program in an empty image needs files that are not there
//
// An image FROM scratch has no file but those that one copies into it. This program is linked dynamically, as usual,
// and copies itself into an empty folder. Then a child process makes that folder its root directory, as a container
// does, and starts the copy. The message says that there is no such file. What is missing is not the program, but the
// loader that the system starts for it (on x86-64 /lib64/ld-linux-x86-64.so.2), and its libraries.
//
// Compile: g++ -std=c++20 -O2 chapters/07_cloud/container/container_dynamic.cpp -o container_dynamic
// Run:     container_dynamic
// Symptom: exit 1, prints "/program: No such file or directory"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

int main(int argc, char**) {
  if (argc > 1) {  // the copy, if it can be started
    std::puts("the program runs in the image");
    return 0;
  }
  std::string root = std::filesystem::temp_directory_path() / "empty_image.XXXXXX";
  if (mkdtemp(root.data()) == nullptr) return 3;
  std::filesystem::copy_file("/proc/self/exe", root + "/program");
  std::printf("the image has a file /program of %ju bytes\n", std::filesystem::file_size(root + "/program"));
  std::fflush(stdout);

  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() != 0 && unshare(CLONE_NEWUSER) != 0) _exit(77);
    if (chroot(root.c_str()) != 0 || chdir("/") != 0) _exit(77);
    execl("/program", "/program", "run", nullptr);
    std::perror("/program");
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::filesystem::remove_all(root);
  if (WEXITSTATUS(status) == 77) std::puts("skipped: this system allows no other root directory");
  return WEXITSTATUS(status);
}
