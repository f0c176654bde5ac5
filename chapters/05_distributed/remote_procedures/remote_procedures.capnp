@0xe6c4a97b3d18f052;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("api");

interface Output {
  write @0 (text :Text);
}

interface Session {
  # One client's connection to the procedures.
  execute @0 (procedure :Text, arguments :List(Text)) -> (result :Text);
  redirect @1 (output :Output);
}

interface Procedures {
  connect @0 () -> (session :Session);
}
