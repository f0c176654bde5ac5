// Tests a halo exchange that a learner has written.

#include "tile.hpp"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

using judge::expect;

namespace {

int messages = 0;                    // sent by this rank
long row_size = 0, column_size = 0;  // in bytes, of this rank's tile

std::vector<MPI_Request> persistent_sends, persistent_receives;
bool receives_late = false;              // this rank only seems to begin its receives,
std::vector<MPI_Request> late_receives;  // which are these

void expect_row_or_column(int count, MPI_Datatype type, int rank) {
  int size = 0;
  PMPI_Type_size(type, &size);
  const long bytes = static_cast<long>(count) * size;
  expect(rank == MPI_PROC_NULL || bytes == row_size || bytes == column_size,
         "A rank sends a message that is no row and no column of its own cells.");
}

/// A message to a neighbour.
void count_message(int count, MPI_Datatype type, int rank) {
  ++messages;
  expect_row_or_column(count, type, rank);
}

/// Notes a request that may be started again and again. When it has been freed, MPI may give its handle to another one.
void note(MPI_Request request, std::vector<MPI_Request>& here, std::vector<MPI_Request>& no_longer_here) {
  here.push_back(request);
  std::erase(no_longer_here, request);
}

bool is_one_of(const std::vector<MPI_Request>& requests, MPI_Request request) {
  return std::find(requests.begin(), requests.end(), request) != requests.end();
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

constexpr double junk = -1e9;  // no cell has this temperature

/// Writes junk to all memory that is free on the heap, and keeps it.
class FreeMemory {
 public:
  FreeMemory() {
    for (std::unique_ptr<double[]>& block : blocks_) {
      block.reset(new double[size]);
      std::fill_n(block.get(), size, junk);
    }
  }
  bool is_junk() const {
    return std::all_of(blocks_.begin(), blocks_.end(), [](const std::unique_ptr<double[]>& block) {
      return std::all_of(block.get(), block.get() + size, [](double number) { return number == junk; });
    });
  }

 private:
  static constexpr std::size_t size = 100;  // small enough for what a vector of a column's cells leaves behind
  std::vector<std::unique_ptr<double[]>> blocks_ = std::vector<std::unique_ptr<double[]>>(20'000);
};

/// Writes junk to the stack, where the local variables of a function were that has returned.
[[gnu::noinline]] void fill_stack() {
  volatile double below[16'000];
  for (volatile double& number : below) number = junk;
}

[[gnu::noinline]] void begin(Tile& tile) { tile.begin_exchange(); }

bool has_junk(const Cells& cells) {
  const auto [top, bottom, left, right] = cells.area();
  for (int row = top - 1; row <= bottom; ++row) {
    for (int column = left - 1; column <= right; ++column) {
      if (cells.at(row, column) < 0) return true;
    }
  }
  return false;
}

/// One rank is late: the others begin the exchange without it, and do not end it without it. A row, or a column, is too
/// long for MPI to send it before the receive is begun.
void a_late_rank(MPI_Comm comm, int late, int rows, int columns) {
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
  }
  begin(tile);
  const FreeMemory free_memory;
  fill_stack();
  if (rank != late) {
    MPI_Request begun;
    MPI_CHECK(MPI_Ibarrier(comm, &begun));
    MPI_CHECK(MPI_Wait(&begun, MPI_STATUS_IGNORE));
  }
  tile.end_exchange();
  expect(!has_junk(tile.now()) && free_memory.is_junk(),
         "begin_exchange() has left memory behind that MPI still uses: what is sent or received must exist until the "
         "request is done.");
  expect(frame_is_right(tile, plate),
         "A neighbour's cells are not in the frame: they have not come when "
         "end_exchange() returns.");
  expect(differing(tile.now(), plate) == 0, "The exchange has changed cells of this rank's own tile.");
  MPI_CHECK(MPI_Barrier(comm));
}

/// One rank begins its receives late: its neighbours do not end the exchange while they still send to it.
void a_late_receive(MPI_Comm comm, int late) {
  enum { stranger, neighbour };
  int rank = 0, ranks = 0;
  MPI_CHECK(MPI_Comm_rank(comm, &rank));
  MPI_CHECK(MPI_Comm_size(comm, &ranks));
  Tile tile(comm, 40, 40);
  expect_messages_of(tile);
  int its_number = tile.rank;
  MPI_CHECK(MPI_Bcast(&its_number, 1, MPI_INT, late, comm));
  receives_late = rank == late;
  tile.begin_exchange();
  receives_late = false;
  if (rank == late) {
    int has_ended = 0;
    for (int i = 0; i < 50 && !has_ended && !late_receives.empty(); ++i) {
      MPI_CHECK(MPI_Iprobe(MPI_ANY_SOURCE, neighbour, comm, &has_ended, MPI_STATUS_IGNORE));
      usleep(1000);
    }
    expect(!has_ended, "end_exchange() returns while this rank still sends: a neighbour has not received its cells.");
    for (MPI_Request& request : late_receives) PMPI_Start(&request);
    late_receives.clear();
    tile.end_exchange();
    for (int i = 1; i < ranks; ++i) {
      MPI_CHECK(MPI_Recv(nullptr, 0, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
    }
  } else {
    tile.end_exchange();
    const auto sides = {tile.rank_above, tile.rank_below, tile.rank_left, tile.rank_right};
    const bool beside = std::find(sides.begin(), sides.end(), its_number) != sides.end();
    PMPI_Send(nullptr, 0, MPI_CHAR, late, beside ? neighbour : stranger, comm);
  }
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

// These stand before MPI's own functions (MPI 4.0, chapter 15). They count, and no send is done before it is received:
// nobody may rely on copies that MPI makes.
extern "C" int MPI_Issend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                          MPI_Request* request) {
  count_message(count, type, rank);
  return PMPI_Issend(data, count, type, rank, tag, comm, request);
}

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  return MPI_Issend(data, count, type, rank, tag, comm, request);
}

extern "C" int MPI_Send(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm) {
  count_message(count, type, rank);
  return PMPI_Ssend(data, count, type, rank, tag, comm);
}

extern "C" int MPI_Ssend_init(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                              MPI_Request* request) {
  expect_row_or_column(count, type, rank);
  const int error = PMPI_Ssend_init(data, count, type, rank, tag, comm, request);
  note(*request, persistent_sends, persistent_receives);
  return error;
}

extern "C" int MPI_Send_init(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                             MPI_Request* request) {
  return MPI_Ssend_init(data, count, type, rank, tag, comm, request);
}

extern "C" int MPI_Recv_init(void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                             MPI_Request* request) {
  const int error = PMPI_Recv_init(data, count, type, rank, tag, comm, request);
  note(*request, persistent_receives, persistent_sends);
  return error;
}

extern "C" int MPI_Irecv(void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  if (!receives_late) return PMPI_Irecv(data, count, type, rank, tag, comm, request);
  const int error = PMPI_Recv_init(data, count, type, rank, tag, comm, request);
  late_receives.push_back(*request);
  return error;
}

extern "C" int MPI_Start(MPI_Request* request) {
  if (receives_late && is_one_of(persistent_receives, *request)) {
    late_receives.push_back(*request);
    return MPI_SUCCESS;
  }
  messages += is_one_of(persistent_sends, *request);
  return PMPI_Start(request);
}

extern "C" int MPI_Startall(int count, MPI_Request* requests) {
  int error = MPI_SUCCESS;
  for (int i = 0; i < count && error == MPI_SUCCESS; ++i) error = MPI_Start(requests + i);
  return error;
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
          a_late_rank(comm, late, 40, 3000);
          a_late_rank(comm, late, 3000, 40);
          a_late_receive(comm, late);
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
