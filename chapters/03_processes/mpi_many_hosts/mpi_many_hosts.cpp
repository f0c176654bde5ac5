// Many hosts
//
// The plate of mpi_halo_exchange, its tiles on ranks of several hosts. The program is the same: a message to a rank of
// the same host goes through memory, one to another host over the network, and MPI chooses. What differs is outside:
// a file with the hosts' names, a way to start processes there, and the network to use. run.sh makes three hosts within
// this one (hosts.sh), runs the program on one of them and then on all three, and compares. Result: the same, to the
// last bit. Times: not the same.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_many_hosts/mpi_many_hosts.cpp common/cookbook/*.cpp -lfmt -o mpi_many_hosts
// Run:     run.sh BIN [--side N] [--steps N] [--ranks-per-host N]; BIN is the folder of the program

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "../mpi_halo_exchange/plate.hpp"
#include "../mpi_halo_exchange/tile.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/pin.hpp"
#include "mpi_session.hpp"

namespace {

using halo::Grid;
using halo::Plate;
using halo::Tile;

/// The name of the host of each rank. Called by all.
std::vector<std::string> hosts_of_ranks(const mpi::Session& session) {
  constexpr std::size_t size = MPI_MAX_PROCESSOR_NAME;
  std::vector<char> own(size), all(size * static_cast<std::size_t>(session.ranks()));
  int length = 0;
  CHECK_MPI(MPI_Get_processor_name(own.data(), &length));
  CHECK_MPI(MPI_Allgather(own.data(), size, MPI_CHAR, all.data(), size, MPI_CHAR, MPI_COMM_WORLD));
  std::vector<std::string> hosts;
  for (std::size_t at = 0; at < all.size(); at += size) hosts.emplace_back(&all[at]);
  return hosts;
}

/// Tells who is where, and which way the halos go.
void tell_places(const mpi::Session& session, const std::vector<std::string>& hosts) {
  const halo::Topology topology(MPI_COMM_WORLD);
  const auto host = [&](int rank) { return hosts[static_cast<std::size_t>(rank)]; };
  int messages[] = {0, 0};  // that this rank sends in a step: by memory, by network
  for (const int other : {topology.above, topology.below, topology.left, topology.right}) {
    if (other != MPI_PROC_NULL) ++messages[host(other) != host(topology.rank)];
  }
  std::vector<int> of_all(2 * hosts.size());
  CHECK_MPI(MPI_Gather(messages, 2, MPI_INT, of_all.data(), 2, MPI_INT, 0, MPI_COMM_WORLD));
  for (const std::string& name : std::set(hosts.begin(), hosts.end())) {
    std::vector<int> ranks;
    int by_memory = 0, by_network = 0;
    for (int rank = 0; rank < session.ranks(); ++rank) {
      if (host(rank) != name) continue;
      ranks.push_back(rank);
      by_memory += of_all[static_cast<std::size_t>(2 * rank)];
      by_network += of_all[static_cast<std::size_t>(2 * rank + 1)];
    }
    if (session.rank() != 0) continue;
    cookbook::println("{}: ranks {}; halos sent in a step: {} by memory, {} by network", name, ranks, by_memory,
                      by_network);
  }
}

void save(const std::string& file, const Grid& plate) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(plate.at(0, 0)), static_cast<std::streamsize>(plate.bytes()));
  out.flush();
  if (!out) throw std::runtime_error("cannot write " + file);
}

Grid load(const std::string& file, const Plate& form) {
  Grid plate(form, form.area());
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(plate.at(0, 0)), static_cast<std::streamsize>(plate.bytes()));
  if (!in || in.peek() != EOF) throw std::runtime_error(file + " holds no plate of this size");
  return plate;
}

/// Ranks 0 and `other`, each with half of a plate; nobody on the other ranks.
class Pair {
 public:
  Pair(const mpi::Session& session, int other, const Plate& plate) : session_(session) {
    const bool is_in = session.rank() == 0 || session.rank() == other;
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, is_in ? 0 : MPI_UNDEFINED, session.rank(), &comm_));
    if (!is_in) return;
    tile_.emplace(comm_, plate);
    cookbook::pin(session.rank() == 0 ? 0 : 1);
  }
  ~Pair() {
    if (!tile_) return;
    tile_.reset();
    MPI_Comm_free(&comm_);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  /// A row to be measured by all ranks: the pair does `work`, the others sleep. Timed by the clock of rank 0: two
  /// hosts' clocks do not agree to the microsecond. The barrier waits for the slower one.
  cookbook::Row row(const std::string& name, void (*work)(Tile&)) {
    constexpr int times = 50;
    return {name, times, [this, work] {
              double seconds = 0;
              if (tile_) {
                CHECK_MPI(MPI_Barrier(comm_));
                const cookbook::Stopwatch watch;
                for (int i = 0; i < times; ++i) work(*tile_);
                CHECK_MPI(MPI_Barrier(comm_));
                seconds = watch.seconds();
              }
              session_.meet_asleep();
              return seconds;
            }};
  }

 private:
  const mpi::Session& session_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::optional<Tile> tile_;
};

/// Times an exchange and both forms of a step, beside the work alone, between two ranks of one host and between two of
/// different hosts, as far as there are such. Called by all; rank 0 prints.
void measure(const mpi::Session& session, const std::vector<std::string>& hosts, const Plate& plate,
             const cookbook::Checks& checks) {
  const auto here = std::find(hosts.begin() + 1, hosts.end(), hosts[0]);
  const auto elsewhere = std::find_if(hosts.begin(), hosts.end(), [&](const auto& host) { return host != hosts[0]; });
  std::vector<std::unique_ptr<Pair>> pairs;
  std::vector<cookbook::Row> exchanges, steps;
  for (const auto& [other, way] : {std::pair{here, "on one host, memory"}, {elsewhere, "on two hosts, TCP"}}) {
    if (other == hosts.end()) continue;
    Pair& pair = *pairs.emplace_back(std::make_unique<Pair>(session, static_cast<int>(other - hosts.begin()), plate));
    exchanges.push_back(pair.row(way, [](Tile& tile) {
      tile.begin_exchange();
      tile.end_exchange();
    }));
    if (steps.empty()) {
      steps.push_back(pair.row("work alone", [](Tile& tile) {
        tile.work(tile.whole());
        tile.step_on();
      }));
    }
    steps.push_back(pair.row(fmt::format("{}: exchange, then work", way), halo::exchange_then_work));
    steps.push_back(pair.row(fmt::format("{}: exchange during work", way), halo::exchange_during_work));
  }
  if (pairs.empty()) return;

  constexpr int rounds = 9;
  cookbook::Figures of_exchanges(fmt::format("a border of {} KiB exchanged", plate.rows * 8 / 1024.0),
                                 cookbook::cost("us", 1e-6));
  of_exchanges.measure(exchanges, rounds);
  cookbook::Figures of_steps(fmt::format("a step of {0} x {0} cells, two ranks", plate.rows),
                             cookbook::cost("us", 1e-6));
  of_steps.measure(steps, rounds);
  of_steps.percent_of("work alone", "work");
  if (session.rank() != 0) return;
  of_exchanges.print(checks);
  of_steps.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  int side = 512, steps = 200, ranks_per_host = 2;
  std::string save_as, compare_with;
  bool check_options = false;
  cookbook::Options options("Spread heat over a plate whose tiles are on several hosts");
  options.add("side", side, "rows and columns of the plate", 16, 2048);
  options.add("steps", steps, "time steps", 0, 10'000);
  options.add("ranks-per-host", ranks_per_host, "ranks that are started on each host", 1, 8);
  options.add("save", save_as, "file for the plate after the last step");
  options.add("compare", compare_with, "file of an earlier run with which this one is compared");
  options.add_flag("check-options", check_options, "only see whether the options are right");
  options.parse(argc, argv);
  if (check_options) return 0;

  const mpi::Session session;
  if (session.ranks() > side) {
    return session.refuse(fmt::format("{} ranks are too many for {} rows", session.ranks(), side));
  }
  const std::vector<std::string> hosts = hosts_of_ranks(session);
  tell_places(session, hosts);
  const Plate plate{halo::disc_and_bar, side, side};
  const Grid result = halo::by_ranks(MPI_COMM_WORLD, plate, steps, halo::exchange_during_work);
  if (!save_as.empty()) {
    if (session.rank() == 0) save(save_as, result);
    return 0;
  }

  cookbook::Checks checks;
  if (session.rank() == 0) {
    std::map<std::string, int> ranks_of;
    for (const std::string& host : hosts) ++ranks_of[host];
    std::vector<int> counts;
    for (const auto& [host, count] : ranks_of) counts.push_back(count);
    checks.equal("ranks on each host", counts, std::vector<int>(counts.size(), ranks_per_host));
    if (!compare_with.empty()) {
      checks.equal("cells that differ from the result of the earlier run in any bit",
                   result.differing(load(compare_with, plate)), 0);
    }
    checks.equal("cells that differ from the serial result in any bit",
                 result.differing(halo::in_one_process(plate, steps)), 0);
  }
  session.meet_asleep();

  measure(session, hosts, plate, checks);
  return session.exit_code(checks);
}
