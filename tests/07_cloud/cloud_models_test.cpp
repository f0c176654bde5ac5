// The program's table, and the functions behind it.

#include "07_cloud/cloud_models/models.hpp"

#include <string>
#include <vector>

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(cloud_models, prints_who_manages_which_layer_and_what_each_need_leads_to) {
  const auto result = run("cloud_models");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  // From the top of the stack to its bottom, below the names of the models; then the needs.
  const std::vector<std::string> output = {
      "who manages       on premises  IaaS         containers   PaaS         SaaS",
      "data              customer     customer     customer     customer     customer",
      "application       customer     customer     customer     customer     provider",
      "runtime           customer     customer     customer     provider     provider",
      "operating system  customer     customer     both         provider     provider",
      "virtualisation    customer     provider     provider     provider     provider",
      "hardware          customer     provider     provider     provider     provider",
      "",
      "you need                    so you control    you rent     you update",
      "a mailbox                   data              SaaS         nothing",
      "an application of your own  application       PaaS         application",
      "an interpreter of your own  runtime           containers   application, runtime, operating system (a part)",
      "a kernel module             operating system  IaaS         application, runtime, operating system",
      "a hypervisor of your own    virtualisation    on premises  "
      "application, runtime, operating system, virtualisation, hardware",
      "ok    models with less work that would do as well: 0"};
  EXPECT_EQ(result.out, output) << result.text();
}

TEST(cloud_models_models, what_the_customer_manages_lies_above_what_the_provider_manages) {
  for (const Model& model : models) {
    for (std::size_t i = 1; i < layer_names.size(); ++i) {
      EXPECT_LE(customer_manages(model, Layer(i - 1)), customer_manages(model, Layer(i))) << model.name;
      EXPECT_GE(provider_manages(model, Layer(i - 1)), provider_manages(model, Layer(i))) << model.name;
    }
    for (std::size_t i = 0; i < layer_names.size(); ++i) {
      EXPECT_TRUE(customer_manages(model, Layer(i)) || provider_manages(model, Layer(i))) << model.name;
    }
    EXPECT_TRUE(customer_manages(model, Layer::data)) << model.name;
  }
}

TEST(cloud_models_models, the_one_that_is_chosen_leaves_the_whole_layer_to_the_customer_and_the_next_one_does_not) {
  for (std::size_t i = 0; i < layer_names.size(); ++i) {
    const Model& chosen = model_for(Layer(i));
    EXPECT_TRUE(customer_manages(chosen, Layer(i)) && !provider_manages(chosen, Layer(i)));
    if (&chosen == &models.back()) continue;
    EXPECT_TRUE(provider_manages(*(&chosen + 1), Layer(i)));
  }
}

TEST(cloud_models_unpatched, names_exactly_the_layers_between_the_two_models) {
  const auto result = run("cloud_models_unpatched");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, testing::ElementsAre("nobody updates the operating system", "nobody updates the runtime"));
}

}  // namespace
