// Remote object
//
// A greeting object lives in another process, and is called as if it were here: the same function calls both. To find
// it the client asks a name server, a third process. What a local call cannot do, a remote one can: fail. The name may
// be unknown, the server gone, the answer late; each must come to the caller as an error, and soon. At the end: how
// many calls a second, one at a time and many under way, beside a bare TCP echo.
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed/remote_object chapters/05_distributed/remote_object/remote_object.capnp && g++ -std=c++20 -O1 -Icommon -Ibuild chapters/05_distributed/remote_object/remote_object.cpp build/remote_object.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o remote_object
// Run:     remote_object [--calls N] [--repeats N]; starts the other three programs of the folder that it is in

#include <string>
#include <vector>

#include "../child_program.hpp"
#include "bare_echo.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "greeting.hpp"
#include "proxy.hpp"
#include "rates.hpp"

namespace {

using Strings = std::vector<std::string>;

const kj::Duration timeout = 10 * kj::SECONDS;

/// Calls and waits for the answer. Where the object is cannot be seen here.
std::string welcome(kj::AsyncIoContext& io, remote::Greeting::Client& greeting, const std::string& name,
                    kj::Duration limit = timeout) {
  auto request = greeting.welcomeMessageRequest();
  request.setName(name);
  return wait_for(io, kj::Promise(request.send()), limit).getMessage();
}

/// What `action` fails with; "no error" if it does not.
template <typename Action>
std::string error_of(Action action) {
  try {
    action();
    return "no error";
  } catch (const RemoteError& error) {
    return error.what();
  }
}

/// The part of a line behind the last blank: the address that a server prints.
std::string last_word(const std::string& line) { return line.substr(line.rfind(' ') + 1); }

void use(kj::AsyncIoContext& io, const std::string& names_address, const std::string& printed,
         cookbook::Checks& checks) {
  Proxy<remote::NameServer> names(io, parse_address(names_address), timeout);
  const Address address = look_up(io, names, "server", timeout);
  checks.that("the name leads to the address that the server has printed", address.text() == printed);

  remote::Greeting::Client here = kj::heap<Greeting>();
  Proxy<remote::Greeting> there(io, address, timeout);
  checks.equal("called here", welcome(io, here, "World"), "Hi welcome World");
  checks.equal("called there", welcome(io, *there, "World"), "Hi welcome World");
  checks.equal("batches sent until that answer was here", there.stream().batches_sent(), 1);
  checks.equal("without a name", welcome(io, *there, ""), "Hi welcome ");
  checks.equal("a name beyond ASCII", welcome(io, *there, "Zoë 世界"), "Hi welcome Zoë 世界");

  checks.equal("an unknown name", error_of([&] { look_up(io, names, "nobody", timeout); }),
               "nothing is registered under this name; name = nobody");
  checks.equal("an unknown object", error_of([&] {
                 Proxy<remote::Greeting> nothing(io, {"obj_0", address.host, address.port}, timeout);
                 welcome(io, *nothing, "World");
               }),
               "this server has no such object; id = obj_0");
  checks.equal("an unknown method",
               error_of([&] { wait_for(io, kj::Promise(there->farewellMessageRequest().send()), timeout); }),
               "the object has no such method");

  ChildProgram one({beside_this_program("remote_object_client"), "--names", names_address, "--visitor", "Ada"});
  ChildProgram other({beside_this_program("remote_object_client"), "--names", names_address, "--visitor", "Grace"});
  checks.equal("two other processes at once", Strings{one.line(), other.line()},
               {"Hi welcome Ada", "Hi welcome Grace"});
}

/// The server is stopped, as if it hung; goes on; is killed; is started anew under the same name.
void lose(kj::AsyncIoContext& io, const std::string& names_address, ChildProgram& server, cookbook::Checks& checks) {
  Proxy<remote::NameServer> names(io, parse_address(names_address), timeout);
  Proxy<remote::Greeting> greeting(io, look_up(io, names, "server", timeout), timeout);
  welcome(io, *greeting, "World");

  server.send(SIGSTOP);
  checks.equal("the server hangs", error_of([&] { welcome(io, *greeting, "World", 50 * kj::MILLISECONDS); }),
               "no answer within 50 ms");
  server.send(SIGCONT);
  checks.equal("it goes on", welcome(io, *greeting, "World"), "Hi welcome World");

  checks.equal("the server is killed by signal", -server.stop(SIGKILL), SIGKILL);
  checks.equal("a call of its object", error_of([&] { welcome(io, *greeting, "World"); }), "the server is gone");
  checks.equal("a new proxy by the old address",
               error_of([&] { Proxy<remote::Greeting> again(io, look_up(io, names, "server", timeout), timeout); }),
               "the server is gone");

  ChildProgram heir({beside_this_program("remote_object_server"), "--names", names_address});
  heir.line();
  Proxy<remote::Greeting> again(io, look_up(io, names, "server", timeout), timeout);
  checks.equal("a new server under the same name", welcome(io, *again, "World"), "Hi welcome World");
  checks.equal("exit code of a server that is asked to end", heir.stop(SIGTERM), 0);
  checks.equal("its name", error_of([&] { look_up(io, names, "server", timeout); }),
               "nothing is registered under this name; name = server");
}

}  // namespace

int main(int argc, char** argv) {
  int calls = 300, repeats = 5;
  cookbook::Options options("Call an object of another process, which a name server finds");
  options.add("calls", calls, "calls to measure with", 1, 100'000);
  options.add("repeats", repeats, "how often to measure", 1, 1000);
  options.parse(argc, argv);

  BareEcho echo;
  ChildProgram name_server({beside_this_program("remote_object_names")});
  const std::string names_address = last_word(name_server.line());
  ChildProgram server({beside_this_program("remote_object_server"), "--names", names_address});
  const std::string ready = server.line();
  cookbook::println("{}", ready);

  cookbook::Checks checks;
  auto io = kj::setupAsyncIo();
  use(io, names_address, last_word(ready), checks);
  lose(io, names_address, server, checks);
  ChildProgram fresh({beside_this_program("remote_object_server"), "--names", names_address});
  const Address address = parse_address(last_word(fresh.line()));
  measure_rates(io, address, {fresh.pid(), echo.pid()}, echo, calls, repeats, checks);
  return checks.exit_code();
}
