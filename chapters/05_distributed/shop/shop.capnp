@0xb3f2d58c61e0a947;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("api");

interface Shop {
  # An amount of money is a whole number of cents.
  logOn @0 (name :Text);
  deposit @1 (name :Text, cents :Int64);
  buy @2 (name :Text, cents :Int64);
  balance @3 (name :Text) -> (cents :Int64);
  allAccounts @4 () -> (accounts :List(Account));

  struct Account {
    name @0 :Text;
    cents @1 :Int64;
  }
}
