// Tests an exchange of messages between all ranks that a learner has written.

#include "shuffle.hpp"

#include <numeric>
#include <random>

using judge::expect;

namespace {

bool to_every_rank = false;
long sent_bytes = 0, gathered_bytes = 0;  // by this rank, in one exchange

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
  std::string expected, without_own;
  for (int other = 0; other < ranks; ++other) {
    messages.push_back(text_of(rank, other, length));
    expected += text_of(other, rank, length);
    if (other != rank) without_own += text_of(other, rank, length);
  }
  const Messages before = messages;
  sent_bytes = gathered_bytes = 0;
  const std::string received = exchange(messages);
  expect(messages == before, "The messages have changed.");
  expect(received == expected || received != without_own, "A rank does not get its own message.");
  expect(received.size() == expected.size(), "A rank gets another number of bytes than was sent to it.");
  expect(received == expected,
         "A rank gets bytes that are not what the ranks have sent to it, in the order of the ranks.");
  expect(!to_every_rank, "A message goes to every rank: it is for one rank alone.");
  long own_bytes = 0;
  for (const std::string& message : messages) own_bytes += static_cast<long>(message.size());
  expect(sent_bytes <= own_bytes + 1'000,
         "A rank sends more bytes than its messages have: one goes to other ranks, too.");
  expect(gathered_bytes <= static_cast<long>(expected.size()) + 1'000,
         "A rank gets messages that are for other ranks: each goes to its rank and to no other one.");
}

}  // namespace

// These stand before MPI's own functions (MPI 4.0, chapter 15). Some bytes more than the messages are lengths.
namespace {

long bytes_of(MPI_Datatype type, long count) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return count * size;
}

long sum(const int* counts) {
  int ranks = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return std::accumulate(counts, counts + ranks, 0L);
}

bool root_is_here(int root, MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank == root;
}

/// So many bytes reach ranks for which they need not be meant.
void to_all(MPI_Datatype type, long count) { to_every_rank = to_every_rank || bytes_of(type, count) > 1'000; }

}  // namespace

#define TO const void *data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm
#define FROM_ALL const void *out, int count, MPI_Datatype type, void *in
#define SENT sent_bytes += bytes_of(type, count)

extern "C" int MPI_Send(TO) {
  SENT;
  return PMPI_Ssend(data, count, type, rank, tag, comm);  // it must not rely on copies that MPI makes
}

extern "C" int MPI_Ssend(TO) {
  SENT;
  return PMPI_Ssend(data, count, type, rank, tag, comm);
}

extern "C" int MPI_Isend(TO, MPI_Request* request) {
  SENT;
  return PMPI_Issend(data, count, type, rank, tag, comm, request);
}

extern "C" int MPI_Issend(TO, MPI_Request* request) {
  SENT;
  return PMPI_Issend(data, count, type, rank, tag, comm, request);
}

extern "C" int MPI_Sendrecv(const void* data, int count, MPI_Datatype type, int rank, int tag, void* in, int in_count,
                            MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status* status) {
  SENT;
  return PMPI_Sendrecv(data, count, type, rank, tag, in, in_count, in_type, from, in_tag, comm, status);
}

extern "C" int MPI_Sendrecv_replace(void* data, int count, MPI_Datatype type, int rank, int tag, int from, int in_tag,
                                    MPI_Comm comm, MPI_Status* status) {
  SENT;
  return PMPI_Sendrecv_replace(data, count, type, rank, tag, from, in_tag, comm, status);
}

#define ALL_TO_ALL                                                                                          \
  const void *out, const int *counts, const int *places, MPI_Datatype type, void *in, const int *in_counts, \
      const int *in_places, MPI_Datatype in_type, MPI_Comm comm

extern "C" int MPI_Alltoallv(ALL_TO_ALL) {
  sent_bytes += bytes_of(type, sum(counts));
  return PMPI_Alltoallv(out, counts, places, type, in, in_counts, in_places, in_type, comm);
}

extern "C" int MPI_Ialltoallv(ALL_TO_ALL, MPI_Request* request) {
  sent_bytes += bytes_of(type, sum(counts));
  return PMPI_Ialltoallv(out, counts, places, type, in, in_counts, in_places, in_type, comm, request);
}

extern "C" int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  to_all(type, count);
  return PMPI_Bcast(data, count, type, root, comm);
}

extern "C" int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  to_all(type, count);
  return PMPI_Ibcast(data, count, type, root, comm, request);
}

extern "C" int MPI_Allgather(FROM_ALL, int in_count, MPI_Datatype in_type, MPI_Comm comm) {
  to_all(in_type, in_count);
  return PMPI_Allgather(out, count, type, in, in_count, in_type, comm);
}

extern "C" int MPI_Iallgather(FROM_ALL, int in_count, MPI_Datatype in_type, MPI_Comm comm, MPI_Request* request) {
  to_all(in_type, in_count);
  return PMPI_Iallgather(out, count, type, in, in_count, in_type, comm, request);
}

extern "C" int MPI_Allgatherv(FROM_ALL, const int* counts, const int* places, MPI_Datatype in_type, MPI_Comm comm) {
  to_all(in_type, sum(counts));
  return PMPI_Allgatherv(out, count, type, in, counts, places, in_type, comm);
}

extern "C" int MPI_Iallgatherv(FROM_ALL, const int* counts, const int* places, MPI_Datatype in_type, MPI_Comm comm,
                               MPI_Request* request) {
  to_all(in_type, sum(counts));
  return PMPI_Iallgatherv(out, count, type, in, counts, places, in_type, comm, request);
}

extern "C" int MPI_Gatherv(FROM_ALL, const int* counts, const int* places, MPI_Datatype in_type, int root,
                           MPI_Comm comm) {
  if (root_is_here(root, comm)) gathered_bytes += bytes_of(in_type, sum(counts));
  return PMPI_Gatherv(out, count, type, in, counts, places, in_type, root, comm);
}

extern "C" int MPI_Scatterv(const void* out, const int* counts, const int* places, MPI_Datatype type, void* in,
                            int in_count, MPI_Datatype in_type, int root, MPI_Comm comm) {
  if (root_is_here(root, comm)) sent_bytes += bytes_of(type, sum(counts));
  return PMPI_Scatterv(out, counts, places, type, in, in_count, in_type, root, comm);
}

int main() {
  const mpi::Environment world;
  const Length lengths[] = {
      [](int, int) { return std::size_t{5}; },
      [](int from, int to) { return static_cast<std::size_t>(10 * from + to); },
      [](int, int) { return std::size_t{0}; },
      [](int from, int to) { return static_cast<std::size_t>(from == to ? 0 : 30'000 * (to + 1)); },
      [](int from, int to) { return static_cast<std::size_t>(from == 1 && to == 0 ? 100'000 : 0); },
      [](int from, int to) { return static_cast<std::size_t>(from == 2 && to == 1 ? 3'000'000 : 1); },
  };
  for (const Length length : lengths) exchange_all(world.rank(), world.size(), length);
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  if (world.rank() == 0) cookbook::println("all messages have arrived");
  return 0;
}
