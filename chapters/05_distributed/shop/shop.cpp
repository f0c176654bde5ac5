// Shop
//
// A shop keeps its customers' accounts in a remote object, which all clients share and which outlives them. Money is
// counted in whole cents. An exception in the shop reaches the client that has called, and the shop goes on. At the end
// several client processes deposit at the same time, and no deposit is lost, although there is no lock.
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed chapters/05_distributed/node.capnp && capnp compile -oc++:build --src-prefix=chapters/05_distributed/shop chapters/05_distributed/shop/shop.capnp && g++ -std=c++20 -O1 -Icommon -Ichapters/05_distributed -Ibuild chapters/05_distributed/shop/shop.cpp build/node.capnp.c++ build/shop.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o shop
// Run:     shop [--clients N] [--deposits N]

#include <deque>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "name_server.hpp"
#include "shop.hpp"

namespace {

using cookbook::println;

/// The server's part.
void serve(const std::string& names) {
  remote::Node node;
  remote::publish(node, names, "example.shop.Shop", node.add(kj::heap<Shop>()));
  println("{}", remote::list(node, names, "example.shop."));
  node.serve();
}

std::string in_dollars(long cents) { return fmt::format("{}.{:02}", cents / 100, cents % 100); }

/// A client of the shop. Each function throws a remote::Error with the shop's text if the shop refuses.
class Client {
  template <typename Request>
  auto call(Request request, const std::string& name) {
    request.setName(name);
    return node_.call(request);
  }
  template <typename Request>
  void call(Request request, const std::string& name, long cents) {
    request.setCents(cents);
    call(kj::mv(request), name);
  }

 public:
  explicit Client(const std::string& names) : shop_(remote::find<api::Shop>(node_, names, "example.shop.Shop")) {}

  void log_on(const std::string& name) { call(shop_->logOnRequest(), name); }
  void deposit(const std::string& name, long cents) { call(shop_->depositRequest(), name, cents); }
  void buy(const std::string& name, long cents) { call(shop_->buyRequest(), name, cents); }
  std::string balance(const std::string& name) { return in_dollars(call(shop_->balanceRequest(), name).getCents()); }

  remote::Texts all_accounts() {
    const auto answer = node_.call(shop_->allAccountsRequest());
    remote::Texts accounts;
    for (const auto account : answer.getAccounts()) {
      accounts.push_back(fmt::format("{}: {}", account.getName().cStr(), in_dollars(account.getCents())));
    }
    return accounts;
  }

 private:
  remote::Node node_;
  remote::Proxy<api::Shop> shop_;
};

}  // namespace

int main(int argc, char** argv) {
  int clients = 4, deposits = 250;
  cookbook::Options options("Share a remote object with state: a shop with accounts");
  options.add("clients", clients, "client processes that deposit at the same time", 1, 50);
  options.add("deposits", deposits, "deposits of one cent that each of them makes", 1, 100'000);
  options.parse(argc, argv);

  cookbook::ChildProcess name_server([] { remote::serve_names(); });
  const std::string names = name_server.read_line();
  cookbook::ChildProcess server([&] { serve(names); });
  println("server: {}", server.read_line());

  std::deque<cookbook::ChildProcess> depositors;
  for (int i = 0; i < clients; ++i) {
    depositors.emplace_back([&] {
      Client client(names);
      client.log_on("everybody");
      for (int n = 0; n < deposits; ++n) client.deposit("everybody", 1);
    });
  }

  Client client(names);
  remote::Texts balances;
  const auto note_balance = [&](const std::string& name, const std::string& event) {
    balances.push_back(client.balance(name));
    println("{} {}, balance={}", name, event, balances.back());
  };
  client.log_on("customer-R");
  client.deposit("customer-R", 100'00);  // 100.00 dollars, in cents
  note_balance("customer-R", "deposits 100");
  client.buy("customer-R", 37'00);
  note_balance("customer-R", "buys a book for 37");

  client.log_on("customer-M");
  for (int i = 0; i < 2; ++i) {
    client.deposit("customer-M", 50'00);
    note_balance("customer-M", "deposits 50");
  }
  int failed = 0;
  for (cookbook::ChildProcess& depositor : depositors) failed += depositor.wait() != 0;

  cookbook::Checks checks;
  checks.equal("balances", balances, {"100.00", "63.00", "50.00", "100.00"});
  checks.equal("unknown account", remote::error_of([&] { client.balance("nobody"); }), "unknown account: nobody");
  checks.equal("too high a price", remote::error_of([&] { client.buy("customer-R", 63'01); }),
               "the balance is too low");
  checks.equal("clients that failed", failed, 0);
  checks.equal("all accounts", client.all_accounts(),
               {"customer-M: 100.00", "customer-R: 63.00", "everybody: " + in_dollars(long{clients} * deposits)});
  return checks.exit_code();
}
