// Deadlock between ranks
//
// Ranks 1 and 5 exchange two texts: each sends one and receives one. Which of the two calls each rank makes first
// decides whether both get through, or wait for each other for ever. The program tries the orders with a small and a
// large message. It does so under a time limit, so that it goes on after a deadlock. Then it exchanges the texts in
// three ways that never hang; these functions come first.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_deadlock/mpi_deadlock.cpp common/cookbook/*.cpp -lfmt -o mpi_deadlock
// Run:     mpirun -n 6 mpi_deadlock [--small N] [--large N] [--limit-ms N]

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

constexpr int tag = 1;

void sendrecv(int partner, const std::string& mine, std::string& theirs) {
  const int size = static_cast<int>(mine.size());
  MPI_CHECK(MPI_Sendrecv(mine.data(), size, MPI_CHAR, partner, tag,    // what goes where
                         theirs.data(), size, MPI_CHAR, partner, tag,  // what comes from where
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

void begin_both_then_wait(int partner, const std::string& mine, std::string& theirs) {
  const int size = static_cast<int>(mine.size());
  MPI_Request calls[2];
  MPI_CHECK(MPI_Irecv(theirs.data(), size, MPI_CHAR, partner, tag, MPI_COMM_WORLD, &calls[0]));
  MPI_CHECK(MPI_Isend(mine.data(), size, MPI_CHAR, partner, tag, MPI_COMM_WORLD, &calls[1]));
  MPI_CHECK(MPI_Waitall(2, calls, MPI_STATUSES_IGNORE));
}

void smaller_rank_sends_first(int rank, int partner, const std::string& mine, std::string& theirs) {
  const int size = static_cast<int>(mine.size());
  if (rank < partner) MPI_CHECK(MPI_Send(mine.data(), size, MPI_CHAR, partner, tag, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Recv(theirs.data(), size, MPI_CHAR, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (rank > partner) MPI_CHECK(MPI_Send(mine.data(), size, MPI_CHAR, partner, tag, MPI_COMM_WORLD));
}

/// One side of the exchange: the rank on the other side, what this rank sends, and room for what it gets.
struct Side {
  int partner;
  std::string mine, theirs;
};

/// Ranks 1 and 5 exchange `size` letters. The others take no part: messages from and to MPI_PROC_NULL, "no process",
/// are complete at once.
Side side_of(int rank, int size) {
  const auto length = static_cast<std::size_t>(size);
  if (rank == 1) return {5, std::string(length, 'a'), std::string(length, '?')};
  if (rank == 5) return {1, std::string(length, 'b'), std::string(length, '?')};
  return {MPI_PROC_NULL, "", ""};
}

/// Whether this rank has received what its partner has sent.
bool arrived(const Side& side) { return side.theirs == side_of(side.partner, static_cast<int>(side.mine.size())).mine; }

enum class Call { send, ssend, receive };

/// Begins a call. MPI_Send, MPI_Ssend and MPI_Recv have the effect of this and a wait until it is complete.
MPI_Request begin(Call call, Side& side) {
  const int size = static_cast<int>(side.mine.size()), to = side.partner, from = side.partner;
  MPI_Request request = MPI_REQUEST_NULL;
  if (call == Call::send) {
    MPI_CHECK(MPI_Isend(side.mine.data(), size, MPI_CHAR, to, tag, MPI_COMM_WORLD, &request));
  } else if (call == Call::ssend) {
    MPI_CHECK(MPI_Issend(side.mine.data(), size, MPI_CHAR, to, tag, MPI_COMM_WORLD, &request));
  } else {
    MPI_CHECK(MPI_Irecv(side.theirs.data(), size, MPI_CHAR, from, tag, MPI_COMM_WORLD, &request));
  }
  return request;
}

/// Waits until a call is complete, but gives up when this process has used `limit_ms` of processor time. (Where there
/// are few cores a rank may long be without one, and that must not count as stuck.) Returns whether it is complete.
bool complete_in_time(MPI_Request& call, int limit_ms) {
  const std::clock_t limit = std::clock() + CLOCKS_PER_SEC / 1000 * limit_ms;
  int complete = 0;
  while (!complete && std::clock() < limit) MPI_CHECK(MPI_Test(&call, &complete, MPI_STATUS_IGNORE));
  return complete;
}

/// Makes both calls of an exchange. Returns, on all ranks, whether it gets through: not if ranks 1 and 5 both wait in
/// their first call. The second call is made all the same, so that everything arrives in the end. Called by all ranks.
bool exchange(Call first, Side& side, int limit_ms, const mpi::Environment& world) {
  MPI_Request calls[2] = {begin(first, side), MPI_REQUEST_NULL};  // the second one has not begun yet
  const bool stuck = !complete_in_time(calls[0], limit_ms);       // MPI_Send or MPI_Recv would wait here for ever
  world.sleeping_barrier();                                       // a barrier: nobody goes on before all have tried

  calls[1] = begin(first == Call::receive ? Call::send : Call::receive, side);  // what the partner is waiting for
  MPI_CHECK(MPI_Waitall(2, calls, MPI_STATUSES_IGNORE));                        // waits until both are complete
  return mpi::sum_over_ranks(stuck) < 2;
}

/// The first calls of ranks 1 and 5, and what MPI promises: with any size it completes, or with any size it hangs.
struct Order {
  Call rank_1, rank_5;
  std::string_view promised;
};
constexpr Order orders[] = {
    {Call::receive, Call::send, "completes"}, {Call::send, Call::receive, "completes"},
    {Call::receive, Call::receive, "hangs"},  {Call::send, Call::send, ""},  // MPI leaves it to the library
    {Call::ssend, Call::ssend, "hangs"},
};

std::string_view name(Call call) {
  return call == Call::send ? "MPI_Send" : call == Call::ssend ? "MPI_Ssend" : "MPI_Recv";
}

}  // namespace

int main(int argc, char** argv) {
  int small = 1, large = 1'000'000, limit_ms = 30;
  cookbook::Options options("Find the orders of send and receive that hang");
  options.add("small", small, "bytes of the small message", 1, 4'000'000);
  options.add("large", large, "bytes of the large message", 1, 4'000'000);
  options.add("limit-ms", limit_ms, "processor time after which a call counts as stuck", 1, 1'000);
  options.parse(argc, argv);

  const mpi::Environment world(6);
  const int rank = world.rank();
  long as_promised = 0, promises = 0, arrived_here = 0, exchanges = 0;
  const auto both = [](auto rank_1, auto rank_5) { return fmt::format("{:<20}{}", rank_1, rank_5); };
  const auto print_row = [&](const std::string& calls, std::string_view with_small, std::string_view with_large) {
    if (rank == 0) cookbook::println("{:<40}{:<12}{}", calls, with_small, with_large);
  };
  // Exchanges small and large texts, and prints what has become of them, which `outcome` says.
  const auto try_both_sizes = [&](const std::string& calls, const auto& outcome) {
    std::vector<std::string_view> outcomes;
    for (const int size : {small, large}) {
      Side side = side_of(rank, size);
      outcomes.push_back(outcome(side));
      arrived_here += arrived(side);
      ++exchanges;
    }
    print_row(calls, outcomes[0], outcomes[1]);
  };

  print_row(both("rank 1 calls first", "rank 5 calls first"), fmt::format("{} B", small), fmt::format("{} B", large));
  for (const Order& order : orders) {
    try_both_sizes(both(name(order.rank_1), name(order.rank_5)), [&](Side& side) -> std::string_view {
      const bool through = exchange(rank == 1 ? order.rank_1 : order.rank_5, side, limit_ms, world);
      const std::string_view outcome = through ? "completes" : "hangs";
      as_promised += outcome == order.promised;
      promises += !order.promised.empty();
      return outcome;
    });
  }
  const auto try_way_out = [&](const std::string& way, const auto& exchange_texts) {
    try_both_sizes(way, [&](Side& side) -> std::string_view {
      exchange_texts(side);
      return mpi::all_ranks(arrived(side)) ? "arrives" : "is lost";
    });
  };
  try_way_out("MPI_Sendrecv", [](Side& side) { sendrecv(side.partner, side.mine, side.theirs); });
  try_way_out("MPI_Irecv, MPI_Isend, MPI_Waitall",
              [](Side& side) { begin_both_then_wait(side.partner, side.mine, side.theirs); });
  try_way_out("smaller rank sends first",
              [&](Side& side) { smaller_rank_sends_first(rank, side.partner, side.mine, side.theirs); });

  const long arrived_anywhere = mpi::sum_over_ranks(arrived_here);
  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("outcomes that are as MPI promises", as_promised, promises);
    checks.equal("exchanges in which each text arrived", arrived_anywhere / world.size(), exchanges);
  }
  return world.exit_code(checks);
}
