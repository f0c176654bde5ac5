/// A window: memory of this rank that the others may read and write.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "mpi_session.hpp"

namespace one_sided {

/// Where the memory of a window comes from.
enum class Memory {
  allocated,  ///< MPI finds memory that the others can reach well
  shared,     ///< the same, and the others may also load and store in it; all ranks are on one machine
  created,    ///< ordinary memory, which the program has already
};

inline const char* name_of(Memory memory) {
  if (memory == Memory::created) return "MPI_Win_create";
  return memory == Memory::shared ? "MPI_Win_allocate_shared" : "MPI_Win_allocate";
}

/// Why MPI makes no window of memory that the program has already, or an empty text if it does. Open MPI 4.1 does so
/// only where a rank may have the kernel copy from another's memory, and needs two ranks at least. Called by all.
inline std::string why_not_created() {
  int number = 0;
  MPI_Win window = MPI_WIN_NULL;
  const int error = MPI_Win_create(&number, sizeof number, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  if (error != MPI_SUCCESS) return fmt::format("MPI_Win_create: {}", mpi::error_text(error));
  CHECK_MPI(MPI_Win_free(&window));
  return "";
}

/// `length` numbers on this rank, which may be another number on each; all 0. Made and ended by all ranks together.
template <typename Number>
class Window {
 public:
  explicit Window(std::size_t length, Memory memory = Memory::allocated) {
    const auto bytes = static_cast<MPI_Aint>(length * sizeof(Number));
    constexpr int unit = sizeof(Number);  // so that places in the window are counted in numbers
    Number* begin = nullptr;
    if (memory == Memory::created) {
      own_.resize(length);
      begin = own_.data();
      CHECK_MPI(MPI_Win_create(begin, bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &handle_));
    } else if (memory == Memory::shared) {
      CHECK_MPI(MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &begin, &handle_));
    } else {
      CHECK_MPI(MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &begin, &handle_));
    }
    // A window does not take over how its communicator handles errors: without this line they end the program.
    CHECK_MPI(MPI_Win_set_errhandler(handle_, MPI_ERRORS_RETURN));
    mine_ = {begin, length};
    CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
    at_home([](std::span<Number> mine) { std::fill(mine.begin(), mine.end(), Number{}); });
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));  // nobody writes before all have set theirs to 0
  }
  ~Window() { CHECK_MPI(MPI_Win_free(&handle_)); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  MPI_Win handle() const { return handle_; }        ///< what the calls of MPI take
  std::span<Number> mine() const { return mine_; }  ///< this rank's part

  /// Reads or writes this rank's part by work(part) while no other does. One's own memory too needs an epoch.
  template <typename Work>
  void at_home(Work&& work) const {
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, handle_));
    work(mine_);
    CHECK_MPI(MPI_Win_unlock(rank_, handle_));
  }

  /// The part of `other`, as this rank can load from and store to it. Only of shared memory.
  Number* memory_of(int other) const {
    MPI_Aint bytes = 0;
    int unit = 0;
    Number* begin = nullptr;
    CHECK_MPI(MPI_Win_shared_query(handle_, other, &bytes, &unit, &begin));
    return begin;
  }

 private:
  int rank_ = 0;
  MPI_Win handle_ = MPI_WIN_NULL;
  std::vector<Number> own_;
  std::span<Number> mine_;
};

}  // namespace one_sided
