// Shop
//
// A shop keeps its customers' accounts in a remote object, which all clients share. It has no lock. Deposits are made
// at the same time at four shops: one whose method never waits, one that reads the balance, waits for a bank and
// writes the balance, one that waits before it reads, and one that lets a call begin when the one before it is done.
// The output shows how two deposits read and write the balance, and how much of the money is kept if several client
// processes deposit.
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

/// A client of the shop. Each function throws a remote::Error with the shop's text if the shop refuses.
class Client {
  template <typename Request>
  auto call(Request request, const std::string& name) {
    request.setName(name);
    return node_.call(request);
  }

 public:
  explicit Client(const std::string& address) : shop_(node_, address) {}

  void log_on(const std::string& name) { call(shop_->logOnRequest(), name); }
  void deposit(const std::string& name, long cents) {
    auto request = shop_->depositRequest();
    request.setCents(cents);
    call(kj::mv(request), name);
  }
  long balance(const std::string& name) { return call(shop_->balanceRequest(), name).getCents(); }

 private:
  remote::Node node_;
  remote::Proxy<api::Shop> shop_;
};

/// Lets two deposits of one cent be under way at once, in this process, and returns how the shop reads and writes the
/// balance.
template <typename MakeShop>
std::string steps_of_two(MakeShop make_shop) {
  std::string steps;
  remote::Node node;
  auto shop = make_shop(node);
  shop->steps = &steps;
  api::Shop::Client client = kj::mv(shop);
  auto log_on = client.logOnRequest();
  log_on.setName("everybody");
  node.call(log_on);
  kj::Vector<kj::Promise<void>> deposits;
  for (int i = 0; i < 2; ++i) {
    auto request = client.depositRequest();
    request.setName("everybody");
    request.setCents(1);
    deposits.add(request.send().ignoreResult());
  }
  node.wait(kj::joinPromises(deposits.releaseAsArray()));
  return steps;
}

/// Lets client processes make deposits of one cent into one account, at a shop in a process of its own that
/// `make_shop(node)` makes. Prints which share of the money the shop has kept, and returns the balance, in cents.
template <typename MakeShop>
long deposit_at_once(const char* shop_name, int clients, int deposits, MakeShop make_shop) {
  const std::string steps = steps_of_two(make_shop);
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
  cookbook::println("{:34}{:34}{:>14.1f} %{:>9.0f} /s", shop_name, steps, 100 * balance / paid_in, paid_in / seconds);
  return balance;
}

}  // namespace

int main(int argc, char** argv) {
  int clients = 4, deposits = 250;
  cookbook::Options options("Share a remote object with state: a shop with accounts");
  options.add("clients", clients, "client processes that deposit at the same time", 2, 50);
  options.add("deposits", deposits, "deposits of one cent that each of them makes", 1, 100'000);
  options.parse(argc, argv);

  cookbook::println("{:34}{:34}{:>16}{:>12}", "", "2 deposits of 1 cent at once",
                    fmt::format("{} clients: kept", clients), "deposits");
  const long none = deposit_at_once("no bank", clients, deposits, [](auto&) { return kj::heap<Shop>(); });
  deposit_at_once("reads balance, asks bank, writes", clients, deposits,
                  [](remote::Node& node) { return kj::heap<ReadsThenAsks>(node.timer()); });
  const long after = deposit_at_once("asks bank, reads balance, writes", clients, deposits,
                                     [](remote::Node& node) { return kj::heap<AsksThenReads>(node.timer()); });
  const long locked = deposit_at_once("the second, one call at a time", clients, deposits,
                                      [](remote::Node& node) { return kj::heap<OneAtATime>(node.timer()); });

  cookbook::Checks checks;
  const long all = long{clients} * deposits;
  checks.equal("cents kept by all shops but the second", std::vector{none, after, locked}, {all, all, all});
  return checks.exit_code();
}
