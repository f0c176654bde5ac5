/// What programs with MPI share: begin and end, checked calls, the ranks' texts in order, one exit code. All in this
/// header, so that the library cookbook itself needs no MPI.
#pragma once

#define OMPI_SKIP_MPICXX  // Open MPI's header has the C++ bindings still, which MPI 3 has removed
#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/print.hpp"

/// Stands around every call of MPI. If the call fails, it names rank, call, error, file and line on standard error and
/// ends all ranks with exit code 3.
#define MPI_CHECK(call) ::mpi::check((call), #call, __FILE__, __LINE__)

namespace mpi {

/// MPI's text for what a call has returned, such as "MPI_ERR_RANK: invalid rank".
inline std::string error_text(int error) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(error, text, &length);
  return text;
}

inline void check(int error, std::string_view call, std::string_view file, int line) {
  if (error == MPI_SUCCESS) return;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cookbook::print_error(fmt::format("rank {}: {}: {} ({}:{})", rank, call.substr(0, call.find('(')), error_text(error),
                                    file.substr(file.rfind('/') + 1), line));
  MPI_Abort(MPI_COMM_WORLD, 3);
  std::_Exit(3);  // not reached; MPI_Abort is not declared as one that does not return
}

/// MPI from its beginning to its end, and the ranks of MPI_COMM_WORLD. Made after Options::parse(), so that wrong
/// options end the program before it.
class Environment {
 public:
  /// Ends the program with exit code 2 and a line if there are fewer ranks than `needed`. `threads` says which threads
  /// are to call MPI: one alone, or with MPI_THREAD_MULTIPLE several at a time; exit code 3 and a line if the library
  /// does not allow it.
  explicit Environment(int needed = 1, int threads = MPI_THREAD_SINGLE) {
    int granted = threads;
    MPI_CHECK(MPI_Init_thread(nullptr, nullptr, threads, &granted));
    // By default MPI ends the program itself at an error, with a page of text. Here its calls return the error. Since
    // MPI 4, errors of calls that have no communicator go to the handler of MPI_COMM_SELF, which is this process alone.
    MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size_));
    if (granted < threads) {
      if (rank_ == 0) cookbook::print_error("this MPI library does not let several threads call it at a time");
      MPI_Finalize();
      std::exit(3);
    }
    if (size_ >= needed) return;
    if (rank_ == 0) {
      cookbook::print_error(fmt::format("{} ranks are needed, here are {}; start it with mpirun -n {} {}", needed,
                                        size_, needed, cookbook::program_name()));
    }
    MPI_Finalize();
    std::exit(2);
  }
  ~Environment() {
    MPI_Barrier(MPI_COMM_WORLD);  // if a rank aborts while others are in MPI_Finalize, Open MPI 4.1 may hang or crash
    MPI_Finalize();
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  int rank() const { return rank_; }  ///< the number of this process, from 0 on
  int size() const { return size_; }  ///< how many processes there are

  /// The texts of all ranks, in the order of the ranks, on rank 0; nothing on the others. Called by all.
  std::vector<std::string> gather(const std::string& text) const {
    const auto count = static_cast<std::size_t>(size_);
    const int length = static_cast<int>(text.size());
    std::vector<int> lengths(count), starts(count);  // stay 0 but on rank 0
    MPI_CHECK(MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD));
    std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), 0);
    std::string all(static_cast<std::size_t>(starts.back() + lengths.back()), '\0');
    MPI_CHECK(MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, 0,
                          MPI_COMM_WORLD));
    std::vector<std::string> texts;
    for (std::size_t i = 0; rank_ == 0 && i < count; ++i) {
      texts.push_back(all.substr(static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(lengths[i])));
    }
    return texts;
  }

  /// Rank 0 prints the texts of all ranks, in the order of the ranks. Called by all; an empty text prints nothing.
  void print_in_order(const std::string& text) const {
    for (const std::string& line : gather(text)) {
      if (!line.empty()) cookbook::print_line(line);
    }
  }

  /// Waits until all ranks have called it. MPI_Barrier keeps a core busy meanwhile; this one sleeps and looks every
  /// millisecond, so that ranks with nothing to do take no time from those that are measured.
  void sleeping_barrier() const {
    MPI_Request barrier;
    MPI_CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
    for (;;) {
      int all_here = 0;
      MPI_CHECK(MPI_Test(&barrier, &all_here, MPI_STATUS_IGNORE));
      if (all_here) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  /// What main returns when the ranks cannot do what is asked for: rank 0 says why, and all end with exit code 2.
  /// Called by all.
  int usage_error(std::string_view why) const {
    if (rank_ == 0) cookbook::print_error(why);
    return 2;
  }

  /// What main returns: rank 0, which makes the checks, tells all others its exit code. Called by all.
  int exit_code(const cookbook::Checks& checks) const {
    int code = checks.exit_code();
    MPI_CHECK(MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return code;
  }

 private:
  int rank_ = 0;
  int size_ = 1;
};

/// The smallest and the largest of what the ranks have given, on every rank. Called by all.
inline std::pair<int, int> minmax_over_ranks(int value) {
  const int both[] = {value, -value};
  int smallest[2];
  MPI_CHECK(MPI_Allreduce(both, smallest, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  return {smallest[0], -smallest[1]};
}

/// The sum over all ranks, on every rank. Called by all.
inline long sum_over_ranks(long value) {
  long total = 0;
  MPI_CHECK(MPI_Allreduce(&value, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  return total;
}

/// Whether `holds` is true on every rank. Called by all.
inline bool all_ranks(bool holds) { return minmax_over_ranks(holds).first == 1; }

}  // namespace mpi
