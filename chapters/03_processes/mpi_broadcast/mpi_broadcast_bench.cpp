// Broadcast, measured
//
// Compile: mpicxx -std=c++20 -O3 -march=native -Icommon -Ichapters/03_processes chapters/03_processes/mpi_broadcast/mpi_broadcast_bench.cpp common/cookbook/*.cpp -lfmt -o mpi_broadcast_bench
// Run:     mpirun -n 10 mpi_broadcast_bench [--up-to BYTES]

#include <algorithm>
#include <cstdint>
#include <vector>

#include "broadcast_by_hand.hpp"
#include "collective_bench.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"

int main(int argc, char** argv) {
  std::size_t up_to = 16 << 20;
  cookbook::Options options("What a broadcast costs, by the library and by hand");
  options.add("up-to", up_to, "largest size that is measured, in bytes", 8, 16 << 20);
  options.parse(argc, argv);

  const mpi::Environment world;
  cookbook::Figures times(fmt::format("a broadcast to {} ranks and a barrier", world.size()),
                          cookbook::cost("us", 1e-6));
  collective::add_barrier(times);
  bool right = true;
  for (const collective::Size& size : collective::sizes_up_to(up_to)) {
    const std::vector<std::uint64_t> sent = collective::random_numbers(size.bytes / sizeof(std::uint64_t), 1);
    std::vector<std::uint64_t> data = sent;
    const int bytes = static_cast<int>(size.bytes);
    const std::vector<collective::Form> forms = {
        {"MPI_Bcast", [&] { MPI_CHECK(MPI_Bcast(data.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD)); }},
        {"one by one", [&] { broadcast_one_by_one(data.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD); }},
        {"binomial tree", [&] { broadcast_by_tree(data.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD); }},
    };
    const auto spoil = [&] {
      if (world.rank() != 0) std::fill(data.begin(), data.end(), 0);
    };
    right = collective::compare(times, forms, size, spoil, [&] { return data == sent; }) && right;
  }

  cookbook::Checks checks;
  if (world.rank() == 0) {
    checks.that("every rank has the root's data, at every size and in each of the three ways", right);
    times.print(checks);
  }
  return world.exit_code(checks);
}
