#include "cookbook/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <utility>

#include "cookbook/print.hpp"

namespace cookbook {
namespace {

/// Under mpirun every rank reads the same command line; the first one speaks for all of them.
bool is_root_rank() {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return rank == nullptr || std::string_view(rank) == "0";
}

/// mpirun ends all ranks as soon as one has failed. So only the first one fails, when it has said why.
[[noreturn]] void usage_error(std::string_view message) {
  if (!is_root_rank()) std::exit(0);
  print_error(message);
  std::exit(2);
}

/// The whole of `text` as a number. Refuses what is none, and what is outside [lowest, highest] or too large to read.
template <typename Number>
Number read_number(std::string_view name, std::string_view text, Number lowest, Number highest, const char* kind) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = end == text.data() + text.size() && !text.empty();
  const bool too_large = error == std::errc::result_out_of_range;
  if (!whole || (error != std::errc{} && !too_large)) {
    usage_error(fmt::format("--{} {}: not a {}; allowed: {} to {}", name, text, kind, lowest, highest));
  }
  // A NaN fails both comparisons, so it is refused too.
  if (too_large || !(number >= lowest && number <= highest)) {
    usage_error(fmt::format("--{} {}: out of range; allowed: {} to {}", name, text, lowest, highest));
  }
  return number;
}

/// Installed as the terminate handler: says what was thrown, and ends at once, whatever other threads do.
[[noreturn]] void report_uncaught() {
  const std::exception_ptr thrown = std::current_exception();
  if (!thrown) {
    print_error("std::terminate was called, and no exception is the reason");
    std::abort();
  }
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    print_error(error.what());
  } catch (...) {
    print_error("an exception of unknown type was thrown");
  }
  std::_Exit(3);
}

}  // namespace

Options::Options(std::string_view summary) : summary_(summary) {
  options_.push_back({"--help", "", "print this help and end", [](const std::string&) {}});
  options_.push_back({"--json", "", "print checks and figures as JSON records, a line each",
                      [](const std::string&) { want_json(true); }});
}

void Options::add_integer(std::string_view name, long long initial, std::string_view meaning, long long lowest,
                          long long highest, std::function<void(long long)> set) {
  add_option(name, fmt::format("N={}", initial), fmt::format("{} ({} to {})", meaning, lowest, highest),
             [name = std::string(name), lowest, highest, set = std::move(set)](const std::string& text) {
               set(read_number(name, text, lowest, highest, "whole number"));
             });
}

void Options::add(std::string_view name, double& value, std::string_view meaning, double lowest, double highest) {
  add_option(name, fmt::format("X={}", value), fmt::format("{} ({} to {})", meaning, lowest, highest),
             [name = std::string(name), lowest, highest, &value](const std::string& text) {
               value = read_number(name, text, lowest, highest, "number");
             });
}

void Options::add(std::string_view name, std::string& value, std::string_view meaning) {
  add_option(name, value.empty() ? "TEXT" : "TEXT=" + value, std::string(meaning),
             [&value](const std::string& text) { value = text; });
}

void Options::add_choice(std::string_view name, std::string& value, std::string_view meaning,
                         std::vector<std::string> allowed) {
  const std::string list = fmt::format("{}", fmt::join(allowed, ", "));
  add_option(name, "WORD=" + value, fmt::format("{} ({})", meaning, list),
             [name = std::string(name), allowed = std::move(allowed), list, &value](const std::string& text) {
               if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
                 usage_error(fmt::format("--{} {}: unknown; allowed: {}", name, text, list));
               }
               value = text;
             });
}

void Options::add_flag(std::string_view name, bool& value, std::string_view meaning) {
  add_option(name, "", std::string(meaning), [&value](const std::string&) { value = true; });
}

void Options::add_option(std::string_view name, std::string value, std::string meaning,
                         std::function<void(const std::string&)> set) {
  options_.push_back({fmt::format("--{}", name), std::move(value), std::move(meaning), std::move(set)});
}

void Options::parse(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (auto word = words.begin(); word != words.end(); ++word) {
    const std::size_t equals = word->find('=');
    const std::string name = word->substr(0, equals);
    const auto option =
        std::find_if(options_.begin(), options_.end(), [&](const Option& one) { return one.name == name; });
    if (option == options_.end() || (option->value.empty() && equals != word->npos)) {
      // The option that the user most likely meant is among these, so all of them are named.
      std::string names;
      for (const Option& one : options_) names += (names.empty() ? "" : ", ") + one.name;
      usage_error(fmt::format("unknown option {}; allowed: {}", *word, names));
    }
    if (name == "--help") print_help();
    if (option->value.empty() || equals != word->npos) {
      option->set(option->value.empty() ? "" : word->substr(equals + 1));
    } else if (std::next(word) == words.end() || std::next(word)->starts_with("--")) {
      usage_error(fmt::format("{} {}: a value is missing; {}", name, option->value, option->meaning));
    } else {
      option->set(*++word);
    }
  }
  std::set_terminate(report_uncaught);
}

void Options::print_help() const {
  if (is_root_rank()) {
    std::string help = fmt::format("{}\nUsage: {} [OPTIONS]\n\nOptions:", summary_, program_name());
    for (const Option& one : options_) help += fmt::format("\n  {:<25} {}", one.name + ' ' + one.value, one.meaning);
    print_line(help);
  }
  std::exit(0);
}

}  // namespace cookbook
