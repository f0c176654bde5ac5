// Pitfall: nobody asks whether dlopen has found the library
//
// dlopen returns a null pointer if there is no such library. For dlsym a null pointer means something else: look in
// the program and the libraries that it is linked with. The C library, one of them, has a function `puts`, so dlsym
// finds one, and the program reports a library that does not exist.
//
// Compile: g++ -std=c++20 -O2 chapters/01_getting_started/system_report/system_report_unchecked.cpp -ldl -o system_report_unchecked
// Run:     system_report_unchecked
// Symptom: exit 1, prints "libno_such_library.so.1: found"

#include <dlfcn.h>

#include <cstdio>

int main() {
  void* const handle = dlopen("libno_such_library.so.1", RTLD_LAZY);
  // missing: if (handle == nullptr) ...
  const bool found = dlsym(handle, "puts") != nullptr;
  std::printf("libno_such_library.so.1: %s\n", found ? "found" : "not found");
  return found ? 1 : 0;
}
