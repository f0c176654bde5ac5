#include "cookbook/options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <exception>

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

struct Options::Parser {
  CLI::App app;
  bool json = false;

  CLI::Option* take_text(std::string_view name, std::string_view meaning, const char* kind, std::string initial,
                         const std::function<void(const std::string&)>& set) {
    auto* option = app.add_option_function<std::string>(fmt::format("--{}", name), set, std::string(meaning))
                       ->type_name(kind)
                       ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    return initial.empty() ? option : option->default_str(std::move(initial));
  }

  /// The option that the user most likely meant is among these, so all of them are named.
  std::string names() const {
    std::string list;
    for (const CLI::Option* option : app.get_options()) {
      if (!list.empty()) list += ", ";
      list += option->get_name();
    }
    return list;
  }
};

Options::Options(std::string_view summary) : parser_(std::make_unique<Parser>()) {
  parser_->app.description(std::string(summary));
  parser_->app.get_formatter()->column_width(28);
  parser_->app.set_help_flag("--help", "print this help and end");
  parser_->app.add_flag("--json", parser_->json, "print checks and figures as JSON records, a line each");
}

Options::~Options() = default;

void Options::add_integer(std::string_view name, long long initial, std::string_view meaning, long long lowest,
                          long long highest, std::function<void(long long)> set) {
  parser_->take_text(name, fmt::format("{} ({} to {})", meaning, lowest, highest), "N", std::to_string(initial),
                     [name = std::string(name), lowest, highest, set = std::move(set)](const std::string& text) {
                       set(read_number(name, text, lowest, highest, "whole number"));
                     });
}

void Options::add(std::string_view name, double& value, std::string_view meaning, double lowest, double highest) {
  parser_->take_text(name, fmt::format("{} ({} to {})", meaning, lowest, highest), "X", fmt::format("{}", value),
                     [name = std::string(name), lowest, highest, &value](const std::string& text) {
                       value = read_number(name, text, lowest, highest, "number");
                     });
}

void Options::add(std::string_view name, std::string& value, std::string_view meaning) {
  parser_->take_text(name, meaning, "TEXT", value, [&value](const std::string& text) { value = text; });
}

void Options::add_choice(std::string_view name, std::string& value, std::string_view meaning,
                         std::vector<std::string> allowed) {
  const std::string list = fmt::format("{}", fmt::join(allowed, ", "));
  parser_->take_text(name, fmt::format("{} ({})", meaning, list), "WORD", value,
                     [name = std::string(name), allowed = std::move(allowed), list, &value](const std::string& text) {
                       if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
                         usage_error(fmt::format("--{} {}: unknown; allowed: {}", name, text, list));
                       }
                       value = text;
                     });
}

void Options::add_flag(std::string_view name, bool& value, std::string_view meaning) {
  parser_->app.add_flag(fmt::format("--{}", name), value, std::string(meaning));
}

void Options::parse(int argc, char** argv) {
  parser_->app.name(std::string(program_name()));
  try {
    parser_->app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    if (is_root_rank()) print_line(parser_->app.help());
    std::exit(0);
  } catch (const CLI::ExtrasError&) {
    const auto extras = parser_->app.remaining();
    usage_error(fmt::format("unknown option {}; allowed: {}", fmt::join(extras, " "), parser_->names()));
  } catch (const CLI::ParseError& error) {
    std::string message = error.what();
    for (char& c : message) {
      if (c == '\n') c = ' ';
    }
    usage_error(fmt::format("{}; allowed: {}", message, parser_->names()));
  }
  want_json(parser_->json);
  std::set_terminate(report_uncaught);
}

}  // namespace cookbook
