/// What the last configure could build, and what the recipes need.
#pragma once

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

struct Chapter {
  int recipes = 0, built = 0;
  std::map<std::string, std::vector<std::string>> missing;  ///< packages that the others need, and who needs them
  std::map<std::string, std::set<std::string>> needs;       ///< dependencies, and the recipes that have them
};

/// Reads the list that configure writes, a recipe per line: name, chapter, title, summary, launcher, needs, missing
/// packages, with tabs between them. Returns the chapters by their folders.
inline std::map<std::string, Chapter> read_manifest(const std::filesystem::path& file) {
  std::map<std::string, Chapter> chapters;
  std::ifstream manifest(file);
  std::string line;
  std::getline(manifest, line);  // the names of the columns
  while (std::getline(manifest, line)) {
    std::vector<std::string> columns;
    std::istringstream in(line);
    for (std::string column; std::getline(in, column, '\t');) columns.push_back(column);
    columns.resize(7);  // empty columns at the end are not there
    Chapter& chapter = chapters[columns[1]];
    ++chapter.recipes;
    std::istringstream needs(columns[5]);
    for (std::string need; needs >> need;) chapter.needs[need].insert(columns[0]);
    if (columns[6].empty()) {
      ++chapter.built;
    } else {
      chapter.missing[columns[6]].push_back(columns[0]);
    }
  }
  return chapters;
}

/// How many recipes need one of these dependencies, and in which chapters: "18 in 03, 05, 06, 09".
inline std::string needed_by(const std::map<std::string, Chapter>& chapters, std::initializer_list<const char*> needs) {
  std::set<std::string> recipes;  // a recipe may need several of them
  std::string numbers;
  for (const auto& [folder, chapter] : chapters) {
    const std::size_t before = recipes.size();
    for (const char* need : needs) {
      if (const auto found = chapter.needs.find(need); found != chapter.needs.end()) {
        recipes.insert(found->second.begin(), found->second.end());
      }
    }
    if (recipes.size() > before) numbers += (numbers.empty() ? " in " : ", ") + folder.substr(0, 2);
  }
  return std::to_string(recipes.size()) + numbers;
}
