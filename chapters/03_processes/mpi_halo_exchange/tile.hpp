/// One rank's tile of the plate, with a halo: copies of the cells just beyond its borders, which other ranks have.
#pragma once

#include <array>
#include <thread>
#include <utility>
#include <vector>

#include "cookbook/measure.hpp"
#include "mpi_session.hpp"
#include "plate.hpp"

namespace halo {

constexpr int halo_tag = 1, plate_tag = 2;

/// A datatype of MPI: a block of `rows` x `columns` numbers in a grid whose rows begin `stride` numbers apart.
class Block {
 public:
  Block(int rows, int columns, int stride) {
    CHECK_MPI(MPI_Type_vector(rows, columns, stride, MPI_DOUBLE, &type_));
    CHECK_MPI(MPI_Type_commit(&type_));
  }
  ~Block() { MPI_Type_free(&type_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_;
};

/// The ranks in rows and columns, as square as their number allows: 4 are 2 x 2, 6 are 3 x 2, 7 are 7 x 1.
struct Topology {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, ranks = 0;
  std::array<int, 2> shape{};                     ///< rows of ranks, columns of ranks
  int above = 0, below = 0, left = 0, right = 0;  ///< the neighbours' ranks

  explicit Topology(MPI_Comm all) {
    CHECK_MPI(MPI_Comm_size(all, &ranks));
    CHECK_MPI(MPI_Dims_create(ranks, 2, shape.data()));
    const int wrap_around[] = {0, 0}, renumber = 0;
    CHECK_MPI(MPI_Cart_create(all, 2, shape.data(), wrap_around, renumber, &comm));
    CHECK_MPI(MPI_Comm_rank(comm, &rank));
    // Beyond the plate's edge the neighbour is MPI_PROC_NULL; what is sent there or received from there is nothing.
    CHECK_MPI(MPI_Cart_shift(comm, 0, 1, &above, &below));
    CHECK_MPI(MPI_Cart_shift(comm, 1, 1, &left, &right));
  }
  ~Topology() { MPI_Comm_free(&comm); }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  /// The cells of rank `other`. The sides of the tiles differ by one cell at most.
  Area part_of(const Plate& plate, int other) const {
    std::array<int, 2> place{};
    CHECK_MPI(MPI_Cart_coords(comm, other, 2, place.data()));
    const auto border = [](long cells, int index, int parts) { return static_cast<int>(cells * index / parts) + 1; };
    return {border(plate.rows, place[0], shape[0]), border(plate.rows, place[0] + 1, shape[0]),
            border(plate.columns, place[1], shape[1]), border(plate.columns, place[1] + 1, shape[1])};
  }
};

class Tile {
 public:
  /// This rank's tile, at the start; called by all of `ranks`. `link` is how many seconds an exchange takes at least: a
  /// slower network, in play.
  Tile(MPI_Comm ranks, const Plate& plate, double link = 0)
      : topology_(ranks),
        plate_(plate),
        now_(plate, topology_.part_of(plate, topology_.rank)),
        next_(now_),
        row_(1, now_.area().columns(), now_.stride()),
        column_(now_.area().rows(), 1, now_.stride()),
        link_(link) {}

  /// Begins to receive the halo and to send the border cells, which are the neighbours' halo. Until end_exchange() the
  /// halo must not be read, and the border cells must not be changed.
  void begin_exchange() {
    const Area tile = now_.area();
    begun_ = cookbook::Stopwatch();
    receive(tile.top - 1, tile.left, row_, topology_.above);
    receive(tile.bottom, tile.left, row_, topology_.below);
    receive(tile.top, tile.left - 1, column_, topology_.left);
    receive(tile.top, tile.right, column_, topology_.right);
    send(tile.top, tile.left, row_, topology_.above);
    send(tile.bottom - 1, tile.left, row_, topology_.below);
    send(tile.top, tile.left, column_, topology_.left);
    send(tile.top, tile.right - 1, column_, topology_.right);
  }

  /// Waits until the halo is here and the border cells are sent.
  void end_exchange() {
    CHECK_MPI(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
    requests_.clear();
    while (begun_.seconds() < link_) std::this_thread::yield();
  }

  Area whole() const { return now_.area(); }

  /// The cells that need no halo: all but those on the sides where there is a neighbour.
  Area inner() const {
    const auto [top, bottom, left, right] = now_.area();
    const auto strip = [](int neighbour) { return neighbour == MPI_PROC_NULL ? 0 : 1; };
    return {top + strip(topology_.above), bottom - strip(topology_.below),  //
            left + strip(topology_.left), right - strip(topology_.right)};
  }

  /// The others, in four strips, some of them perhaps empty.
  std::array<Area, 4> borders() const {
    const Area all = whole(), in = inner();
    return {{{all.top, in.top, all.left, all.right},
             {in.bottom, all.bottom, all.left, all.right},
             {in.top, in.bottom, all.left, in.left},
             {in.top, in.bottom, in.right, all.right}}};
  }

  /// Computes the next temperatures of the cells of `area`.
  void work(const Area& area) { halo::work(now_, next_, area); }

  /// Makes the next temperatures those of now.
  void step_on() { std::swap(now_, next_); }

  /// The whole plate as it is now, on rank 0; a grid without cells on the others. Called by all.
  Grid collect() {
    Grid plate(plate_, topology_.rank == 0 ? plate_.area() : nowhere);
    const Block own(now_.area().rows(), now_.area().columns(), now_.stride());
    send(whole().top, whole().left, own, 0, plate_tag);
    for (int from = 0; topology_.rank == 0 && from < topology_.ranks; ++from) {
      const Area part = topology_.part_of(plate_, from);
      const Block block(part.rows(), part.columns(), plate.stride());
      CHECK_MPI(MPI_Recv(plate.at(part.top, part.left), 1, block, from, plate_tag, topology_.comm, MPI_STATUS_IGNORE));
    }
    end_exchange();
    return plate;
  }

 private:
  void receive(int row, int column, const Block& block, int from) {
    CHECK_MPI(MPI_Irecv(now_.at(row, column), 1, block, from, halo_tag, topology_.comm, &requests_.emplace_back()));
  }
  void send(int row, int column, const Block& block, int to, int tag = halo_tag) {
    CHECK_MPI(MPI_Isend(now_.at(row, column), 1, block, to, tag, topology_.comm, &requests_.emplace_back()));
  }

  Topology topology_;
  Plate plate_;
  Grid now_, next_;
  Block row_, column_;
  double link_;
  cookbook::Stopwatch begun_;
  std::vector<MPI_Request> requests_;
};

/// A time step: first the exchange, then all the work.
inline void exchange_then_work(Tile& tile) {
  tile.begin_exchange();
  tile.end_exchange();
  tile.work(tile.whole());
  tile.step_on();
}

/// A time step: the cells that need no halo are worked on while it is on its way.
inline void exchange_during_work(Tile& tile) {
  tile.begin_exchange();
  tile.work(tile.inner());
  tile.end_exchange();
  for (const Area& strip : tile.borders()) tile.work(strip);
  tile.step_on();
}

/// The parallel form: the plate after `steps` time steps, on rank 0. Called by all of `ranks`.
inline Grid by_ranks(MPI_Comm ranks, const Plate& plate, int steps, void (*time_step)(Tile&)) {
  Tile tile(ranks, plate);
  for (int step = 0; step < steps; ++step) time_step(tile);
  return tile.collect();
}

}  // namespace halo
