/// Included before all else: with the headers of Cap'n Proto 0.9, Clang misses these two in C++20.
#pragma once

#include <kj/string.h>

namespace kj {

inline bool operator==(const char* a, const StringPtr& b) { return b == StringPtr(a); }
inline bool operator!=(const char* a, const StringPtr& b) { return b != StringPtr(a); }

}  // namespace kj
