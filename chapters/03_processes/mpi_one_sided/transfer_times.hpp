/// What one-sided transfers cost: while their target sleeps, and from 8 B to 16 MiB beside a message.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "collective.hpp"
#include "cookbook/figures.hpp"
#include "mpi_session.hpp"
#include "window.hpp"

namespace one_sided {

/// How many microseconds it takes the last rank to add 1 to a counter of rank 0, which sleeps and calls nothing; 0 on
/// the other ranks. Called by all.
inline double microseconds_to_count(const Window<int>& window, const mpi::Session& session) {
  constexpr auto nap = std::chrono::milliseconds(20);
  const int one = 1;
  int before = 0;
  const auto count = [&] {
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.handle()));
    CHECK_MPI(MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, window.handle()));
    CHECK_MPI(MPI_Win_unlock(0, window.handle()));
  };
  const bool asks = session.rank() == session.ranks() - 1;
  if (asks) count();  // the first also connects the two
  session.meet_asleep();
  double microseconds = 0;
  if (session.rank() == 0) std::this_thread::sleep_for(nap);
  if (asks) {
    std::this_thread::sleep_for(nap / 4);  // rank 0 sleeps by now
    const cookbook::Stopwatch watch;
    count();
    microseconds = watch.seconds() * 1e6;
  }
  session.meet_asleep();
  return microseconds;
}

/// Does a transfer wait for a target that does something else? It depends on the memory.
inline void ask_a_sleeper(const mpi::Session& session, cookbook::Checks& checks) {
  if (session.ranks() == 1) return;  // nobody to ask
  const std::string why_not = why_not_created();
  bool counted = true;
  for (const Memory memory : {Memory::allocated, Memory::created}) {
    if (memory == Memory::created && !why_not.empty()) break;
    const Window<int> window(session.rank() == 0 ? 1 : 0, memory);
    const double microseconds = microseconds_to_count(window, session);
    session.print_in_order(microseconds == 0
                               ? ""
                               : fmt::format("{:<16} adding 1 to a sleeping rank's counter took {:.1f} us",
                                             name_of(memory), microseconds));
    if (session.rank() == 0) window.at_home([&](std::span<int> mine) { counted = counted && mine[0] == 2; });
  }
  if (session.rank() != 0) return;
  if (!why_not.empty()) cookbook::println("MPI_Win_create   cannot be had here ({})", why_not);
  checks.that("the sleeper's counters are right", counted);
}

/// Numbers on their way between rank 0 and the window of the last rank; both may be the same. Rank 0, which measures,
/// does it all, but for the receive.
class Transfer {
 public:
  Transfer(Memory memory, std::size_t length, int rank, int ranks)
      : numbers_(collective::random_numbers(length, 1)),
        got_(length),
        bytes_(length * sizeof(std::uint64_t)),
        count_(static_cast<int>(length)),
        rank_(rank),
        target_(ranks - 1),
        window_(rank == target_ ? length : 0, memory),
        there_(memory == Memory::shared ? window_.memory_of(target_) : nullptr) {}

  void message() {
    MPI_Request receive = MPI_REQUEST_NULL;
    if (rank_ == target_) {
      CHECK_MPI(MPI_Irecv(window_.mine().data(), count_, MPI_UINT64_T, 0, tag, MPI_COMM_WORLD, &receive));
    }
    if (rank_ == 0) CHECK_MPI(MPI_Send(numbers_.data(), count_, MPI_UINT64_T, target_, tag, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  }

  void fence_put() {
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOPRECEDE, window_.handle()));
    if (rank_ == 0) put();
    CHECK_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, window_.handle()));
  }

  void lock_put() {
    if (rank_ != 0) return;
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target_, 0, window_.handle()));
    put();
    CHECK_MPI(MPI_Win_unlock(target_, window_.handle()));
  }

  void lock_store() {
    if (rank_ != 0) return;
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target_, 0, window_.handle()));
    std::memcpy(there_, numbers_.data(), bytes_);
    CHECK_MPI(MPI_Win_unlock(target_, window_.handle()));
  }

  void lock_get() {
    if (rank_ != 0) return;
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, target_, 0, window_.handle()));
    CHECK_MPI(MPI_Get(got_.data(), count_, MPI_UINT64_T, target_, 0, count_, MPI_UINT64_T, window_.handle()));
    CHECK_MPI(MPI_Win_unlock(target_, window_.handle()));
  }

  void copy_at_home() {
    if (rank_ == 0) std::memcpy(got_.data(), numbers_.data(), bytes_);
    cookbook::keep(got_.data());
  }

  /// Before each way: the window holds the numbers or zeros, and nothing has been got. Called by all.
  void prepare(bool numbers_there) {
    window_.at_home([&](std::span<std::uint64_t> mine) {
      std::fill(mine.begin(), mine.end(), 0);
      if (numbers_there) std::copy_n(numbers_.begin(), mine.size(), mine.begin());
    });
    std::fill(got_.begin(), got_.end(), 0);
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  }

  /// After one: whether the numbers are in the last rank's window. Called by all.
  bool arrived() {
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    bool equal = true;
    window_.at_home([&](auto mine) { equal = std::equal(mine.begin(), mine.end(), numbers_.begin()); });
    return equal;
  }

  /// After one: whether rank 0 has got them.
  bool got() { return rank_ != 0 || got_ == numbers_; }

 private:
  static constexpr int tag = 1;

  void put() {
    CHECK_MPI(MPI_Put(numbers_.data(), count_, MPI_UINT64_T, target_, 0, count_, MPI_UINT64_T, window_.handle()));
  }

  std::vector<std::uint64_t> numbers_, got_;
  std::size_t bytes_;
  int count_, rank_, target_;
  Window<std::uint64_t> window_;
  std::uint64_t* there_;  ///< the last rank's window, as this rank sees it; null unless it is shared
};

/// All ways at all sizes. The limit is the copy by one rank, from its memory to its memory.
inline void check_and_measure(Memory memory, std::size_t up_to, const mpi::Session& session, cookbook::Checks& checks) {
  cookbook::Figures times(name_of(memory), cookbook::cost("us", 1e-6));
  collective::add_barrier(times);
  bool all_right = true;
  for (const collective::Size& size : collective::sizes_up_to(up_to)) {
    Transfer transfer(memory, size.bytes / sizeof(std::uint64_t), session.rank(), session.ranks());
    std::vector<collective::Form> there = {
        {"send, receive", [&] { transfer.message(); }},
        {"fence, put, fence", [&] { transfer.fence_put(); }},
        {"lock, put, unlock", [&] { transfer.lock_put(); }},
    };
    if (memory == Memory::shared) there.push_back({"lock, store, unlock", [&] { transfer.lock_store(); }});
    const std::vector<collective::Form> back = {
        {"lock, get, unlock", [&] { transfer.lock_get(); }},
        {"memcpy in one rank", [&] { transfer.copy_at_home(); }},
    };
    const bool sent = collective::compare(
        times, there, size, [&] { transfer.prepare(false); }, [&] { return transfer.arrived(); });
    const bool fetched = collective::compare(
        times, back, size, [&] { transfer.prepare(true); }, [&] { return transfer.got(); });
    all_right = all_right && sent && fetched;
  }
  if (session.rank() != 0) return;
  checks.that("every size, every way: all numbers arrived", all_right);
  times.print(checks);
}

}  // namespace one_sided
