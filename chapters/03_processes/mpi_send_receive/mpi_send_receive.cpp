// Send and receive
//
// Nine processes, the ranks 0 to 8, run this one program and share no memory. Rank 0 sends an integer to rank 4, rank 1
// a string to rank 8; the sender names data and destination, the receiver names the source. Then ranks 0 and 1 try the
// four modes of sending, which differ in when the call returns, and throw messages of 1 byte to 16 MiB back and forth.
// The pitfall, mpi_send_receive_overwrite.cpp, changes its data before a send has completed.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_send_receive/mpi_send_receive.cpp common/cookbook/*.cpp -lfmt -o mpi_send_receive
// Run:     mpirun -n 9 mpi_send_receive [--delay-ms N]

#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "mpi_session.hpp"
#include "ping_pong.hpp"
#include "send_modes.hpp"

namespace {

constexpr int data_tag = 1;  ///< a receive takes only messages of the tag that it names

/// What a rank has to tell when the two messages are through.
struct Report {
  std::string lines;                   ///< what it did, for people
  std::string received;                ///< what it got, for the check
  std::vector<int> messages = {0, 0};  ///< how many it sent and received
};

/// The two messages. All ranks run this function; the rank says which part is whose.
Report two_messages(int rank) {
  Report report{fmt::format("my rank is : {}", rank), ""};
  if (rank == 0) {
    const int data = 10'000'000;
    CHECK_MPI(MPI_Send(&data, 1, MPI_INT, 4, data_tag, MPI_COMM_WORLD));
    report.lines += fmt::format("\nsending data {} to process 4", data);
    report.messages[0] = 1;
  } else if (rank == 1) {
    const std::string data = "hello";
    CHECK_MPI(MPI_Send(data.data(), static_cast<int>(data.size()), MPI_CHAR, 8, data_tag, MPI_COMM_WORLD));
    report.lines += fmt::format("\nsending data {} to process 8", data);
    report.messages[0] = 1;
  } else if (rank == 4) {
    int data = 0;
    MPI_Status status;
    CHECK_MPI(MPI_Recv(&data, 1, MPI_INT, 0, data_tag, MPI_COMM_WORLD, &status));
    int count = 0;
    CHECK_MPI(MPI_Get_count(&status, MPI_INT, &count));
    report.lines += fmt::format("\ndata received is = {}", data);
    report.received = fmt::format("{} MPI_INT: {}", count, data);
    report.messages[1] = 1;
  } else if (rank == 8) {
    // The receiver of a string does not know its length. So it looks at the message without taking it, and makes room.
    MPI_Status status;
    CHECK_MPI(MPI_Probe(1, data_tag, MPI_COMM_WORLD, &status));
    int count = 0, integers = 0;
    CHECK_MPI(MPI_Get_count(&status, MPI_CHAR, &count));
    CHECK_MPI(MPI_Get_count(&status, MPI_INT, &integers));  // MPI_UNDEFINED for 5 bytes
    std::string data(static_cast<std::size_t>(count), '?');
    CHECK_MPI(MPI_Recv(data.data(), count, MPI_CHAR, 1, data_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    report.lines += fmt::format("\ndata1 received is = {}", data);
    report.received =
        fmt::format("{} MPI_CHAR{}: {}", count, integers == MPI_UNDEFINED ? ", no whole number of MPI_INT" : "", data);
    report.messages[1] = 1;
  }
  return report;
}

/// Ranks 2 and 3 send their numbers to rank 4. It waits until 2's message is there, asks for 3's, and then takes 2's.
std::string by_named_source(int rank) {
  if (rank == 2 || rank == 3) CHECK_MPI(MPI_Send(&rank, 1, MPI_INT, 4, data_tag, MPI_COMM_WORLD));
  if (rank != 4) return "";
  int first = 0, second = 0;
  CHECK_MPI(MPI_Probe(2, data_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Recv(&first, 1, MPI_INT, 3, data_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Recv(&second, 1, MPI_INT, 2, data_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  return fmt::format("{}, then {}", first, second);
}

}  // namespace

int main(int argc, char** argv) {
  int delay_ms = 50;
  cookbook::Options options("Send messages from rank to rank, in four modes");
  options.add("delay-ms", delay_ms, "how long a receive is put off to see which sends wait for it", 1, 10'000);
  options.parse(argc, argv);

  const mpi::Session session(9);
  const int rank = session.rank();
  const Report report = two_messages(rank);
  session.print_in_order(report.lines);

  const std::vector<std::string> received = session.gather(report.received);
  const std::vector<std::string> by_source = session.gather(by_named_source(rank));
  std::vector<int> messages = {0, 0};
  CHECK_MPI(MPI_Reduce(report.messages.data(), messages.data(), 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));

  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("rank 4 received", received[4], "1 MPI_INT: 10000000");
    checks.equal("rank 8 received", received[8], "5 MPI_CHAR, no whole number of MPI_INT: hello");
    checks.equal("messages sent and received", messages, {2, 2});
    checks.equal("rank 4 asked for the message of rank 3 first and got", by_source[4], "3, then 2");
    const int beyond = session.ranks();
    checks.equal(fmt::format("a send to rank {}", beyond),
                 mpi::error_text(MPI_Send(&rank, 1, MPI_INT, beyond, data_tag, MPI_COMM_WORLD)),
                 "MPI_ERR_RANK: invalid rank");
  }
  if (rank < 2) {
    send_modes::compare(rank, delay_ms * 1e-3, checks);
    ping_pong::measure(rank, checks);
  }
  session.meet_asleep();  // the others have nothing to do
  return session.exit_code(checks);
}
