// An operator that says it is commutative
//
// The product of matrices depends on their order. This program tells MPI that it does not: MPI_Op_create(..., 1, ...).
// MPI may then combine whatever is at hand. With one matrix a rank the result is right, which is what a small test
// sees. With 1000 a rank, MPI cuts the array into pieces and begins each at another rank, so most of them are wrong. No
// call returns an error.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_reduce/mpi_reduce_commutative.cpp common/cookbook/*.cpp -lfmt -o mpi_reduce_commutative
// Run:     mpirun -n 3 mpi_reduce_commutative
// Symptom: exit 1, prints "of 1000 matrices, wrong:"

#include <algorithm>
#include <vector>

#include "matrix_product.hpp"
#include "mpi_session.hpp"

int main() {
  const mpi::Session session(3);
  const MPI_Datatype matrix = matrix_product::type();
  MPI_Op op;
  CHECK_MPI(MPI_Op_create(matrix_product::multiply, 1, &op));  // the fault: 1, commutative

  const matrix_product::Matrix expected = matrix_product::of_all(session.ranks());
  bool all_right = true;
  for (const int length : {1, 1000}) {
    const std::vector<matrix_product::Matrix> mine(static_cast<std::size_t>(length),
                                                   matrix_product::of_rank(session.rank()));
    std::vector<matrix_product::Matrix> all(mine.size());
    CHECK_MPI(MPI_Allreduce(mine.data(), all.data(), length, matrix, op, MPI_COMM_WORLD));
    const auto right = std::count(all.begin(), all.end(), expected);
    if (session.rank() == 0) cookbook::println("of {} matrices, wrong: {}", length, length - right);
    all_right = all_right && right == length;
  }
  return all_right ? 0 : 1;
}
