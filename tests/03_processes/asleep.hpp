/// Waiting for a state of another process, instead of for so many milliseconds.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <string>
#include <thread>

namespace test_support {

/// Waits until the process, a child, sleeps as one does that waits for a lock, or has ended.
inline void wait_until_asleep(pid_t process) {
  for (std::string state; state != "S" && state != "Z"; std::this_thread::yield()) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    stat >> state >> state >> state;
  }
}

}  // namespace test_support
