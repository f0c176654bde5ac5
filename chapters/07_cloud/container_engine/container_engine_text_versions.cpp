// Pitfall: versions are compared as texts
//
// A client speaks the versions 1.9 to 1.40 of an interface, an engine 1.2 to 1.12. Both are to use the newest version
// that both speak, which is 1.12: number by number, 12 is less than 40. As texts, 1.12 is less than 1.2, so the client
// takes the engine for one whose range is empty and gives up.
//
// Compile: g++ -std=c++20 -O2 chapters/07_cloud/container_engine/container_engine_text_versions.cpp -lboost_json -lfmt -pthread -o container_engine_text_versions
// Run:     container_engine_text_versions
// Symptom: exit 1, prints "compared as texts:   no version in common"

#include <algorithm>
#include <cstdio>
#include <string>

#include "engine.hpp"

namespace {

/// The newest version in both ranges, or a text that says that there is none.
template <typename Version, typename Text>
std::string common(Version oldest, Version newest, Version lowest, Version highest, Text text) {
  const Version chosen = std::min(newest, highest);
  return chosen < oldest || chosen < lowest ? "no version in common" : text(chosen);
}

}  // namespace

int main() {
  const auto as_texts =
      common<std::string>("1.9", "1.40", "1.2", "1.12", [](std::string text) { return text; });  // wrong
  const auto as_numbers = common<ApiVersion>({1, 9}, {1, 40}, {1, 2}, {1, 12}, [](ApiVersion v) { return v.text(); });
  std::printf("compared as texts:   %s\n", as_texts.c_str());
  std::printf("compared as numbers: %s\n", as_numbers.c_str());
  return as_texts == as_numbers ? 0 : 1;
}
