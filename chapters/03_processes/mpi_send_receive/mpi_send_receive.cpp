// Send and receive
//
// Nine processes, the ranks 0 to 8, run this one program and share no memory. Rank 0 sends an integer to rank 4, and
// rank 1 sends a text to rank 8: the sender names the data and the destination, the receiver names the source. Then
// ranks 2 and 3 both send to rank 4, which takes the two messages in the order in which it names their sources.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_send_receive/mpi_send_receive.cpp common/cookbook/*.cpp -lfmt -o mpi_send_receive
// Run:     mpirun -n 9 mpi_send_receive [--number N] [--text TEXT]

#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

constexpr int tag = 1;  // a number that sender and receiver agree on; it tells kinds of messages apart

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
  return "has nothing to do";
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
  world.print_in_order(fmt::format("rank {} {}", rank, done));
  const std::vector<std::string> all_done = world.gather(done), order = world.gather(by_source(rank));

  // MPI_Iprobe looks, without waiting, whether there is a message: here from any source, of any kind. There should not.
  int waiting = 0, left_over = 0;
  MPI_CHECK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &waiting, MPI_STATUS_IGNORE));
  MPI_CHECK(MPI_Reduce(&waiting, &left_over, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));

  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("rank 4", all_done[4], fmt::format("received {} from rank 0", number));
    checks.equal("rank 8", all_done[8], fmt::format("received {} from rank 1", text));
    checks.equal("rank 4 asked for the message of rank 3 first, and got", order[4], "3, then 2");
    checks.equal("ranks where a message is left over", left_over, 0);
  }
  return world.exit_code(checks);
}
