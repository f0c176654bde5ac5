// All-reduce, measured
//
// MPI_Allreduce beside a reduction followed by a broadcast, and beside pieces that go round in a ring.
//
// Compile: mpicxx -std=c++20 -O3 -march=native -Icommon -Ichapters/03_processes chapters/03_processes/mpi_reduce/mpi_reduce_bench.cpp common/cookbook/*.cpp -lfmt -o mpi_reduce_bench
// Run:     mpirun -n 3 mpi_reduce_bench [--up-to N]

#include <algorithm>
#include <functional>
#include <vector>

#include "collective_bench.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"
#include "ring_all_reduce.hpp"

namespace {

/// The numbers of a rank: random, and whole, so that their sum is exact in any order.
Numbers numbers_of(int rank, std::size_t length) {
  Numbers numbers;
  for (const std::uint64_t random : collective::random_numbers(length, static_cast<unsigned>(rank + 1))) {
    numbers.push_back(static_cast<double>(random >> 34));
  }
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t up_to = 16 << 20;
  cookbook::Options options("Measure an all-reduce in three ways");
  options.add("up-to", up_to, "largest array of each rank, in bytes", 8, 16 << 20);
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();
  cookbook::Figures times("an all-reduce and a barrier", cookbook::cost("us", 1e-6));
  collective::add_barrier(times);
  bool right = true;
  for (const collective::Size& size : collective::sizes_up_to(up_to)) {
    const Numbers mine = numbers_of(rank, size.bytes / sizeof(double));
    const int length = static_cast<int>(mine.size());
    Numbers expected(mine.size()), total(mine.size());
    for (int i = 0; i < ranks; ++i) {
      const Numbers other = numbers_of(i, mine.size());
      std::transform(expected.begin(), expected.end(), other.begin(), expected.begin(), std::plus<>());
    }
    const std::vector<collective::Form> forms = {
        {"MPI_Allreduce",
         [&] { MPI_CHECK(MPI_Allreduce(mine.data(), total.data(), length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)); }},
        {"reduce, broadcast",
         [&] {
           MPI_CHECK(MPI_Reduce(mine.data(), total.data(), length, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
           MPI_CHECK(MPI_Bcast(total.data(), length, MPI_DOUBLE, 0, MPI_COMM_WORLD));
         }},
        {"ring", [&] { ring_all_reduce(mine, total, rank, ranks); }},
    };
    right &= collective::compare(
        times, forms, size, [&] { std::fill(total.begin(), total.end(), -1.0); }, [&] { return total == expected; });
  }
  cookbook::Checks checks;
  if (rank == 0) {
    checks.that("every size, all three ways: every rank has the sum", right);
    times.print(checks);
  }
  return world.exit_code(checks);
}
