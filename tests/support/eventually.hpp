/// Waits in a test for what another process brings about.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace test_support {

/// Waits until `holds()`, for 20 seconds at most; says whether it did. (It is not asked again: to ask may change what
/// it asks about.)
inline bool eventually(const std::function<bool()>& holds) {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

}  // namespace test_support
