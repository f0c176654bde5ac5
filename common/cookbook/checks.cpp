#include "cookbook/checks.hpp"

#include <cstdlib>

#include "cookbook/print.hpp"

namespace cookbook {

bool fault_injection_enabled() {
  const char* fault = std::getenv("COOKBOOK_FAULT");
  return fault != nullptr && std::string_view(fault) == "1";
}

void Checks::note(std::string_view what, bool holds, std::string_view value, std::string_view expected) {
  ++checked_;
  if (holds) {
    println("ok    {}: {}", what, value);
  } else {
    ++failed_;
    println("FAIL  {}: {}, expected {}", what, value, expected);
  }
  print_record(fmt::format(R"({{"recipe": {}, "check": {}, "value": {}, "expected": {}, "holds": {}}})",
                           json_string(program_name()), json_string(what), json_string(value), json_string(expected),
                           holds));
}

}  // namespace cookbook
