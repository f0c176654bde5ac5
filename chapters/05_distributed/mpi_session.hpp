/// What the MPI programs of this chapter share: begin and end of MPI, checked calls, one exit code for all ranks.
#pragma once

#define OMPI_SKIP_MPICXX  // Open MPI's header has the C++ bindings still, which MPI 3 has removed
#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "cookbook/checks.hpp"
#include "cookbook/print.hpp"

/// Stands around every call of MPI. If the call fails, it names rank, call and error on standard error and ends all
/// ranks with exit code 3.
#define CHECK_MPI(call) ::mpi::check((call), #call)

namespace mpi {

inline void check(int error, std::string_view call) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int rank = 0, length = 0;
  MPI_Error_string(error, text, &length);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cookbook::print_error(fmt::format("rank {}: {}: {}", rank, call.substr(0, call.find('(')), text));
  MPI_Abort(MPI_COMM_WORLD, 3);
  std::_Exit(3);  // not reached; MPI_Abort is not declared as one that does not return
}

/// MPI from its beginning to its end. Made after Options::parse(), so that wrong options end the program before it.
class Session {
 public:
  Session() {
    CHECK_MPI(MPI_Init(nullptr, nullptr));
    // By default MPI ends the program itself at an error, with a page of text. Here its calls return the error.
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
    CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks_));
  }
  ~Session() {
    MPI_Barrier(MPI_COMM_WORLD);  // if a rank aborts while others are in MPI_Finalize, Open MPI 4.1 may hang or crash
    MPI_Finalize();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const { return rank_; }    ///< the number of this process, from 0 on
  int ranks() const { return ranks_; }  ///< how many processes there are

  /// Waits until all ranks have called it. MPI_Barrier keeps a core busy meanwhile; this one sleeps and looks every
  /// millisecond, so that ranks with nothing to do take no time from those that work.
  void sleeping_barrier() const {
    MPI_Request barrier;
    CHECK_MPI(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
    for (int all_here = 0;;) {
      CHECK_MPI(MPI_Test(&barrier, &all_here, MPI_STATUS_IGNORE));
      if (all_here) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  /// What main returns: rank 0, which makes the checks, tells all others its exit code. Called by all.
  int exit_code(const cookbook::Checks& checks) const {
    int code = checks.exit_code();
    CHECK_MPI(MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return code;
  }

 private:
  int rank_ = 0;
  int ranks_ = 1;
};

}  // namespace mpi
