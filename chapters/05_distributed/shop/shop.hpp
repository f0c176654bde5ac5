/// The objects of the recipe shop.
#pragma once

#include <fmt/format.h>
#include <kj/timer.h>

#include <map>
#include <stdexcept>
#include <string>

#include "shop.capnp.h"

/// A shop whose customers have accounts, in cents. It outlives its clients, and all of them share it. An exception that
/// a method throws is the answer to that call; the shop goes on.
class Shop : public api::Shop::Server {
 public:
  kj::Promise<void> logOn(LogOnContext context) override {
    const std::string name = context.getParams().getName();
    if (name.empty() || name.size() > 100) throw std::invalid_argument("a name has 1 to 100 bytes");
    accounts_.emplace(name, 0);  // of no effect if there is one: the balance is kept
    return kj::READY_NOW;
  }

  kj::Promise<void> deposit(DepositContext context) override {
    change(context.getParams().getName(), amount(context.getParams().getCents()));
    return kj::READY_NOW;
  }

  kj::Promise<void> buy(BuyContext context) override {
    change(context.getParams().getName(), -amount(context.getParams().getCents()));
    return kj::READY_NOW;
  }

  kj::Promise<void> balance(BalanceContext context) override {
    context.getResults().setCents(account_of(context.getParams().getName()));
    return kj::READY_NOW;
  }

  kj::Promise<void> allAccounts(AllAccountsContext context) override {
    auto list = context.getResults().initAccounts(static_cast<unsigned>(accounts_.size()));
    unsigned i = 0;
    for (const auto& [name, cents] : accounts_) {  // sorted by name
      list[i].setName(name);
      list[i++].setCents(cents);
    }
    return kj::READY_NOW;
  }

  std::string* steps = nullptr;  ///< where the shop notes how it changes balances, if not nullptr

 protected:
  long& account_of(const std::string& name) {
    const auto found = accounts_.find(name);
    if (found == accounts_.end()) throw std::out_of_range("unknown account: " + name);
    return found->second;
  }

  static long amount(long cents) {
    if (cents < 1 || cents > 1'000'000'000) throw std::out_of_range("an amount has 1 to 1000000000 cents");
    return cents;
  }

  void change(const std::string& name, long cents) {
    const long before = read(name);
    if (before + cents < 0) throw std::domain_error("the balance is too low");
    write(name, before + cents);  // no wait since it was read, so no other call came in between
  }

  long read(const std::string& name) {
    const long cents = account_of(name);
    note("read", cents);
    return cents;
  }

  void write(const std::string& name, long cents) {
    note("write", cents);
    account_of(name) = cents;
  }

 private:
  void note(const char* step, long cents) {
    if (steps != nullptr) *steps += fmt::format("{}{} {}", steps->empty() ? "" : ", ", step, cents);
  }

  std::map<std::string, long> accounts_;
};

/// A shop that asks a bank for each deposit. The derived classes differ in when they read the balance.
class ShopWithBank : public Shop {
 public:
  explicit ShopWithBank(kj::Timer& timer) : timer_(timer) {}

  kj::Promise<void> deposit(DepositContext context) override {
    const std::string name = context.getParams().getName();
    const long cents = amount(context.getParams().getCents());
    account_of(name);  // throws if there is none, before the bank is asked
    return ask_and_add(name, cents);
  }

 protected:
  virtual kj::Promise<void> ask_and_add(std::string name, long cents) = 0;

  /// The delay stands for a call of another server: meanwhile the event loop serves other clients. It keeps this object
  /// while a call is under way.
  kj::Promise<void> ask_bank() { return timer_.afterDelay(1 * kj::MILLISECONDS); }

 private:
  kj::Timer& timer_;
};

class ReadsThenAsks : public ShopWithBank {
 public:
  using ShopWithBank::ShopWithBank;

 protected:
  kj::Promise<void> ask_and_add(std::string name, long cents) override {
    const long before = read(name);
    return ask_bank().then([=, this] { write(name, before + cents); });  // wrong: `before` may be old
  }
};

class AsksThenReads : public ShopWithBank {
 public:
  using ShopWithBank::ShopWithBank;

 protected:
  kj::Promise<void> ask_and_add(std::string name, long cents) override {
    return ask_bank().then([=, this] { change(name, cents); });
  }
};

/// An asynchronous lock around the wrong shop's method: a call begins when the one before it is done.
class OneAtATime : public ReadsThenAsks {
 public:
  using ReadsThenAsks::ReadsThenAsks;

 protected:
  kj::Promise<void> ask_and_add(std::string name, long cents) override {
    last_ = last_.addBranch().then([=, this] { return ReadsThenAsks::ask_and_add(name, cents); }).fork();
    return last_.addBranch();
  }

 private:
  kj::ForkedPromise<void> last_ = kj::Promise<void>(kj::READY_NOW).fork();  ///< done when the last call is
};
