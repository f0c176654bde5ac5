/// Checked calls of MPI. (A chapter's helpers are for its own recipes, so that of chapter 3 is not used here.)
#pragma once

#define OMPI_SKIP_MPICXX  // Open MPI's header has the C++ bindings still, which MPI 3 has removed
#include <mpi.h>

#include <cstdlib>

#include "cookbook/print.hpp"

/// Stands around every call of MPI. If the call fails, it names the call and the error and ends all ranks with exit
/// code 3. (By default MPI ends the program itself, with a page of text. MPI_Comm_set_errhandler, as in
/// cuda_mpi_ranks.cu, lets the calls return their errors.)
#define CHECK_MPI(call)                                          \
  do {                                                           \
    if (const int error = (call); error != MPI_SUCCESS) {        \
      char text[MPI_MAX_ERROR_STRING];                           \
      int length = 0;                                            \
      MPI_Error_string(error, text, &length);                    \
      cookbook::print_error(fmt::format("{}: {}", #call, text)); \
      MPI_Abort(MPI_COMM_WORLD, 3);                              \
    }                                                            \
  } while (false)
