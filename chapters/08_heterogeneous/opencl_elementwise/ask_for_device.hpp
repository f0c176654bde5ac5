/// The option --ask: a question at the terminal.
#pragma once

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "cookbook/opencl.hpp"

/// Shows the devices and reads the number of one, or takes it from the environment; an empty answer means 0. Ends the
/// program with exit code 2 if there is no device of this number.
inline std::size_t ask_for_device() {
  const std::vector<cl::Device> devices = opencl::devices();
  std::string answer;
  if (const char* preset = std::getenv("OPENCL_DEVICE")) {
    answer = preset;
  } else {
    for (std::size_t i = 0; i < devices.size(); ++i) cookbook::println("[{}] {}", i, opencl::name_of(devices[i]));
    cookbook::println("Choice [0]:");
    std::getline(std::cin, answer);
  }
  if (answer.empty()) return 0;
  std::size_t number = 0;
  const char* const end = answer.data() + answer.size();
  const auto [read_to, error] = std::from_chars(answer.data(), end, number);
  if (error == std::errc() && read_to == end && number < devices.size()) return number;
  cookbook::print_error(fmt::format("no device '{}': there are {}, numbered from 0", answer, devices.size()));
  std::exit(2);
}
