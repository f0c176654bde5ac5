/// A folder for files that nobody needs afterwards.
#pragma once

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "cookbook/system_check.hpp"

/// An empty folder, removed with all that is in it when this object or its process ends. Even a process that is killed
/// leaves none: a child waits for the end of its parent, and removes the folder. To be made before MPI_Init, which does
/// not like processes that fork later.
class ScratchFolder {
 public:
  ScratchFolder() {
    path_ = std::filesystem::temp_directory_path() / fmt::format("{}.XXXXXX", cookbook::program_name());
    if (mkdtemp(path_.data()) == nullptr) cookbook::system_refused("mkdtemp");
    int ends[2];
    check(pipe(ends), "pipe");
    child_ = check(fork(), "fork");
    if (child_ == 0) {
      setsid();                     // so that Ctrl-C is not for this process
      dup2(ends[0], STDIN_FILENO);  // the only file that it keeps
      close_range(1, ~0U, 0);       // also the writing end: the parent has the last one
      char byte;
      while (read(STDIN_FILENO, &byte, 1) > 0) continue;  // returns 0 when the parent has ended
      std::error_code ignored;
      std::filesystem::remove_all(path_, ignored);
      _exit(0);
    }
    close(ends[0]);
    writing_end_ = ends[1];
  }
  ~ScratchFolder() {
    close(writing_end_);
    waitpid(child_, nullptr, 0);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  pid_t child_ = 0;
  int writing_end_ = -1;
};
