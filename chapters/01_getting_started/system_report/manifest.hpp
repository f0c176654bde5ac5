/// What the last configure could build.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

struct Chapter {
  int recipes = 0, built = 0;
  std::map<std::string, std::vector<std::string>> missing;  ///< packages that the others need, and who needs them
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
    if (columns[6].empty()) {
      ++chapter.built;
    } else {
      chapter.missing[columns[6]].push_back(columns[0]);
    }
  }
  return chapters;
}
