/// Waits in a test for what another process brings about.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace test_support {

/// Waits until `holds()`, for 20 seconds at most; says whether it does.
inline bool eventually(const std::function<bool()>& holds) {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (!holds() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(20ms);
  return holds();
}

}  // namespace test_support
