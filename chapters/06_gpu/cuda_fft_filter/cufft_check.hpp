/// Checked calls of cuFFT.
#pragma once

#include <cufft.h>

#include <string_view>

#include "cuda_check.hpp"

/// Stands around every call of cuFFT, as CUDA_CHECK around those of the CUDA runtime. cuFFT has no texts for its
/// errors; the numbers stand in cufft.h.
#define CUFFT_CHECK(call) ::check_cufft((call), #call, __FILE__, __LINE__)

inline void check_cufft(cufftResult result, std::string_view call, std::string_view file, int line) {
  if (result != CUFFT_SUCCESS) gpu::refused(call, fmt::format("error {}", static_cast<int>(result)), file, line);
}
