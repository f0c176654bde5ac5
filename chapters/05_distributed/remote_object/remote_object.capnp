@0xf745db2bcae351f7;
# What the processes can ask of one another. The compiler capnp makes C++ of it: of each interface a Client, through
# which one calls, and a Server, which one derives from.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("remote");

interface Greeting {
  welcomeMessage @0 (name :Text) -> (message :Text);

  farewellMessage @1 (name :Text) -> (message :Text);
  # Came later: a server that was built before it, as ours is, says that it does not implement it.
}

interface Daemon {
  # What one finds at every server: it knows the server's objects by their ids.
  object @0 (id :Text) -> (object :Capability);
}

interface NameServer {
  # Keeps the addresses of objects under names.
  publish @0 (name :Text, address :Text);
  lookup @1 (name :Text) -> (address :Text);
  remove @2 (name :Text, address :Text);
}
