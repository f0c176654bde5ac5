/// A folder for files that nobody needs afterwards.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "cookbook/posix.hpp"
#include "cookbook/process.hpp"

/// An empty folder, removed with all that is in it when this object or its process ends. Even a process that is killed
/// leaves none: a child waits for the end of its parent, and removes the folder. To be made before MPI_Init, which does
/// not like processes that fork later.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string path = std::filesystem::temp_directory_path() / fmt::format("{}.XXXXXX", cookbook::program_name());
    int here[2],
        back[2];  // the end of the first tells the child that the parent has ended; by the second comes the path
    check(pipe(here), "pipe");
    check(pipe(back), "pipe");
    const auto keep_folder = [&] {
      setsid();  // so that what ends the group of the parent does not end this process; only then is there a folder
      if (mkdtemp(path.data()) == nullptr) return errno;
      if (write(back[1], path.data(), path.size()) < 0) return errno;
      dup2(here[0], STDIN_FILENO);  // the only file that it keeps
      close_range(1, ~0U, 0);       // also the writing end: the parent has the last one
      char byte;
      while (read(STDIN_FILENO, &byte, 1) > 0) continue;  // returns 0 when the parent has ended
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
      return 0;
    };
    child_ = cookbook::start_child(keep_folder, 0);  // no signal: it is to see the end of the parent, and then clean up
    close(here[0]);
    close(back[1]);
    writing_end_ = here[1];
    path_.resize(path.size());
    const ssize_t received = read(back[0], path_.data(), path_.size());
    close(back[0]);
    if (received != static_cast<ssize_t>(path.size())) {  // the child has ended, and its exit code says why
      errno = cookbook::exit_code_of(child_);
      cookbook::exit_with_errno("mkdtemp");
    }
  }
  ~TemporaryDirectory() {
    close(writing_end_);
    cookbook::exit_code_of(child_);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  pid_t child_ = 0;
  int writing_end_ = -1;
};
