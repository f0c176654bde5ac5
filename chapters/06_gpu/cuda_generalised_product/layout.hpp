/// The layout of a generalised function: what the sizes of its inputs say about the size of its result.
#pragma once

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/print.hpp"

/// The sizes of an array, such as (1000,4,10): 1000 matrices of 4 rows and 10 columns.
using Shape = std::vector<std::size_t>;

/// The names of an array's sizes, such as {"m", "n"}.
using Names = std::vector<std::string>;

struct Layout {
  std::vector<Names> inputs;
  Names output;

  /// The shape of the result. A shape may have one size more than its names: the loop, which stands first. Throws
  /// std::invalid_argument if two sizes with the same name differ, or two loops.
  Shape result(const std::vector<Shape>& shapes) const {
    std::map<std::string, std::size_t> sizes;
    for (std::size_t input = 0; input < inputs.size(); ++input) {
      const Shape& shape = shapes.at(input);
      Names names = inputs[input];
      if (shape.size() == names.size() + 1) names.insert(names.begin(), "loop");
      if (shape.size() != names.size()) throw std::invalid_argument("an input has the wrong number of dimensions");
      for (std::size_t i = 0; i < names.size(); ++i) {
        const std::size_t known = sizes.emplace(names[i], shape[i]).first->second;
        if (known != shape[i]) throw std::invalid_argument(fmt::format("{} is {} and {}", names[i], known, shape[i]));
      }
    }
    Shape of_result;
    if (sizes.contains("loop")) of_result.push_back(sizes.at("loop"));
    for (const std::string& name : output) of_result.push_back(sizes.at(name));
    return of_result;
  }
};

/// (m,n),(n,p)->(m,p): the product of two matrices.
inline const Layout product_layout = {{{"m", "n"}, {"n", "p"}}, {"m", "p"}};
