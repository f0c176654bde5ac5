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
  std::map<std::string, int> missing;  ///< package, and how many recipes wait for it
};

/// From the manifest that configure has written: name, chapter, title, summary, launcher, needs, missing packages.
inline std::map<std::string, Chapter> read_manifest(const std::filesystem::path& file) {
  std::map<std::string, Chapter> chapters;
  std::ifstream manifest(file);
  std::string line;
  std::getline(manifest, line);  // the names of the columns
  while (std::getline(manifest, line)) {
    std::vector<std::string> columns;
    std::istringstream in(line);
    for (std::string column; std::getline(in, column, '\t');) columns.push_back(column);
    if (columns.size() < 5) continue;
    Chapter& chapter = chapters[columns[1]];
    ++chapter.recipes;
    if (columns.size() < 7) {
      ++chapter.built;  // the column of missing packages is empty
    } else {
      ++chapter.missing[columns[6]];
    }
  }
  return chapters;
}
