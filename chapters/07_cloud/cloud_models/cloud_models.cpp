// Service models
//
// A computer that runs an application is a stack of layers, from the hardware to the data. The service models of the
// cloud differ in one thing: the height at which the stack is cut. The provider manages what is below the cut, the
// customer what is above it. The program prints this table, and finds the model that leaves you least work if there is
// a layer that you must control yourself.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/cloud_models/cloud_models.cpp common/cookbook/*.cpp -lfmt -pthread -o cloud_models
// Run:     cloud_models [--control LAYER]

#include <algorithm>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "models.hpp"

namespace {

std::string row(std::string_view first, auto cell) {
  std::string text = fmt::format("{:<17}", first);
  for (const Model& model : models) text += fmt::format(" {:<11}", cell(model));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

int layers_of_customer(const Model& model) {
  int count = 0;
  for (std::size_t i = 0; i < layer_names.size(); ++i) count += customer_manages(model, Layer(i));
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  std::string control = "application";
  cookbook::Options options("Show who manages which layer in the service models of the cloud");
  options.add_choice("control", control, "the lowest layer that you must control yourself",
                     {layer_names.begin(), layer_names.end()});
  options.parse(argc, argv);

  cookbook::println("{}", row("layer", [](const Model& model) { return model.name; }));
  for (std::size_t i = layer_names.size(); i-- > 0;) {
    cookbook::println("{}", row(layer_names[i], [&](const Model& model) {
                        return customer_manages(model, Layer(i)) ? "customer" : "provider";
                      }));
  }
  const auto chosen = std::find(layer_names.begin(), layer_names.end(), control) - layer_names.begin();
  cookbook::println("to control the layer {}: {}", control, model_for(Layer(chosen)).name);

  std::vector<int> left;  // the layers that each model leaves to the customer
  for (const Model& model : models) left.push_back(layers_of_customer(model));

  cookbook::Checks checks;
  checks.equal("layers that the customer manages", left, {6, 4, 2, 1});
  checks.equal("model for a program of one's own", std::string(model_for(Layer::application).name), "PaaS");
  checks.equal("model for an operating system of one's own", std::string(model_for(Layer::operating_system).name),
               "IaaS");
  return checks.exit_code();
}
