// The program's output, and the shop from inside and from several clients.

#include "05_distributed/shop/shop.hpp"

#include <kj/timer.h>

#include <cstdio>
#include <limits>
#include <memory>

#include "05_distributed/node.hpp"
#include "cookbook/process.hpp"
#include "support/run.hpp"

namespace {

using remote::error_of;
using test_support::run;

constexpr long most = 1'000'000'000;  // cents in one call

void serve_shop() {
  remote::Node node;
  cookbook::println("{}", node.add(kj::heap<Shop>()));
  node.serve();
}

/// Calls of the shop that `shop` stands for.
struct Calls {
  remote::Node& node;
  api::Shop::Client& shop;

  template <typename Request>
  auto call(Request request, const std::string& name) {
    request.setName(name);
    return node.call(request);
  }
  template <typename Request>
  void call(Request request, const std::string& name, long cents) {
    request.setCents(cents);
    call(kj::mv(request), name);
  }
  void log_on(const std::string& name) { call(shop.logOnRequest(), name); }
  void deposit(const std::string& name, long cents) { call(shop.depositRequest(), name, cents); }
  void buy(const std::string& name, long cents) { call(shop.buyRequest(), name, cents); }
  long balance(const std::string& name) { return call(shop.balanceRequest(), name).getCents(); }
  unsigned accounts() { return node.call(shop.allAccountsRequest()).getAccounts().size(); }
};

struct shop_object : testing::Test {
  ~shop_object() noexcept override {}  // the members' destructors may throw, as Cap'n Proto's do
  remote::Node node;
  api::Shop::Client client = kj::heap<Shop>();
  Calls shop{node, client};
};

/// What the row of this kind of shop says: how it reads and writes the balance for two deposits, which share of the
/// money it has kept, in percent, and how many deposits it takes per second.
struct Row {
  std::string steps;
  double kept = -1, per_second = -1;
};

Row row_of(const test_support::Result& result, const std::string& kind) {
  const auto rows = result.lines_with("^" + kind + "  +[a-z0-9 ,]+ [0-9]+[.][0-9] % +[0-9]+ /s$");
  if (rows.size() != 1) return {};
  Row row;
  const std::size_t steps = rows[0].find_first_not_of(' ', kind.size()), figures = rows[0].find("  ", steps);
  row.steps = rows[0].substr(steps, figures - steps);
  std::sscanf(rows[0].c_str() + figures, "%lf %% %lf", &row.kept, &row.per_second);
  return row;
}

TEST(shop, only_the_shop_that_waits_between_reading_and_writing_loses_money_and_nothing_is_left_behind) {
  const auto result = run("shop", {"--clients", "3", "--deposits", "111"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
  EXPECT_TRUE(result.has_line("ok    cents kept by all shops but the second: [333, 333, 333]")) << result.text();
  const Row none = row_of(result, "no bank"), lossy = row_of(result, "reads balance, asks bank, writes"),
            right = row_of(result, "asks bank, reads balance, writes"),
            locked = row_of(result, "the second, one call at a time");
  EXPECT_EQ(none.steps, "read 0, write 1, read 1, write 2");
  EXPECT_EQ(lossy.steps, "read 0, read 0, write 1, write 1");
  EXPECT_EQ(right.steps, "read 0, write 1, read 1, write 2");
  EXPECT_EQ(locked.steps, "read 0, write 1, read 1, write 2");
  EXPECT_EQ(locked.kept, 100) << result.text();
  EXPECT_LE(locked.per_second, 1100) << "two deposits are at the bank at once\n" << result.text();
  EXPECT_EQ(none.kept, 100) << result.text();
  EXPECT_EQ(right.kept, 100) << result.text();
  EXPECT_GE(lossy.kept, 33.3) << "of three deposits that read the same balance one is left\n" << result.text();
  EXPECT_LT(lossy.kept, 100) << result.text();
  // Three clients wait for each answer, which takes 1 ms at least; a tenth less may be the coarseness of the timer.
  EXPECT_LE(lossy.per_second, 3 * 1100) << "the bank has not been asked\n" << result.text();
  EXPECT_LE(right.per_second, 3 * 1100) << "the bank has not been asked\n" << result.text();
  // All 333 deposits of each row were made while the program ran.
  const double seconds =
      333 / none.per_second + 333 / lossy.per_second + 333 / right.per_second + 333 / locked.per_second;
  EXPECT_LE(seconds, 1.05 * result.seconds) << "deposits are missing in the rates\n" << result.text();
}

TEST(shop, ctrl_c_or_a_kill_leaves_nothing_behind) {
  for (const int after_ms : {10, 100}) {
    EXPECT_EQ(run("shop", {"--deposits", "100000"}, {.interrupt_after_ms = after_ms}).leaked_processes, 0) << after_ms;
    EXPECT_EQ(run("shop", {"--deposits", "100000"}, {.kill_after_ms = after_ms}).leaked_processes, 0) << after_ms;
  }
}

TEST_F(shop_object, opens_one_account_for_whoever_logs_on) {
  EXPECT_EQ(shop.accounts(), 0U);
  for (const std::string name : {"customer-M", "customer-R", "somebody else", "somebody else", "customer-M"}) {
    shop.log_on(name);
  }
  EXPECT_EQ(shop.accounts(), 3U);
}

TEST_F(shop_object, keeps_the_balance_when_a_customer_logs_on_again) {
  shop.log_on("customer-R");
  EXPECT_EQ(shop.balance("customer-R"), 0);
  shop.deposit("customer-R", 10'00);
  shop.log_on("customer-R");
  EXPECT_EQ(shop.balance("customer-R"), 10'00);
}

TEST_F(shop_object, counts_in_cents_exactly) {
  shop.log_on("x");
  for (int i = 0; i < 10; ++i) shop.deposit("x", 10);  // ten times 0.10 as doubles is not 1.00
  EXPECT_EQ(shop.balance("x"), 100);
  shop.buy("x", 100);
  EXPECT_EQ(shop.balance("x"), 0);
}

TEST_F(shop_object, takes_the_largest_amount_and_the_longest_name) {
  const std::string name(100, 'x');
  shop.log_on(name);
  shop.deposit(name, most);
  shop.deposit(name, most);
  shop.buy(name, most);
  EXPECT_EQ(shop.balance(name), most);
}

TEST_F(shop_object, refuses_what_is_wrong_and_changes_nothing) {
  shop.log_on("x");
  shop.deposit("x", 100);
  for (const long cents : {0L, -1L, most + 1, std::numeric_limits<long>::max(), std::numeric_limits<long>::min()}) {
    EXPECT_EQ(error_of([&] { shop.deposit("x", cents); }), "an amount has 1 to 1000000000 cents");
    EXPECT_EQ(error_of([&] { shop.buy("x", cents); }), "an amount has 1 to 1000000000 cents");
  }
  EXPECT_EQ(error_of([&] { shop.buy("x", 101); }), "the balance is too low");
  EXPECT_EQ(shop.balance("x"), 100);
  for (const std::string name : {"y", "X", ""}) {  // nobody has logged on under these names
    EXPECT_EQ(error_of([&] { shop.deposit(name, 1); }), "unknown account: " + name);
    EXPECT_EQ(error_of([&] { shop.buy(name, 1); }), "unknown account: " + name);
    EXPECT_EQ(error_of([&] { shop.balance(name); }), "unknown account: " + name);
  }
  EXPECT_EQ(error_of([&] { shop.log_on(""); }), "a name has 1 to 100 bytes");
  EXPECT_EQ(error_of([&] { shop.log_on(std::string(101, 'x')); }), "a name has 1 to 100 bytes");
  const auto answer = node.call(client.allAccountsRequest());
  ASSERT_EQ(answer.getAccounts().size(), 1U);
  EXPECT_EQ(answer.getAccounts()[0].getCents(), 100);
}

template <typename ShopWithBank>
void expect_to_refuse_without_asking_the_bank() {
  remote::Node node;
  kj::TimerImpl stopped(kj::origin<kj::TimePoint>());  // a bank that never answers
  api::Shop::Client client = kj::heap<ShopWithBank>(stopped);
  Calls shop{node, client};
  shop.log_on("x");
  for (const long cents : {0L, -1L, most + 1}) {
    ASSERT_EQ(error_of([&] { shop.deposit("x", cents); }), "an amount has 1 to 1000000000 cents");
  }
  ASSERT_EQ(error_of([&] { shop.deposit("y", 1); }), "unknown account: y");
  EXPECT_EQ(shop.balance("x"), 0);
}

TEST(shop_with_bank, refuses_what_is_wrong_without_asking_the_bank) {
  expect_to_refuse_without_asking_the_bank<ReadsThenAsks>();
  expect_to_refuse_without_asking_the_bank<AsksThenReads>();
  expect_to_refuse_without_asking_the_bank<OneAtATime>();
}

TEST(shop_server, an_exception_reaches_the_caller_alone_and_the_state_outlives_the_clients) {
  cookbook::ChildProcess server(serve_shop);
  const std::string address = server.read_line();
  {
    remote::Node node;
    remote::Proxy<api::Shop> proxy(node, address);
    Calls shop{node, *proxy};
    EXPECT_EQ(error_of([&] { shop.deposit("x", 100); }), "unknown account: x");
    shop.log_on("x");
    shop.deposit("x", 100);
  }
  remote::Node node;
  remote::Proxy<api::Shop> proxy(node, address);
  EXPECT_EQ((Calls{node, *proxy}.balance("x")), 100);
}

TEST(shop_server, many_clients_at_once_lose_no_deposit) {
  constexpr int clients = 8, deposits = 300;
  cookbook::ChildProcess server(serve_shop);
  const std::string address = server.read_line();
  {
    std::vector<std::unique_ptr<cookbook::ChildProcess>> running;
    for (int i = 0; i < clients; ++i) {
      running.push_back(std::make_unique<cookbook::ChildProcess>([&] {
        remote::Node node;
        remote::Proxy<api::Shop> proxy(node, address);
        Calls shop{node, *proxy};
        shop.log_on("x");
        for (int n = 0; n < deposits; ++n) shop.deposit("x", 1);
      }));
    }
    for (const auto& client : running) EXPECT_EQ(client->wait(), 0);
  }
  remote::Node node;
  remote::Proxy<api::Shop> proxy(node, address);
  EXPECT_EQ((Calls{node, *proxy}.balance("x")), clients * deposits);
}

TEST(shop_server, deposits_of_one_client_that_are_under_way_together_all_count) {
  cookbook::ChildProcess server(serve_shop);
  const std::string address = server.read_line();
  remote::Node node;
  remote::Proxy<api::Shop> proxy(node, address);
  Calls shop{node, *proxy};
  shop.log_on("x");
  kj::Vector<kj::Promise<void>> deposits;
  for (int i = 0; i < 500; ++i) {
    auto request = proxy->depositRequest();
    request.setName("x");
    request.setCents(2);
    deposits.add(request.send().ignoreResult());
  }
  node.wait(kj::joinPromises(deposits.releaseAsArray()));
  EXPECT_EQ(shop.balance("x"), 1000);
}

TEST(shop_lost_deposit, keeps_one_of_ten) {
  EXPECT_TRUE(run("shop_lost_deposit").has_line("10 deposits of 100 cents, balance 100"));
}

}  // namespace
