/// Shared libraries that are opened while the program runs.
#pragma once

#include <dlfcn.h>
#include <library_types.h>
#include <link.h>

#include <memory>
#include <string>
#include <vector>

struct CloseLibrary {
  void operator()(void* handle) const { dlclose(handle); }
};
using Handle = std::unique_ptr<void, CloseLibrary>;

/// Opens libNAME.so wherever the loader finds it; null if it finds none. That name belongs to the package for
/// developers. A machine that only runs programs has names with the major version at the end, such as libNAME.so.13.
/// `problem` is then what the loader says of the first file that is there, but cannot be opened.
inline Handle open_library(const std::string& name, std::string* problem = nullptr) {
  const std::string file = "lib" + name + ".so";
  std::vector<std::string> files = {file};
  for (int major = 20; major > 0; --major) files.push_back(file + '.' + std::to_string(major));  // the highest first
  for (const std::string& each : files) {
    if (void* handle = dlopen(each.c_str(), RTLD_NOW)) return Handle(handle);
    const std::string error = dlerror();
    const bool is_there = !error.starts_with(each + ": cannot open shared object file");
    if (problem != nullptr && problem->empty() && is_there) *problem = error;
  }
  return nullptr;
}

/// The file that the loader has opened.
inline std::string file_of(const Handle& library) {
  link_map* entry = nullptr;
  return dlinfo(library.get(), RTLD_DI_LINKMAP, &entry) == 0 ? entry->l_name : "";
}

/// A function of the library, or null if it has none of that name. The caller has to know the function's type.
template <typename Function>
Function* function_of(const Handle& library, const std::string& name) {
  return reinterpret_cast<Function*>(dlsym(library.get(), name.c_str()));
}

/// What the library itself says is its version, such as "13.0.2"; "unknown" if it has neither of the two functions that
/// NVIDIA's libraries have for it.
inline std::string version_of(const Handle& library, const std::string& name) {
  int major = 0, minor = 0, patch = 0;
  if (const auto property = function_of<int(libraryPropertyType, int*)>(library, name + "GetProperty")) {
    property(MAJOR_VERSION, &major);
    property(MINOR_VERSION, &minor);
    property(PATCH_LEVEL, &patch);
    return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
  }
  if (const auto version = function_of<int(int*, int*)>(library, name + "Version")) {
    version(&major, &minor);
    return std::to_string(major) + '.' + std::to_string(minor);
  }
  return "unknown";
}
