// Shop
//
// A shop keeps its customers' accounts in a remote object, which all clients share and which outlives them. It has no
// lock. First one client plays customers, and what the shop refuses reaches the client as an error. Then several client
// processes make deposits at the same time, at three shops: one whose method never waits, one that reads the balance,
// waits for a bank and writes the balance, and one that waits before it reads. The output shows which of them lose
// money.
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed chapters/05_distributed/node.capnp && capnp compile -oc++:build --src-prefix=chapters/05_distributed/shop chapters/05_distributed/shop/shop.capnp && g++ -std=c++20 -O1 -Icommon -Ichapters/05_distributed -Ibuild chapters/05_distributed/shop/shop.cpp build/node.capnp.c++ build/shop.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o shop
// Run:     shop [--clients N] [--deposits N]

#include <deque>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "node.hpp"
#include "shop.hpp"

namespace {

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
  explicit Client(const std::string& address) : shop_(node_, address) {}

  void log_on(const std::string& name) { call(shop_->logOnRequest(), name); }
  void deposit(const std::string& name, long cents) { call(shop_->depositRequest(), name, cents); }
  void buy(const std::string& name, long cents) { call(shop_->buyRequest(), name, cents); }
  long balance(const std::string& name) { return call(shop_->balanceRequest(), name).getCents(); }

 private:
  remote::Node node_;
  remote::Proxy<api::Shop> shop_;
};

/// Prints what a customer does, and the balance after it or why the shop refuses.
template <typename Action>
void show(Client& client, const std::string& name, const std::string& what, Action action) {
  const std::string error = remote::error_of(action);
  cookbook::println("{:36}{}", name + " " + what,
                    error == "no error" ? "balance " + in_dollars(client.balance(name)) : "refused: " + error);
}

/// Lets client processes make deposits of one cent into one account, at a shop in a process of its own that
/// `make_shop(node)` makes. Prints which share of the money the shop has kept, and returns the balance, in cents.
template <typename MakeShop>
long deposit_at_once(const char* shop_name, int clients, int deposits, MakeShop make_shop) {
  cookbook::ChildProcess server([&] {
    remote::Node node;
    cookbook::println("{}", node.add(make_shop(node)));
    node.serve();
  });
  const std::string address = server.read_line();
  const cookbook::Stopwatch watch;
  std::deque<cookbook::ChildProcess> depositors;
  for (int i = 0; i < clients; ++i) {
    depositors.emplace_back([&] {
      Client client(address);
      client.log_on("everybody");
      for (int n = 0; n < deposits; ++n) client.deposit("everybody", 1);
    });
  }
  for (cookbook::ChildProcess& depositor : depositors) {
    if (depositor.wait() != 0) throw remote::Error("a client has failed");
  }
  const double seconds = watch.seconds();
  const long balance = Client(address).balance("everybody");
  const double paid_in = clients * deposits;
  cookbook::println("{:36}{:>6.1f} %{:>13.0f} /s", shop_name, 100 * balance / paid_in, paid_in / seconds);
  return balance;
}

}  // namespace

int main(int argc, char** argv) {
  int clients = 4, deposits = 250;
  cookbook::Options options("Share a remote object with state: a shop with accounts");
  options.add("clients", clients, "client processes that deposit at the same time", 2, 50);
  options.add("deposits", deposits, "deposits of one cent that each of them makes", 1, 100'000);
  options.parse(argc, argv);

  long balance_r = 0, balance_m = 0;
  {
    cookbook::ChildProcess server([] {
      remote::Node node;
      cookbook::println("{}", node.add(kj::heap<Shop>()));
      node.serve();
    });
    Client client(server.read_line());
    const std::string r = "customer-R", m = "customer-M";
    client.log_on(r);
    show(client, r, "deposits 100.00", [&] { client.deposit(r, 100'00); });
    show(client, r, "buys a book for 37.00", [&] { client.buy(r, 37'00); });
    show(client, r, "buys a book for 63.01", [&] { client.buy(r, 63'01); });
    client.log_on(m);
    show(client, m, "deposits 50.00 twice", [&] { client.deposit(m, 50'00), client.deposit(m, 50'00); });
    balance_r = client.balance(r), balance_m = client.balance(m);
  }

  cookbook::println("{:36}{:>8}{:>16}", fmt::format("{} clients, {} cents from each", clients, deposits), "kept",
                    "deposits");
  const long kept = deposit_at_once("no bank", clients, deposits, [](auto&) { return kj::heap<Shop>(); });
  deposit_at_once("reads balance, asks bank, writes", clients, deposits,
                  [](remote::Node& node) { return kj::heap<ShopWithBank>(node.timer(), true); });
  const long after = deposit_at_once("asks bank, reads balance, writes", clients, deposits,
                                     [](remote::Node& node) { return kj::heap<ShopWithBank>(node.timer(), false); });

  cookbook::Checks checks;
  checks.equal("balance of R", in_dollars(balance_r), "63.00");
  checks.equal("balance of M", in_dollars(balance_m), "100.00");
  checks.equal("cents kept without a wait in between", std::vector{kept, after},
               {long{clients} * deposits, long{clients} * deposits});
  return checks.exit_code();
}
