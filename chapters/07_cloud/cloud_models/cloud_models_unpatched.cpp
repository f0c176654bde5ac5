// Pitfall: the list of duties of the old model is kept
//
// A team has used a platform (PaaS) and installs updates for its application alone. Then it rents virtual machines
// (IaaS) instead, and keeps its list. The provider now looks after the hardware and the virtualisation only. Two layers
// are left that neither of them updates, and nothing fails. The program compares the two lists.
//
// Compile: g++ -std=c++20 -O2 chapters/07_cloud/cloud_models/cloud_models_unpatched.cpp -o cloud_models_unpatched
// Run:     cloud_models_unpatched
// Symptom: exit 1, prints "nobody updates the operating system"

#include <cstdio>

#include "models.hpp"

int main() {
  // The new contract, and the old one.
  const Model& iaas = models[1];
  const Model& paas = models[3];
  int forgotten = 0;
  for (std::size_t i = 0; i < layer_names.size(); ++i) {
    const Layer layer = Layer(i);
    const bool by_customer = customer_manages(paas, layer);  // wrong: the list that was right before the move
    const bool by_provider = provider_manages(iaas, layer);  // what the new contract says
    if (by_customer || by_provider) continue;
    std::printf("nobody updates the %s\n", layer_names[i].data());
    ++forgotten;
  }
  if (forgotten == 0) std::puts("every layer has somebody who updates it");
  return forgotten > 0 ? 1 : 0;
}
