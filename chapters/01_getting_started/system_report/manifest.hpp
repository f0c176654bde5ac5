/// What the last configure could build, and what the recipes need.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

struct Manifest {
  int recipes = 0, built = 0;
  std::map<std::string, std::vector<std::string>> missing;  ///< packages, and the recipes that wait for them
  std::map<std::string, std::set<std::string>> needs;       ///< dependencies, and who has them: "02_threads/lock"
};

/// Reads the list that configure writes, a recipe per line: name, chapter, title, summary, launcher, needs, missing
/// packages, with tabs between them.
inline Manifest read_manifest(const std::filesystem::path& file) {
  Manifest manifest;
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);  // the names of the columns
  while (std::getline(in, line)) {
    std::vector<std::string> columns;
    std::istringstream words(line);
    for (std::string column; std::getline(words, column, '\t');) columns.push_back(column);
    columns.resize(7);  // empty columns at the end are not there
    ++manifest.recipes;
    std::istringstream needs(columns[5]);
    for (std::string need; needs >> need;) manifest.needs[need].insert(columns[1] + "/" + columns[0]);
    if (columns[6].empty()) {
      ++manifest.built;
    } else {
      manifest.missing[columns[6]].push_back(columns[0]);
    }
  }
  return manifest;
}

/// The recipes that need one of these dependencies: "02_threads/lock". A set, because one may need several of them.
inline std::set<std::string> recipes_that_need(const Manifest& manifest, std::initializer_list<const char*> needs) {
  std::set<std::string> recipes;
  for (const char* need : needs) {
    if (const auto found = manifest.needs.find(need); found != manifest.needs.end())
      recipes.merge(std::set(found->second));
  }
  return recipes;
}

/// How many recipes need one of these dependencies, and in which chapters: "18 recipes   03 05 06 09".
inline std::string needed_by(const Manifest& manifest, std::initializer_list<const char*> needs) {
  const std::set<std::string> recipes = recipes_that_need(manifest, needs);
  std::set<std::string> chapters;
  for (const std::string& recipe : recipes) chapters.insert(recipe.substr(0, 2));
  return fmt::format("{:<12} {}", fmt::format("{} recipe{}", recipes.size(), recipes.size() == 1 ? "" : "s"),
                     fmt::join(chapters, " "));
}
