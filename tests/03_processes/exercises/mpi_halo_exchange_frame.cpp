// Tests a halo exchange that a learner has written.

#include "tile.hpp"

#include <unistd.h>

#include <ctime>

using judge::expect;

namespace {

int messages = 0;                    // sent by this rank
long row_size = 0, column_size = 0;  // in bytes, of this rank's tile

/// A message to a neighbour.
void count_message(int count, MPI_Datatype type, int rank) {
  int size = 0;
  PMPI_Type_size(type, &size);
  const long bytes = static_cast<long>(count) * size;
  ++messages;
  expect(rank == MPI_PROC_NULL || bytes == row_size || bytes == column_size,
         "A rank sends a message that is no row and no column of its own cells.");
}

void expect_messages_of(const Tile& tile) {
  const auto [top, bottom, left, right] = tile.area();
  row_size = static_cast<long>(right - left) * static_cast<long>(sizeof(double));
  column_size = static_cast<long>(bottom - top) * static_cast<long>(sizeof(double));
}

/// A communicator of the first `ranks` ranks; MPI_COMM_NULL on the others.
MPI_Comm first_ranks(int ranks, int rank) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm));
  return comm;
}

/// Whether the frame has the cells of the whole plate, without its corners and without what lies beyond the plate.
bool frame_is_right(const Tile& tile, const Cells& plate) {
  const auto [top, bottom, left, right] = tile.area();
  bool right_everywhere = true;
  for (int row = top; row < bottom; ++row) {
    for (const int column : {left - 1, right}) {
      right_everywhere = right_everywhere && same_bits(tile.now().at(row, column), plate.at(row, column));
    }
  }
  for (int column = left; column < right; ++column) {
    for (const int row : {top - 1, bottom}) {
      right_everywhere = right_everywhere && same_bits(tile.now().at(row, column), plate.at(row, column));
    }
  }
  return right_everywhere;
}

void steps(MPI_Comm comm, void (*time_step)(Tile&)) {
  for (const auto& [rows, columns] : {std::pair(4, 4), std::pair(9, 31), std::pair(50, 7)}) {
    Tile tile(comm, rows, columns);
    expect_messages_of(tile);
    for (int step = 1; step <= 4; ++step) {
      messages = 0;
      time_step(tile);
      expect(messages <= 4, "A rank sends more than four messages: a row or column shall be one.");
      expect(differing(tile.now(), heat_serially(rows, columns, step)) == 0,
             "After " + std::to_string(step) + " time steps the tiles do not fit together: cells are wrong.");
    }
  }
}

/// One rank is late: the others begin the exchange without it, and do not end it without it.
void a_late_rank(MPI_Comm comm, int late) {
  constexpr int rows = 40, columns = 600;  // a row is too long for MPI to send it before the receive is begun
  int rank = 0;
  MPI_CHECK(MPI_Comm_rank(comm, &rank));
  Tile tile(comm, rows, columns);
  expect_messages_of(tile);
  exchange_then_work(tile);  // now the frame is out of date
  const Cells plate = heat_serially(rows, columns, 1);
  MPI_CHECK(MPI_Barrier(comm));
  if (rank == late) {
    MPI_Request begun;
    MPI_CHECK(MPI_Ibarrier(comm, &begun));
    int all_have_begun = 0;
    for (int i = 0; i < 2000 && !all_have_begun; ++i) {
      MPI_CHECK(MPI_Test(&begun, &all_have_begun, MPI_STATUS_IGNORE));
      usleep(1000);
    }
    expect(all_have_begun != 0, "begin_exchange() waits for a neighbour that has not begun yet.");
    usleep(20'000);
    tile.begin_exchange();
  } else {
    tile.begin_exchange();
    MPI_Request begun;
    MPI_CHECK(MPI_Ibarrier(comm, &begun));
    MPI_CHECK(MPI_Wait(&begun, MPI_STATUS_IGNORE));
  }
  tile.end_exchange();
  expect(frame_is_right(tile, plate),
         "A neighbour's cells are not in the frame: they have not come when "
         "end_exchange() returns.");
  expect(differing(tile.now(), plate) == 0, "The exchange has changed cells of this rank's own tile.");
  MPI_CHECK(MPI_Barrier(comm));
}

/// One rank is late to end the exchange: what it has begun goes on without that.
void a_late_end(MPI_Comm comm, int late) {
  int rank = 0;
  MPI_CHECK(MPI_Comm_rank(comm, &rank));
  Tile tile(comm, 40, 600);
  expect_messages_of(tile);
  MPI_CHECK(MPI_Barrier(comm));
  tile.begin_exchange();
  if (rank != late) tile.end_exchange();
  MPI_Request ended;
  MPI_CHECK(MPI_Ibarrier(comm, &ended));
  int all_have_ended = 0;
  for (int i = 0; i < 5000 && !all_have_ended; ++i) {
    MPI_CHECK(MPI_Test(&ended, &all_have_ended, MPI_STATUS_IGNORE));
    usleep(1000);
  }
  expect(all_have_ended != 0,
         "A neighbour's cells come only when it calls end_exchange(): begin_exchange() begins nothing.");
  if (rank == late) tile.end_exchange();
  MPI_CHECK(MPI_Barrier(comm));
}

}  // namespace

// These stand before MPI's own functions (MPI 4.0, chapter 15), and count.
extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  count_message(count, type, rank);
  return PMPI_Isend(data, count, type, rank, tag, comm, request);
}

extern "C" int MPI_Send(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm) {
  count_message(count, type, rank);
  return PMPI_Ssend(data, count, type, rank, tag, comm);  // it must not rely on copies that MPI makes
}

extern "C" int MPI_Issend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                          MPI_Request* request) {
  count_message(count, type, rank);
  return PMPI_Issend(data, count, type, rank, tag, comm, request);
}

int main() {
  const mpi::Environment world;
  for (int ranks = 1; ranks <= world.size(); ++ranks) {
    MPI_Comm comm = first_ranks(ranks, world.rank());
    if (comm != MPI_COMM_NULL) {
      steps(comm, exchange_then_work);
      steps(comm, exchange_during_work);
      if (ranks > 1) {
        for (const int late : {0, ranks - 1}) {
          a_late_rank(comm, late);
          a_late_end(comm, late);
        }
      }
      MPI_CHECK(MPI_Comm_free(&comm));
    }
    world.sleeping_barrier();  // with fewer cores than ranks, those with nothing to do leave them to the others
  }
  if (world.rank() == 0) cookbook::println("all tiles fit together");
  return 0;
}
