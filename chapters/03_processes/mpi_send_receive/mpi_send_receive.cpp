// Send and receive
//
// Nine processes, the ranks 0 to 8, run this one program and share no memory. Rank 0 sends an integer to rank 4, and
// rank 1 sends a text to rank 8. Ranks 2 and 3 both send to rank 4, which takes the messages in the order in which it
// names their senders. At last rank 0 sends to rank 4 while that one does not receive yet: the program prints which
// kind of send returns all the same, and which one waits.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_send_receive/mpi_send_receive.cpp common/cookbook/*.cpp -lfmt -o mpi_send_receive
// Run:     mpirun -n 9 mpi_send_receive [--number N] [--text TEXT]

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

constexpr int tag = 1, late_tag = 2;  // numbers that sender and receiver agree on; they tell kinds of messages apart

/// All ranks run this function, and the rank decides which part is whose. Returns what this rank has done.
std::string two_messages(int rank, int number, const std::string& text) {
  if (rank == 0) {
    MPI_CHECK(MPI_Send(&number, 1, MPI_INT, 4, tag, MPI_COMM_WORLD));
    return fmt::format("sent {} to rank 4", number);
  }
  if (rank == 4) {
    int received = 0;
    MPI_CHECK(MPI_Recv(&received, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return fmt::format("received {} from rank 0", received);
  }
  if (rank == 1) {
    MPI_CHECK(MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, 8, tag, MPI_COMM_WORLD));
    return fmt::format("sent {} to rank 8", text);
  }
  if (rank == 8) {
    MPI_Status status;
    int length = 0;
    MPI_CHECK(MPI_Probe(1, tag, MPI_COMM_WORLD, &status));        // waits for the message, but does not take it,
    MPI_CHECK(MPI_Get_count(&status, MPI_CHAR, &length));         // so that its length is known
    std::string received(static_cast<std::size_t>(length), '?');  // before there has to be room for it
    MPI_CHECK(MPI_Recv(received.data(), length, MPI_CHAR, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return fmt::format("received {} from rank 1", received);
  }
  return "";
}

/// Ranks 2 and 3 send their numbers to rank 4. It waits until the message of rank 2 is there, and then asks for that of
/// rank 3 first. Returns the two numbers as rank 4 has received them, and nothing on the other ranks.
std::string by_source(int rank) {
  if (rank == 2 || rank == 3) MPI_CHECK(MPI_Send(&rank, 1, MPI_INT, 4, tag, MPI_COMM_WORLD));
  if (rank != 4) return "";
  int first = 0, second = 0;
  MPI_CHECK(MPI_Probe(2, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  MPI_CHECK(MPI_Recv(&first, 1, MPI_INT, 3, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  MPI_CHECK(MPI_Recv(&second, 1, MPI_INT, 2, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  return fmt::format("{}, then {}", first, second);
}

/// Rank 0 sends to rank 4, which takes another message first, one that rank 0 sends later. `begin` is MPI_Isend,
/// MPI_Ibsend or MPI_Issend: it only begins the send, and MPI_Send, MPI_Bsend or MPI_Ssend would return when the send
/// is complete. Returns what it would do on rank 0, and nothing on the others.
std::string while_nobody_receives(decltype(MPI_Isend)* begin, int bytes, int rank) {
  std::vector<char> data(bytes, 'a'), lent(bytes + MPI_BSEND_OVERHEAD);
  if (rank == 4) {
    MPI_CHECK(MPI_Recv(nullptr, 0, MPI_CHAR, 0, late_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI_CHECK(MPI_Recv(data.data(), bytes, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  if (rank != 0) return "";
  int complete = 0, size = 0;
  char* detached = nullptr;
  MPI_Request send;
  MPI_CHECK(MPI_Buffer_attach(lent.data(), static_cast<int>(lent.size())));  // room for copies; only MPI_Ibsend uses it
  MPI_CHECK(begin(data.data(), bytes, MPI_CHAR, 4, tag, MPI_COMM_WORLD, &send));
  const std::clock_t limit = std::clock() + CLOCKS_PER_SEC / 100;  // 10 ms of this process
  while (!complete && std::clock() < limit) MPI_CHECK(MPI_Test(&send, &complete, MPI_STATUS_IGNORE));
  MPI_CHECK(MPI_Send(nullptr, 0, MPI_CHAR, 4, late_tag, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  MPI_CHECK(MPI_Buffer_detach(&detached, &size));
  return complete ? "returns" : "waits";
}

}  // namespace

int main(int argc, char** argv) {
  int number = 10'000'000;
  std::string text = "hello";
  cookbook::Options options("Send messages from one rank to another");
  options.add("number", number, "what rank 0 sends to rank 4", -1'000'000'000, 1'000'000'000);
  options.add("text", text, "what rank 1 sends to rank 8");
  options.parse(argc, argv);

  const mpi::Environment world(9);
  const int rank = world.rank();
  const std::string done = two_messages(rank, number, text);
  world.print_in_order(done.empty() ? "" : fmt::format("rank {} {}", rank, done));
  const std::vector<std::string> all_done = world.gather(done), order = world.gather(by_source(rank));

  const auto print_row = [&](auto name, auto with_small, auto with_large) {
    if (rank == 0) cookbook::println("{:<30}{:<12}{}", name, with_small, with_large);
  };
  const auto try_call = [&](std::string_view name, decltype(MPI_Isend)* begin) {
    const std::string with_small = while_nobody_receives(begin, 1, rank);
    const std::string with_large = while_nobody_receives(begin, 1 << 20, rank);
    print_row(name, with_small, with_large);
    return with_small + ", " + with_large;
  };
  print_row("rank 4 does not receive yet:", "1 B", fmt::format("{} B", 1 << 20));
  try_call("MPI_Send", MPI_Isend);  // MPI leaves it to the library
  const std::string buffered = try_call("MPI_Bsend", MPI_Ibsend), synchronous = try_call("MPI_Ssend", MPI_Issend);

  // MPI_Iprobe looks, without waiting, whether there is a message: here from any source, of any kind. There should not.
  int waiting = 0;
  MPI_CHECK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &waiting, MPI_STATUS_IGNORE));
  const long left_over = mpi::sum_over_ranks(waiting);
  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("ranks 4 and 8", all_done[4] + ", " + all_done[8],
                 fmt::format("received {} from rank 0, received {} from rank 1", number, text));
    checks.equal("rank 4 asked for the message of rank 3 first, and got", order[4], "3, then 2");
    checks.equal("MPI_Bsend and MPI_Ssend", buffered + ", " + synchronous, "returns, returns, waits, waits");
    checks.equal("ranks where a message is left over", left_over, 0);
  }
  return world.exit_code(checks);
}
