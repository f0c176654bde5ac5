// Deadlock
//
// Ranks 1 and 5 exchange "a" and "b": each sends and each receives. The order of the two calls decides whether both get
// through. All orders are tried, with a small and a large message, by plain blocking calls. These stand in a
// thread of their own, so that one that never comes back can be watched: who waits for whom? A circle is a deadlock,
// and another thread of both ranks then lends a hand, so that the program goes on and ends. The pitfall,
// mpi_deadlock_send_first.cpp, has the order that works with small messages, and hangs.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_deadlock/mpi_deadlock.cpp common/cookbook/*.cpp -lfmt -pthread -o mpi_deadlock
// Run:     mpirun -n 6 mpi_deadlock [--large N] [--timeout-ms N]

#include <string>
#include <vector>

#include "collective.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "mpi_session.hpp"
#include "watchdog.hpp"

namespace {

constexpr int tag = 1;

using watchdog::Noted;

/// One of the two ranks: what it gives its partner, and room for as much that comes from there. Each call is noted for
/// the watchdog.
struct Side {
  int partner = watchdog::nobody;
  std::string mine = "", theirs = "";
  watchdog::Calls calls = {};

  int size() const { return static_cast<int>(mine.size()); }
  void send() {
    const Noted note(calls, true, false);
    CHECK_MPI(MPI_Send(mine.data(), size(), MPI_CHAR, partner, tag, MPI_COMM_WORLD));
  }
  void ssend() {
    const Noted note(calls, true, false);
    CHECK_MPI(MPI_Ssend(mine.data(), size(), MPI_CHAR, partner, tag, MPI_COMM_WORLD));
  }
  void receive() {
    const Noted note(calls, false, true);
    CHECK_MPI(MPI_Recv(theirs.data(), size(), MPI_CHAR, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
};

// The orders that a rank can choose from.
void send_first(Side& side) {
  side.send();
  side.receive();
}

void ssend_first(Side& side) {  // synchronous: comes back when the receiver has begun to take the message
  side.ssend();
  side.receive();
}

void receive_first(Side& side) {
  side.receive();
  side.send();
}

void both_in_one(Side& side) {
  const Noted note(side.calls, true, true);
  CHECK_MPI(MPI_Sendrecv(side.mine.data(), side.size(), MPI_CHAR, side.partner, tag,    // what goes where
                         side.theirs.data(), side.size(), MPI_CHAR, side.partner, tag,  // what comes from where
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

void begin_both(Side& side) {
  const Noted note(side.calls, true, true);
  MPI_Request requests[2];
  CHECK_MPI(MPI_Irecv(side.theirs.data(), side.size(), MPI_CHAR, side.partner, tag, MPI_COMM_WORLD, &requests[0]));
  CHECK_MPI(MPI_Isend(side.mine.data(), side.size(), MPI_CHAR, side.partner, tag, MPI_COMM_WORLD, &requests[1]));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

void bsend_first(Side& side) {
  std::vector<char> lent(side.mine.size() + MPI_BSEND_OVERHEAD);
  CHECK_MPI(MPI_Buffer_attach(lent.data(), static_cast<int>(lent.size())));
  {
    const Noted note(side.calls, true, false);
    CHECK_MPI(MPI_Bsend(side.mine.data(), side.size(), MPI_CHAR, side.partner, tag, MPI_COMM_WORLD));
  }
  side.receive();
  void* detached = nullptr;
  int size = 0;
  CHECK_MPI(MPI_Buffer_detach(&detached, &size));  // waits until the message has left the buffer
}

using Order = void (*)(Side&);

/// Exchanges between ranks 1 and 5, watched.
class Exchanges {
 public:
  Exchanges(const mpi::Session& session, double timeout) : session_(session), timeout_(timeout) {}

  /// One exchange of so many bytes: "completes", or "hangs" and who waits for whom. Called by all ranks.
  std::string operator()(Order of_rank_1, Order of_rank_5, int bytes) {
    const int rank = session_.rank();
    const std::string a(static_cast<std::size_t>(bytes), 'a'), b(a.size(), 'b'), empty(a.size(), '?');
    const bool takes_part = rank == 1 || rank == 5;
    Side side{takes_part ? 6 - rank : watchdog::nobody, rank == 1 ? a : b, takes_part ? empty : ""};
    const auto work = [&] { (rank == 1 ? of_rank_1 : of_rank_5)(side); };
    const auto help = [&] {  // one more message each way: now both threads find what they wait for, whatever it is
      Side helper{side.partner, side.mine, empty};
      both_in_one(helper);
    };
    const std::string circle = watchdog::run(side.partner, side.calls, work, help, timeout_, session_);
    const std::string& expected = rank == 1 ? b : rank == 5 ? a : "";
    all_right_ = collective::everywhere(side.theirs == expected) && all_right_;
    lines_ = side.partner == watchdog::nobody ? ""
                                              : fmt::format("\nsending data {} to process {}\ndata received is = {}",
                                                            side.mine, side.partner, side.theirs);
    return circle.empty() ? "completes" : "hangs " + circle;
  }

  const std::string& lines() const { return lines_; }  ///< this rank's part in the last of them
  bool all_right() const { return all_right_; }        ///< whether both received what they should, in each of them

 private:
  const mpi::Session& session_;
  double timeout_;
  std::string lines_;
  bool all_right_ = true;
};

/// Every order with a small and a large message. What MPI promises is checked; of send first on both sides it promises
/// nothing.
void all_orders(Exchanges& exchange, int rank, int large, cookbook::Checks& checks) {
  const std::string completes = "completes, completes", hangs = "hangs 1 -> 5 -> 1, hangs 1 -> 5 -> 1";
  struct Row {
    const char *rank_1, *rank_5;
    Order of_rank_1, of_rank_5;
    std::string promised;
  };
  const Row rows[] = {
      {"MPI_Recv", "MPI_Send", receive_first, send_first, completes},
      {"MPI_Send", "MPI_Recv", send_first, receive_first, completes},
      {"MPI_Ssend", "MPI_Recv", ssend_first, receive_first, completes},
      {"MPI_Recv", "MPI_Recv", receive_first, receive_first, hangs},
      {"MPI_Send", "MPI_Send", send_first, send_first, ""},
      {"MPI_Ssend", "MPI_Ssend", ssend_first, ssend_first, hangs},
      {"MPI_Bsend", "MPI_Bsend", bsend_first, bsend_first, completes},
      {"MPI_Irecv", "MPI_Irecv", begin_both, begin_both, completes},
      {"MPI_Sendrecv", "MPI_Sendrecv", both_in_one, both_in_one, completes},
      {"MPI_Sendrecv", "MPI_Ssend", both_in_one, ssend_first, completes},
  };
  if (rank == 0) cookbook::println("rank 1 first, rank 5 first: with 1 B, with {} B", large);
  for (const Row& row : rows) {
    const std::string with_1_byte = exchange(row.of_rank_1, row.of_rank_5, 1);
    const std::string found = with_1_byte + ", " + exchange(row.of_rank_1, row.of_rank_5, large);
    if (rank != 0) continue;
    const std::string orders = fmt::format("{:<12} {:<12}", row.rank_1, row.rank_5);
    if (row.promised.empty()) {
      cookbook::println("      {}: {}", orders, found);
    } else {
      checks.equal(orders, found, row.promised);
    }
  }
}

/// The size up to which send first on both sides completes, and above which it hangs. None is found above `most`.
void find_limit(Exchanges& exchange, int rank, int most, cookbook::Checks& checks) {
  int completes = 0, hangs = most + 1;
  while (hangs - completes > 1) {
    const int bytes = completes + (hangs - completes) / 2;
    (exchange(send_first, send_first, bytes) == "completes" ? completes : hangs) = bytes;
  }
  const std::string at_limit = exchange(send_first, send_first, completes);
  const std::string above = exchange(send_first, send_first, completes + 1);
  if (rank != 0) return;
  cookbook::println("MPI_Send first on both sides completes up to {} B", completes);
  if (completes < most)
    checks.equal("again, and with a byte more", at_limit + ", " + above, "completes, hangs 1 -> 5 -> 1");
}

/// All ranks pass their number on to the right, by one combined call each, and once more to themselves.
bool shift_ring(int rank, int ranks) {
  const int right = (rank + 1) % ranks, left = (rank - 1 + ranks) % ranks;
  int from_left = -1, from_myself = -1;
  CHECK_MPI(MPI_Sendrecv(&rank, 1, MPI_INT, right, tag, &from_left, 1, MPI_INT, left, tag, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Sendrecv(&rank, 1, MPI_INT, rank, tag, &from_myself, 1, MPI_INT, rank, tag, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE));
  return from_left == left && from_myself == rank;
}

/// What MPI says of a buffered send for which the lent buffer has no room.
std::string bsend_too_much(int rank) {
  std::vector<char> lent(MPI_BSEND_OVERHEAD + 1), data(10'000);
  CHECK_MPI(MPI_Buffer_attach(lent.data(), static_cast<int>(lent.size())));
  const int error = MPI_Bsend(data.data(), static_cast<int>(data.size()), MPI_CHAR, rank, tag, MPI_COMM_WORLD);
  void* detached = nullptr;
  int size = 0;
  CHECK_MPI(MPI_Buffer_detach(&detached, &size));
  return mpi::error_text(error);
}

/// Whether no message waits for this rank.
bool nothing_left() {
  int there = 0;
  CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
  return !there;
}

}  // namespace

int main(int argc, char** argv) {
  int large = 1'000'000, timeout_ms = 20;
  cookbook::Options options("Find the orders of send and receive that hang");
  options.add("large", large, "size of the large message, in bytes", 1, 4'000'000);
  options.add("timeout-ms", timeout_ms, "processor time after which a call is taken for stuck", 1, 1000);
  options.parse(argc, argv);

  const mpi::Session session(6, MPI_THREAD_MULTIPLE);
  const int rank = session.rank();
  Exchanges exchange(session, timeout_ms * 1e-3);
  exchange(receive_first, send_first, 1);  // the order that the source says hangs
  session.print_in_order(fmt::format("my rank is : {}", rank) + exchange.lines());

  cookbook::Checks checks;
  all_orders(exchange, rank, large, checks);
  find_limit(exchange, rank, large, checks);
  const bool ring = collective::everywhere(shift_ring(rank, session.ranks()));
  const bool empty = collective::everywhere(nothing_left());
  if (rank == 0) {
    checks.equal("MPI_Bsend of more than the buffer holds", bsend_too_much(rank),
                 "MPI_ERR_BUFFER: invalid buffer pointer");
    checks.that("in every exchange rank 1 received b and rank 5 a", exchange.all_right());
    checks.that("a ring of MPI_Sendrecv: each rank has its left neighbour's number, then its own", ring);
    checks.that("no message is left over", empty);
  }
  return session.exit_code(checks);
}
