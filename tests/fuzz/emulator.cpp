// The platform of the recipe serverless_function. The program of the function sends the input instead of its requests
// (emulator_program.cpp).

#include "07_cloud/serverless_function/emulator.hpp"

#include "fuzz.hpp"

void one_input(std::string_view input) {
  static LambdaEmulator emulator(cookbook::beside_this_program("fuzz_emulator_program"), "f.f",
                                 std::chrono::seconds(2));
  const CallResult result = emulator.invoke(std::string(input));
  require(result.body.find("Sandbox.Timedout") == std::string::npos, "a program that sends no request is noticed");
}
