@0xd1a9a3c6f0b7e84d;
# What every process of the recipes with Cap'n Proto offers, and the name server.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("remote");

interface Daemon {
  # The first object that one finds at a process: it knows the others by their ids.
  object @0 (id :Text) -> (object :Capability);
}

interface NameServer {
  # Keeps the addresses of objects under names.
  publish @0 (name :Text, address :Text);
  lookup @1 (name :Text) -> (address :Text);
  list @2 (prefix :Text) -> (names :List(Text));
}
