// Pitfall: waiting between reading and writing
//
// One thread makes all calls of an object, so it needs no lock, as long as a method runs to its end. This one waits in
// the middle: it reads the balance, asks a bank, and writes the new balance when the bank has answered. Meanwhile other
// calls read the old balance, and deposits are overwritten. Shop and client are in one process here.
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed chapters/05_distributed/node.capnp && capnp compile -oc++:build --src-prefix=chapters/05_distributed/shop chapters/05_distributed/shop/shop.capnp && g++ -std=c++20 -O1 -Icommon -Ichapters/05_distributed -Ibuild chapters/05_distributed/shop/shop_lost_deposit.cpp build/node.capnp.c++ build/shop.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o shop_lost_deposit
// Run:     shop_lost_deposit
// Symptom: exit 1, prints "deposits were lost"

#include "node.hpp"
#include "shop.capnp.h"

class CarelessShop : public api::Shop::Server {
 public:
  kj::Promise<void> deposit(DepositContext context) override {
    const long before = cents_;
    return ask_bank().then([this, before, context]() mutable {
      cents_ = before + context.getParams().getCents();  // wrong: `before` may be old
    });
  }

  kj::Promise<void> balance(BalanceContext context) override {
    context.getResults().setCents(cents_);
    return kj::READY_NOW;
  }

 private:
  /// Stands for a call of another server: the answer comes later, and other calls are served until then.
  static kj::Promise<void> ask_bank() {
    return kj::evalLater([] {});  // fulfilled in a later turn of the event loop
  }

  long cents_ = 0;
};

int main() {
  remote::Node node;
  api::Shop::Client shop = kj::heap<CarelessShop>();
  kj::Vector<kj::Promise<void>> deposits;
  for (int i = 0; i < 10; ++i) {
    auto request = shop.depositRequest();
    request.setCents(100);
    deposits.add(request.send().ignoreResult());
  }
  node.wait(kj::joinPromises(deposits.releaseAsArray()));  // waits for all
  const long balance = node.call(shop.balanceRequest()).getCents();
  cookbook::println("10 deposits of 100 cents, balance {}", balance);
  if (balance == 1000) return 0;
  cookbook::println("deposits were lost");
  return 1;
}
