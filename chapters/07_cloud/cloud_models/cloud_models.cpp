// Service models
//
// A computer that runs an application is a stack of layers. Which service model of the cloud leaves you least work if
// you must control one of them yourself? The program prints who manages which layer in which model, also for machines
// of one's own; the last column names, for the layer of each row, the model to choose.
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

const char* who_manages(const Model& model, Layer layer) {
  if (!provider_manages(model, layer)) return "customer";
  return customer_manages(model, layer) ? "both" : "provider";
}

void print_row(std::string_view layer, std::string_view choice, auto cell) {
  std::string text = fmt::format("{:<17}", layer);
  for (const Model& model : models) text += fmt::format(" {:<11}", cell(model));
  cookbook::println("{} {}", text, choice);
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Show who manages which layer in the service models of the cloud");
  options.parse(argc, argv);

  print_row("must control", "choose", [](const Model& model) { return model.name; });
  std::vector<std::string> chosen;
  for (std::size_t i = layer_names.size(); i-- > 0;) {
    const Layer layer = Layer(i);
    chosen.emplace_back(model_for(layer).name);
    print_row(layer_names[i], chosen.back(), [&](const Model& model) { return who_manages(model, layer); });
  }

  cookbook::Checks checks;
  checks.equal("chosen", chosen, {"SaaS", "PaaS", "containers", "IaaS", "on premises", "on premises"});
  return checks.exit_code();
}
