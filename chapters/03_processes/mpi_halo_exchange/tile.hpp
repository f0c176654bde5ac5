/// One rank's tile of a plate. The frame around it, its halo, has copies of cells that other ranks own.
#pragma once

#include <utility>

#include "cookbook/mpi.hpp"
#include "plate.hpp"

class Tile {
 public:
  /// This rank's tile of a plate of `rows` x `columns` cells, at the start. Called by all ranks of `comm`.
  Tile(MPI_Comm comm, int rows, int columns) {
    int ranks, grid[2] = {0, 0}, place[2];
    const int wraps_around[2] = {0, 0};
    MPI_CHECK(MPI_Comm_size(comm, &ranks));
    MPI_CHECK(MPI_Dims_create(ranks, 2, grid));                          // 4 ranks are 2 x 2
    MPI_CHECK(MPI_Cart_create(comm, 2, grid, wraps_around, 1, &comm_));  // 1: MPI may give the ranks new numbers
    MPI_CHECK(MPI_Comm_rank(comm_, &rank));
    MPI_CHECK(MPI_Cart_coords(comm_, rank, 2, place));
    MPI_CHECK(MPI_Cart_shift(comm_, 0, 1, &rank_above, &rank_below));
    MPI_CHECK(MPI_Cart_shift(comm_, 1, 1, &rank_left, &rank_right));

    const auto first = [](int cells, int part, int parts) { return cells * part / parts + 1; };
    now_ = next_ = Cells({first(rows, place[0], grid[0]), first(rows, place[0] + 1, grid[0]),
                          first(columns, place[1], grid[1]), first(columns, place[1] + 1, grid[1])});
    width_ = area().right - area().left;
    const int height = area().bottom - area().top;
    // `height` times one cell, each a row further on; a row has width_ + 2 cells.
    MPI_CHECK(MPI_Type_vector(height, 1, width_ + 2, MPI_DOUBLE, &column_));
    MPI_CHECK(MPI_Type_commit(&column_));
  }
  ~Tile() {
    MPI_Type_free(&column_);
    MPI_Comm_free(&comm_);
  }
  Tile(const Tile&) = delete;
  Tile& operator=(const Tile&) = delete;

  const Cells& now() const { return now_; }
  const Area& area() const { return now_.area(); }

  /// Begins to send the outermost cells to the neighbours, and to receive theirs into the halo. Until end_exchange()
  /// the former must not be changed, and the latter not be read.
  void begin_exchange() {
    const auto [top, bottom, left, right] = area();
    //       requests, neighbour, first cell sent, first cell received, count, type
    transfer(0, rank_right, &now_.at(top, right - 1), &now_.at(top, right), 1, column_);
    transfer(2, rank_left, &now_.at(top, left), &now_.at(top, left - 1), 1, column_);
    transfer(4, rank_above, &now_.at(top, left), &now_.at(top - 1, left), width_, MPI_DOUBLE);
    transfer(6, rank_below, &now_.at(bottom - 1, left), &now_.at(bottom, left), width_, MPI_DOUBLE);
  }

  void end_exchange() { MPI_CHECK(MPI_Waitall(8, requests_, MPI_STATUSES_IGNORE)); }

  /// Computes the cells that need no halo: all but the outermost rows and columns.
  void work_inside() {
    const auto [top, bottom, left, right] = area();
    heat(now_, next_, {top + 1, bottom - 1, left + 1, right - 1});
  }

  /// Computes the outermost rows and columns.
  void work_at_the_border() {
    const auto [top, bottom, left, right] = area();
    heat(now_, next_, {top, top + 1, left, right});
    heat(now_, next_, {bottom - 1, bottom, left, right});
    heat(now_, next_, {top, bottom, left, left + 1});
    heat(now_, next_, {top, bottom, right - 1, right});
  }

  /// Ends the time step: the computed temperatures become those of now.
  void step() { std::swap(now_, next_); }

  int rank;                                           ///< this rank's number among those that have tiles
  int rank_above, rank_below, rank_left, rank_right;  ///< MPI_PROC_NULL beyond the plate's edge

 private:
  // One tag, 0, is enough: nothing wraps around, so no rank is a neighbour on two sides.
  void transfer(int i, int neighbour, const double* sent, double* received, int count, MPI_Datatype type) {
    MPI_CHECK(MPI_Irecv(received, count, type, neighbour, 0, comm_, &requests_[i]));
    MPI_CHECK(MPI_Isend(sent, count, type, neighbour, 0, comm_, &requests_[i + 1]));
  }

  MPI_Comm comm_;
  Cells now_{Area{}}, next_{Area{}};
  int width_;
  MPI_Datatype column_;
  MPI_Request requests_[8];
};

/// The naive time step: the halo keeps the temperatures of the start.
inline void without_exchange(Tile& tile) {
  tile.work_inside();
  tile.work_at_the_border();
  tile.step();
}

inline void exchange_then_work(Tile& tile) {
  tile.begin_exchange();
  tile.end_exchange();
  tile.work_inside();
  tile.work_at_the_border();
  tile.step();
}

inline void exchange_during_work(Tile& tile) {
  tile.begin_exchange();
  tile.work_inside();  // the cells may travel meanwhile
  tile.end_exchange();
  tile.work_at_the_border();
  tile.step();
}

/// This rank's tile after so many time steps of one form.
inline Cells tile_after(int steps, void (*time_step)(Tile&), int rows, int columns) {
  Tile tile(MPI_COMM_WORLD, rows, columns);
  for (int step = 0; step < steps; ++step) time_step(tile);
  return tile.now();
}
