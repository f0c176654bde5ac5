/// A program that starts itself as four ranks.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "cookbook/print.hpp"
#include "cookbook/process.hpp"

namespace debug_mpi {

/// Whether Open MPI's mpirun has started this process.
inline bool is_rank() { return std::getenv("OMPI_COMM_WORLD_RANK") != nullptr; }

/// The command that starts this program as four ranks, with these arguments. As root and with more ranks than cores,
/// too: these options are Open MPI's.
inline std::vector<std::string> mpirun(std::vector<std::string> arguments) {
  std::vector<std::string> words = {"mpirun",
                                    "--quiet",
                                    "--allow-run-as-root",
                                    "--oversubscribe",
                                    "-n",
                                    "4",
                                    cookbook::beside_this_program(std::string(cookbook::program_name()))};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace debug_mpi
