/// A toy von Neumann machine: one processor, one memory for code and data alike, one instruction after another.
#pragma once

#include <cstddef>
#include <vector>

#include "cookbook/print.hpp"

/// The memory is a row of numbers. As an instruction, a number says what to do (its hundreds) with which cell (the
/// rest): 1xx loads the cell into the accumulator, 2xx adds the cell to it, 3xx stores it in the cell, 0 halts.
class VonNeumannMachine {
 public:
  explicit VonNeumannMachine(std::vector<int> memory) : memory_(std::move(memory)) {}

  /// Runs from cell 0 to a halt, and prints each step; returns how many there were.
  int run() {
    int steps = 0;
    for (bool halted = false; !halted; ++steps) {
      const std::size_t from = counter_++;
      const int instruction = memory_.at(from);  // fetch: from the memory into a register of the processor
      const int operation = instruction / 100;   // decode: which circuit, which cell
      int& cell = memory_.at(static_cast<std::size_t>(instruction % 100));
      const char* name = "halt ";
      switch (operation) {  // execute
        case 1:
          name = "load ", accumulator_ = cell;
          break;
        case 2:
          name = "add  ", accumulator_ += cell;
          break;
        case 3:
          name = "store", cell = accumulator_;
          break;
        default:
          halted = true;
      }
      cookbook::println("  fetch {:3} from cell {}, decode: {} {}, execute: accumulator is {}", instruction, from, name,
                        instruction % 100, accumulator_);
    }
    return steps;
  }

  int at(std::size_t cell) const { return memory_.at(cell); }

 private:
  std::vector<int> memory_;
  std::size_t counter_ = 0;  ///< the cell of the next instruction
  int accumulator_ = 0;
};
