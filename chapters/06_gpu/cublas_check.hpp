/// Checked calls of cuBLAS.
#pragma once

#include <cublas_v2.h>

#include "cuda_check.hpp"

/// Stands around every call of cuBLAS, as CUDA_CHECK around those of the CUDA runtime: if the call is refused, it names
/// the call, the error and the line on standard error and ends the program with exit code 3.
#define CUBLAS_CHECK(call) ::gpu::check((call), #call, __FILE__, __LINE__)

namespace gpu {

inline void check(cublasStatus_t status, std::string_view call, std::string_view file, int line) {
  if (status != CUBLAS_STATUS_SUCCESS) refused(call, cublasGetStatusString(status), file, line);
}

}  // namespace gpu
