/// What the servers are tried with. A sturdy one is made from a port, the timeout of a silent client and the largest
/// number of clients at once.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "clients.hpp"
#include "cookbook/checks.hpp"
#include "running.hpp"

constexpr std::chrono::milliseconds long_timeout(60'000), short_timeout(100);
constexpr std::size_t default_max_clients = 10'000;

/// AddressSanitizer has an allocator of its own, of which mallinfo2() knows nothing.
#ifdef __SANITIZE_ADDRESS__
constexpr bool counts_memory = false;
#else
constexpr bool counts_memory = true;
#endif

/// Bytes of all values, a fixed sequence.
inline std::string garbage(std::size_t count) {
  std::mt19937 random(1);
  std::string bytes(count, '\0');
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random() & 0xFF); });
  return bytes;
}

inline bool echoes(Client& client, const std::string& message) {
  return client.send(message) && client.receive(message.size()) == message;
}

/// Clients that behave, two at a time.
template <typename Server>
void try_plain_clients(cookbook::Checks& checks) {
  Running<Server> running;
  int right = 0;
  for (int i = 0; i < 50; ++i) {
    Client first(running.server.port()), second(running.server.port());
    right += echoes(second, "two") + echoes(first, "one");
  }
  checks.equal("clients that the plain server answers", right, 100);
}

template <typename Server>
void try_odd_clients(cookbook::Checks& checks) {
  Running<Server> running(0, long_timeout, default_max_clients);
  const unsigned short port = running.server.port();
  const std::string message = garbage(60'000);

  Client stuck(port);  // sends and never reads, until nothing more goes out; stays to the end of this function
  stuck.flood();

  Client rude(port);
  checks.that("bytes of all values come back", echoes(rude, message));

  Client halved(port);
  halved.send(message);
  halved.end_stream();
  checks.that("a half-closed client gets its rest and the end", halved.receive(70'000) == message);

  Client slow(port);
  bool right = true;
  for (const char byte : message.substr(0, 100)) right = echoes(slow, {byte}) && right;
  checks.that("a client that sends byte by byte is served", right);

  for (int i = 0; i < 100; ++i) {
    Client resetting(port);
    resetting.send(message);
    resetting.reset();
  }
  checks.that("after 100 resets the server lives", echoes(slow, message));
}

template <typename Server>
void try_a_crowd(cookbook::Checks& checks, int count) {
  Running<Server> running(0, long_timeout, default_max_clients);
  std::vector<Client> crowd;
  crowd.reserve(static_cast<std::size_t>(count));
  const std::size_t before = mallinfo2().uordblks;
  int answered = 0;
  for (int i = 0; i < count; ++i) crowd.emplace_back(running.server.port());
  for (Client& client : crowd) client.send("hello");
  for (Client& client : crowd) answered += client.receive(5) == "hello";
  const std::size_t memory = (mallinfo2().uordblks - before) / static_cast<std::size_t>(count);
  running.end();
  checks.equal("clients at once", static_cast<int>(running.server.at_once), count);
  checks.equal("clients answered", answered, count);
  // The buffer of 4096 bytes, the coroutine, an entry of the list; and a share of what the server has anyway.
  checks.within("bytes of memory a client", memory, counts_memory ? 4096U : 0U,
                8192U + 65536U / static_cast<std::size_t>(count));
}

template <typename Server>
void try_a_silent_client(cookbook::Checks& checks) {
  Running<Server> running(0, short_timeout, default_max_clients);
  Client silent(running.server.port()), stuck(running.server.port());
  stuck.flood();
  checks.that("a silent client is closed after the timeout", silent.is_ended());
  // end() returns when the last client has gone, so by then the other one is closed, too.
  running.end();
  checks.equal("clients that timed out, with one that never reads", running.server.timed_out, 2);
}

template <typename Server>
void try_to_drain(cookbook::Checks& checks) {
  const std::string message = garbage(30'000);
  Running<Server> running(0, long_timeout, 2);
  Client busy(running.server.port()), idle(running.server.port());
  bool right = echoes(busy, "there?") && echoes(idle, "there?");
  checks.that("one client too many is rejected", Client(running.server.port()).is_ended());
  busy.send(message);
  running.end();
  checks.that("what was sent before the end is answered", busy.receive(message.size()) == message && right);
  checks.that("then all connections end", busy.is_ended() && idle.is_ended());
}
