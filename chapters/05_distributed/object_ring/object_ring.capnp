@0xc8a1f4e29b7d5306;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("api");

interface Chain {
  process @0 (message :List(Text)) -> (result :List(Text));
}
