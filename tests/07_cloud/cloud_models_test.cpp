// The program's table, and the functions behind it.

#include "07_cloud/cloud_models/models.hpp"

#include <string>

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(cloud_models, prints_who_manages_which_layer) {
  const auto result = run("cloud_models");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const char* line : {"layer             on premises IaaS        PaaS        SaaS",
                           "data              customer    customer    customer    customer",
                           "application       customer    customer    customer    provider",
                           "runtime           customer    customer    provider    provider",
                           "operating-system  customer    customer    provider    provider",
                           "virtualisation    customer    provider    provider    provider",
                           "hardware          customer    provider    provider    provider"}) {
    EXPECT_TRUE(result.has_line(line)) << line << "\n" << result.text();
  }
  // From the top of the stack to its bottom, below the names of the models.
  EXPECT_THAT(result.captures("^([a-z-]+)  .*(?:customer|provider|SaaS)$"),
              testing::ElementsAre("layer", "data", "application", "runtime", "operating-system", "virtualisation",
                                   "hardware"));
}

TEST(cloud_models, finds_the_model_for_each_layer) {
  const std::map<std::string, std::string> expected = {{"data", "SaaS"},
                                                       {"application", "PaaS"},
                                                       {"runtime", "IaaS"},
                                                       {"operating-system", "IaaS"},
                                                       {"virtualisation", "on premises"},
                                                       {"hardware", "on premises"}};
  ASSERT_EQ(expected.size(), layer_names.size());
  for (const auto& [layer, model] : expected) {
    const auto result = run("cloud_models", {"--control", layer});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("to control the layer " + layer + ": " + model)) << result.text();
  }
}

TEST(cloud_models_models, what_the_customer_manages_lies_above_what_the_provider_manages) {
  for (const Model& model : models) {
    for (std::size_t i = 1; i < layer_names.size(); ++i) {
      EXPECT_LE(customer_manages(model, Layer(i - 1)), customer_manages(model, Layer(i))) << model.name;
    }
    EXPECT_TRUE(customer_manages(model, Layer::data)) << model.name;
  }
}

TEST(cloud_models_models, the_one_that_is_chosen_leaves_the_layer_to_the_customer_and_the_next_one_does_not) {
  for (std::size_t i = 0; i < layer_names.size(); ++i) {
    const Model& chosen = model_for(Layer(i));
    EXPECT_TRUE(customer_manages(chosen, Layer(i)));
    if (&chosen == &models.back()) continue;
    EXPECT_FALSE(customer_manages(*(&chosen + 1), Layer(i)));
  }
}

TEST(cloud_models_unpatched, names_exactly_the_layers_between_the_two_models) {
  const auto result = run("cloud_models_unpatched");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, testing::ElementsAre("nobody updates the operating-system", "nobody updates the runtime"));
}

}  // namespace
