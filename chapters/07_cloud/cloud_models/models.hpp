/// The layers of a computer, and who manages each of them in which service model, or on machines of one's own.
#pragma once

#include <array>
#include <string_view>

/// The layers, from the bottom of the stack to its top.
enum class Layer { hardware, virtualisation, operating_system, runtime, application, data };

inline constexpr std::array<std::string_view, 6> layer_names = {"hardware", "virtualisation", "operating system",
                                                                "runtime",  "application",    "data"};

/// A service model is a cut through the stack: the provider manages the layers below it, the customer the others. On
/// premises the cut is at the bottom. It may go through a layer, of which both then manage a part.
struct Model {
  std::string_view name;
  Layer lowest_of_customer;
  bool shared = false;  ///< whether the provider manages a part of this lowest layer
};

/// From the model that leaves most work to the customer to the one that leaves least.
inline constexpr std::array<Model, 5> models = {{{"on premises", Layer::hardware},
                                                 {"IaaS", Layer::operating_system},
                                                 {"containers", Layer::operating_system, true},
                                                 {"PaaS", Layer::application},
                                                 {"SaaS", Layer::data}}};

/// Whether the customer manages a layer, or a part of it.
constexpr bool customer_manages(const Model& model, Layer layer) { return layer >= model.lowest_of_customer; }

constexpr bool provider_manages(const Model& model, Layer layer) {
  return layer < model.lowest_of_customer || (layer == model.lowest_of_customer && model.shared);
}

/// The model that leaves least work to a customer who must control the whole of `layer`.
constexpr const Model& model_for(Layer layer) {
  const Model* best = &models.front();
  for (const Model& model : models) {
    if (!provider_manages(model, layer)) best = &model;
  }
  return *best;
}
