// Service models
//
// A computer that runs an application is a stack of layers. Which service model of the cloud leaves you least work if
// you must control one of them yourself? The program prints who manages which layer in which model, also for machines
// of one's own. Then it takes five needs, and prints for each the model to rent and what one has to update in it.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/cloud_models/cloud_models.cpp common/cookbook/*.cpp -lfmt -pthread -o cloud_models
// Run:     cloud_models

#include <string>
#include <string_view>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "models.hpp"

namespace {

/// What you need, and the lowest layer that you must control for it.
struct Need {
  std::string_view what;
  Layer lowest;
};
constexpr Need needs[] = {{"a mailbox", Layer::data},
                          {"an application of your own", Layer::application},
                          {"an interpreter of your own", Layer::runtime},
                          {"a kernel module", Layer::operating_system},
                          {"a hypervisor of your own", Layer::virtualisation}};

const char* who_manages(const Model& model, Layer layer) {
  if (!provider_manages(model, layer)) return "customer";
  return customer_manages(model, layer) ? "both" : "provider";
}

/// The layers that a customer of this model updates: from the application down to the cut.
std::string updates(const Model& model) {
  std::vector<std::string> layers;
  for (int i = int(Layer::application); i >= 0 && customer_manages(model, Layer(i)); --i) {
    layers.push_back(std::string(layer_names[i]) + (provider_manages(model, Layer(i)) ? " (a part)" : ""));
  }
  return layers.empty() ? "nothing" : fmt::format("{}", fmt::join(layers, ", "));
}

void print_row(std::string_view layer, auto cell) {
  std::string text = fmt::format("{:<16}", layer);
  for (const Model& model : models) text += fmt::format("  {:<11}", cell(model));
  cookbook::println("{}", text.substr(0, text.find_last_not_of(' ') + 1));
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Show who manages which layer in the service models of the cloud");
  options.parse(argc, argv);

  print_row("who manages", [](const Model& model) { return model.name; });
  for (std::size_t i = layer_names.size(); i-- > 0;) {
    print_row(layer_names[i], [&](const Model& model) { return who_manages(model, Layer(i)); });
  }

  int better = 0;
  cookbook::println("\n{:<26}  {:<16}  {:<11}  {}", "you need", "so you control", "you rent", "you update");
  for (const auto& [what, lowest] : needs) {
    const Model& chosen = model_for(lowest);
    cookbook::println("{:<26}  {:<16}  {:<11}  {}", what, layer_names[std::size_t(lowest)], chosen.name,
                      updates(chosen));
    for (const Model& model : models) better += &model > &chosen && !provider_manages(model, lowest);
  }

  cookbook::Checks checks;
  checks.equal("models with less work that would do as well", better, 0);
  return checks.exit_code();
}
