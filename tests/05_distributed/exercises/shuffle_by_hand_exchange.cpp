// Tests an exchange of messages between all ranks that a learner has written.

#include "shuffle.hpp"

#include <random>

using judge::expect;

namespace {

bool to_every_rank = false;

using Length = std::size_t (*)(int from, int to);

/// What `from` sends to `to`: any bytes, the same on all ranks.
std::string text_of(int from, int to, Length length) {
  std::mt19937 random(static_cast<unsigned>(100 * from + to));
  std::string text(length(from, to), '\0');
  for (char& one : text) one = static_cast<char>(random() >> 20);
  return text;
}

void exchange_all(int rank, int ranks, Length length) {
  Messages messages;
  std::string expected;
  for (int other = 0; other < ranks; ++other) {
    messages.push_back(text_of(rank, other, length));
    expected += text_of(other, rank, length);
  }
  const Messages before = messages;
  const std::string received = exchange(messages);
  expect(messages == before, "The messages have changed.");
  if (expected.size() - received.size() == messages[rank].size() && !messages[rank].empty()) {
    judge::refuse("A rank does not get its own message.");
  }
  expect(received.size() == expected.size(), "A rank gets another number of bytes than was sent to it.");
  expect(received == expected,
         "A rank gets bytes that are not what the ranks have sent to it, in the order of the ranks.");
  expect(!to_every_rank, "A message goes to every rank: it is for one rank alone.");
}

}  // namespace

// These stand before MPI's own functions (MPI 4.0, chapter 15).
extern "C" int MPI_Send(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm) {
  return PMPI_Ssend(data, count, type, rank, tag, comm);  // it must not rely on copies that MPI makes
}

extern "C" int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  to_every_rank = to_every_rank || (count > 1 && (type == MPI_CHAR || type == MPI_BYTE));
  return PMPI_Bcast(data, count, type, root, comm);
}

extern "C" int MPI_Allgather(const void* out, int count, MPI_Datatype type, void* in, int in_count,
                             MPI_Datatype in_type, MPI_Comm comm) {
  to_every_rank = to_every_rank || (count > 1 && (type == MPI_CHAR || type == MPI_BYTE));
  return PMPI_Allgather(out, count, type, in, in_count, in_type, comm);
}

extern "C" int MPI_Allgatherv(const void* out, int count, MPI_Datatype type, void* in, const int* counts,
                              const int* places, MPI_Datatype in_type, MPI_Comm comm) {
  to_every_rank = to_every_rank || type == MPI_CHAR || type == MPI_BYTE;
  return PMPI_Allgatherv(out, count, type, in, counts, places, in_type, comm);
}

int main() {
  const mpi::Environment world;
  const Length lengths[] = {
      [](int, int) { return std::size_t{5}; },
      [](int from, int to) { return static_cast<std::size_t>(10 * from + to); },
      [](int, int) { return std::size_t{0}; },
      [](int from, int to) { return static_cast<std::size_t>(from == to ? 0 : 30'000 * (to + 1)); },
      [](int from, int to) { return static_cast<std::size_t>(from == 1 && to == 0 ? 100'000 : 0); },
  };
  for (const Length length : lengths) exchange_all(world.rank(), world.size(), length);
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  if (world.rank() == 0) cookbook::println("all messages have arrived");
  return 0;
}
