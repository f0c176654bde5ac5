// Send and receive
//
// Two processes, the ranks 0 and 1, run this one program and share no memory. Rank 0 sends and rank 1 receives. When
// does the sending call return? Rank 1 receives 20 ms late, and the program prints how long rank 0 is in the call, for
// three kinds of sends and messages of four lengths. Then it shows how one receives a message of unknown length, and
// which one of two messages a receive takes.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_send_receive/mpi_send_receive.cpp common/cookbook/*.cpp -lfmt -o mpi_send_receive
// Run:     mpirun -n 2 mpi_send_receive [--number N] [--text TEXT]

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

constexpr int tag = 1, start_tag = 2;  // numbers that sender and receiver agree on; they tell kinds of messages apart
constexpr std::chrono::milliseconds delay(20);
constexpr int lengths[] = {1, 256, 4096, 1 << 20};
using SendCall = decltype(MPI_Send);  // that of MPI_Bsend and MPI_Ssend, too

/// Rank 0 sends a number. Both ranks run this function, and the rank decides which part is whose. Returns the number
/// that rank 1 has received, and 0 on the other ranks.
int one_number(int rank, int number) {
  int received = 0;
  if (rank == 0) {
    MPI_CHECK(MPI_Send(&number, 1, MPI_INT, 1, tag, MPI_COMM_WORLD));
  } else if (rank == 1) {
    MPI_CHECK(MPI_Recv(&received, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  return received;
}

/// Rank 0 sends by `call`, which is MPI_Send, MPI_Bsend or MPI_Ssend, and rank 1 receives late. Returns how many ms
/// rank 0 was in the call. Rank 1 adds to `unchanged` whether it has got what the data were before the call.
double ms_in_call(SendCall* call, int bytes, int rank, long& unchanged) {
  std::vector<char> data(bytes, rank == 0 ? 'a' : '?');
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));  // rank 1 has received the message before this one
  double ms = 0;
  if (rank == 0) {
    const cookbook::Stopwatch watch;  // from before the sleep of rank 1, which begins with the next message
    MPI_CHECK(MPI_Send(nullptr, 0, MPI_CHAR, 1, start_tag, MPI_COMM_WORLD));
    MPI_CHECK(call(data.data(), bytes, MPI_CHAR, 1, tag, MPI_COMM_WORLD));
    ms = watch.seconds() * 1e3;
    std::fill(data.begin(), data.end(), 'b');  // the call has returned, so the data may be overwritten
  } else if (rank == 1) {
    MPI_CHECK(MPI_Recv(nullptr, 0, MPI_CHAR, 0, start_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    std::this_thread::sleep_for(delay);  // rank 1 is busy with something else
    MPI_CHECK(MPI_Recv(data.data(), bytes, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    unchanged += std::count(data.begin(), data.end(), 'a') == bytes;
  }
  return ms;
}

/// Rank 0 sends a text, and rank 1 does not know how long it is. Returns the text that rank 1 has received, and nothing
/// on the other ranks.
std::string text_of_any_length(int rank, const std::string& text) {
  if (rank == 0) MPI_CHECK(MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, 1, tag, MPI_COMM_WORLD));
  if (rank != 1) return "";
  MPI_Status status;
  int length = 0;
  MPI_CHECK(MPI_Probe(0, tag, MPI_COMM_WORLD, &status));        // waits for the message, but does not take it,
  MPI_CHECK(MPI_Get_count(&status, MPI_CHAR, &length));         // so that its length is known
  std::string received(static_cast<std::size_t>(length), '?');  // before there has to be room for it
  MPI_CHECK(MPI_Recv(received.data(), length, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  return received;
}

/// Rank 0 sends a message with tag 3, and then one with tag 4; rank 1 asks for tag 4 first. Returns the numbers as rank
/// 1 has received them, and nothing on the other ranks.
std::string by_tag(int rank) {
  const int three = 3, four = 4;
  if (rank == 0) {
    MPI_Request sends[2];  // MPI_Send could wait for the receiver of the first message, which wants the second one
    MPI_CHECK(MPI_Isend(&three, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &sends[0]));
    MPI_CHECK(MPI_Isend(&four, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &sends[1]));
    MPI_CHECK(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
  }
  if (rank != 1) return "";
  int first = 0, second = 0;
  MPI_CHECK(MPI_Recv(&first, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  MPI_CHECK(MPI_Recv(&second, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  return fmt::format("{}, then {}", first, second);
}

}  // namespace

int main(int argc, char** argv) {
  int number = 10'000'000;
  std::string text = "hello";
  cookbook::Options options("Send messages from one rank to another");
  options.add("number", number, "the number that rank 0 sends", -1'000'000'000, 1'000'000'000);
  options.add("text", text, "the text that rank 0 sends");
  options.parse(argc, argv);

  const mpi::Environment world(2);
  const int rank = world.rank();
  const std::vector<std::string> numbers = world.gather(fmt::to_string(one_number(rank, number)));

  std::vector<char> lent(2 << 20);  // room for the copies that MPI_Bsend makes, more than all lengths together
  int lent_bytes = static_cast<int>(lent.size());
  MPI_CHECK(MPI_Buffer_attach(lent.data(), lent_bytes));
  long unchanged = 0, too_early = 0;
  std::string header = fmt::format("rank 1 is {} ms late:", delay.count());
  for (const int bytes : lengths) header += fmt::format("{:>10} B", bytes);
  if (rank == 0) cookbook::println("{}", header);
  const auto print_row = [&](const char* name, SendCall* call) {
    std::string row = fmt::format("in {:<18}", name);
    for (const int bytes : lengths) {
      const double ms = ms_in_call(call, bytes, rank, unchanged);
      row += fmt::format("{:9.1f} ms", ms);
      if (call == MPI_Ssend && rank == 0) too_early += ms < static_cast<double>(delay.count());
    }
    if (rank == 0) cookbook::println("{}", row);
  };
  print_row("MPI_Send", MPI_Send);
  print_row("MPI_Bsend", MPI_Bsend);
  print_row("MPI_Ssend", MPI_Ssend);
  char* detached = nullptr;
  MPI_CHECK(MPI_Buffer_detach(&detached, &lent_bytes));

  const std::vector<std::string> texts = world.gather(text_of_any_length(rank, text)),
                                 order = world.gather(by_tag(rank));
  unchanged = mpi::sum_over_ranks(unchanged);
  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("the number that rank 1 received", numbers[1], fmt::to_string(number));
    checks.equal("messages that arrived as they were before the call", unchanged, 12);
    checks.equal("calls of MPI_Ssend that returned before rank 1 received", too_early, 0);
    checks.equal("a text whose length rank 1 did not know", texts[1], text);
    checks.equal("rank 1 asked for the message with tag 4 first, and got", order[1], "4, then 3");
  }
  return world.exit_code(checks);
}
