@0xf745db2bcae351f7;
# What both sides agree on. The compiler capnp makes C++ of it: a class Client, through which one calls, and a class
# Server, which one derives from.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("api");

interface Greeting {
  welcomeMessage @0 (name :Text) -> (message :Text);

  workForever @1 ();
  # Begins, says so on the server's standard output, and never ends.

  greeted @2 () -> (times :UInt64);
}
