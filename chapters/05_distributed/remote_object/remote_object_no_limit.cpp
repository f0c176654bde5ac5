// Pitfall: a call without a time limit
//
// The server is stopped, as a process is that hangs. A caller that waits without a limit waits for ever.
//
// Compile: mkdir -p build && capnp compile -oc++:build --src-prefix=chapters/05_distributed/remote_object chapters/05_distributed/remote_object/remote_object.capnp && g++ -std=c++20 -O1 -Icommon -Ichapters/05_distributed -Ibuild chapters/05_distributed/remote_object/remote_object_no_limit.cpp build/remote_object.capnp.c++ common/cookbook/*.cpp -lfmt -lcapnp-rpc -lcapnp -lkj-async -lkj -pthread -o remote_object_no_limit
// Run:     remote_object_no_limit, then Ctrl-C
// Symptom: hangs

#include <capnp/ez-rpc.h>

#include <csignal>

#include "cookbook/process.hpp"
#include "greeting.hpp"

int main() {
  cookbook::ChildProcess server([] {
    capnp::EzRpcServer rpc(kj::heap<Greeting>(), "127.0.0.1");
    cookbook::println("127.0.0.1:{}", rpc.getPort().wait(rpc.getWaitScope()));
    kj::Promise<void>(kj::NEVER_DONE).wait(rpc.getWaitScope());
  });

  capnp::EzRpcClient rpc(server.read_line());
  api::Greeting::Client greeting = rpc.getMain<api::Greeting>();
  auto request = greeting.welcomeMessageRequest();
  request.setName("World");
  cookbook::println("{}", request.send().wait(rpc.getWaitScope()).getMessage().cStr());

  server.send_signal(SIGSTOP);
  try {
    greeting.welcomeMessageRequest().send().wait(rpc.getWaitScope());  // wrong: there is no limit to this wait
    cookbook::println("the stopped server has answered");
  } catch (const kj::Exception& error) {
    cookbook::println("no answer: {}", error.getDescription().cStr());
  }
}
