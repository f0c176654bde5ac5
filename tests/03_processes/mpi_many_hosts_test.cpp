// The program on one host and on three, and hosts.sh, which makes them: whatever ends it, nothing of it is left.

#define main main_of_the_program  // it is run from inside, too
#include "03_processes/mpi_many_hosts/mpi_many_hosts.cpp"
#undef main

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "03_processes/again_as_ranks.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

int communicators = 0;       // that this rank has made, and not freed yet
int ranks_of_each_host = 0;  // if not 0, every so many ranks believe that they are on a host of their own
std::set<int> echo_from;     // the ranks from which this one had a byte back
int trip_takes_us = 0;       // at least, for a byte there and back

int own_rank() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

}  // namespace

// MPI lets a program put functions of its own in place of MPI's, which are then called PMPI_Comm_free and so on.
extern "C" int MPI_Get_processor_name(char* name, int* length) {
  if (ranks_of_each_host == 0) return PMPI_Get_processor_name(name, length);
  *length = std::snprintf(name, MPI_MAX_PROCESSOR_NAME, "host%d", own_rank() / ranks_of_each_host);
  return MPI_SUCCESS;
}
extern "C" int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* part) {
  ++communicators;
  if (ranks_of_each_host == 0) return PMPI_Comm_split_type(comm, type, key, info, part);
  return PMPI_Comm_split(comm, own_rank() / ranks_of_each_host, key, part);
}
extern "C" int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag, void* in,
                            int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status* s) {
  if (out_count == 1 && to == from) {
    echo_from.insert(to);
    usleep(trip_takes_us);
  }
  return PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm, s);
}
extern "C" int MPI_Comm_free(MPI_Comm* comm) {
  --communicators;
  return PMPI_Comm_free(comm);
}

namespace {

using test_support::bin;
using test_support::Result;
using test_support::run;
using test_support::run_parts;
using test_support::run_ranks;
using test_support::TemporaryDirectory;
using testing::ElementsAre;

const std::string recipe =
    std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "chapters/03_processes/mpi_many_hosts";

#define SKIP_WITHOUT_HOSTS(result) \
  if ((result).exit_code == 77) GTEST_SKIP() << (result).text()

/// The names in folders where a run might leave something, but for what other programs do there.
std::vector<std::string> leftovers() {
  std::vector<std::string> found;
  for (const std::string folder : {"/run", "/run/netns", "/dev/shm"}) {
    std::error_code absent;
    for (const auto& entry : std::filesystem::directory_iterator(folder, absent)) {
      const std::string name = entry.path().filename();
      if (name == "hosts" || name == "sshd" || name.find("node") != std::string::npos) found.push_back(entry.path());
    }
  }
  return found;
}

/// Runs a shell script in which $hosts is hosts.sh; nothing may be left of the hosts afterwards.
Result with_hosts(const std::string& script) {
  const TemporaryDirectory scratch;
  const std::vector<std::string> before = leftovers();
  const auto result = run("/bin/bash", {"-c", script},
                          {.environment = {{"TMPDIR", scratch.path},
                                           {"hosts", recipe + "/hosts.sh"},
                                           {"bin", bin()},
                                           {"OMPI_MCA_odls_base_sigkill_timeout", "0"}},
                           .limit = std::chrono::seconds(55)});
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path)) << "files were left behind";
  EXPECT_EQ(leftovers(), before);
  EXPECT_EQ(result.leaked_processes, 0) << result.text();
  return result;
}

TEST(mpi_many_hosts, two_runs_at_once_have_three_hosts_each) {
  const std::string start = recipe + "/run.sh " + bin();
  const auto result = with_hosts(start + " & " + start + "; code=$?; wait $! && exit $code");
  SKIP_WITHOUT_HOSTS(result);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const std::vector<std::string> ranks = {
      "rank 0 \\(0 of node1\\) to rank 5 on node3 and back:", "rank 1 \\(1 of node1\\) to rank 0 on node1 and back:",
      "rank 2 \\(0 of node2\\) to rank 1 on node1 and back:", "rank 3 \\(1 of node2\\) to rank 2 on node2 and back:",
      "rank 4 \\(0 of node3\\) to rank 3 on node2 and back:", "rank 5 \\(1 of node3\\) to rank 4 on node3 and back:"};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::string line = "^" + ranks[i] + " +\\d+\\.\\d us " + (i % 2 == 0 ? "between hosts$" : "within the host$");
    EXPECT_EQ(result.lines_with(line).size(), 2U) << line << '\n' << result.text();
  }
  EXPECT_EQ(result.lines_with("^ok    ranks that know the host of the rank before: 6$").size(), 2U) << result.text();
  EXPECT_EQ(result.lines_with("^ok    groups of ranks that can share memory, one per host: 3$").size(), 2U);
  EXPECT_TRUE(result.err.empty()) << result.text();
}

TEST(mpi_many_hosts, open_mpi_sends_through_memory_within_a_host_and_by_tcp_between_two) {
  if (run("/bin/sh", {"-c", "mpirun --version | grep -q 'Open MPI'"}).exit_code != 0) GTEST_SKIP() << "no Open MPI";
  const auto result = with_hosts("$hosts mpirun --quiet --mca btl_base_verbose 100 -n 6 $bin/mpi_many_hosts 2>&1");
  SKIP_WITHOUT_HOSTS(result);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  // Rank 0 is on node1, and so is rank 1.
  EXPECT_EQ(result.lines_with("^\\[node1.*Using vader btl for send to .*,1\\] on node node1").size(), 1U)
      << result.text();
  EXPECT_FALSE(result.lines_with("^\\[node1.*Using tcp btl for send to .*,2\\] on node node2").empty());
  EXPECT_TRUE(result.lines_with("^\\[node1.*Using vader btl for send to .* on node node[23]").empty());
}

TEST(mpi_many_hosts_timing, the_shortest_way_between_hosts_takes_longer_than_the_shortest_within_one) {
  const auto result = with_hosts("exec $hosts mpirun --quiet -n 6 $bin/mpi_many_hosts");
  SKIP_WITHOUT_HOSTS(result);
  const auto shortest = [&](const std::string& way) {
    double least = 1e9;
    for (const std::string& us : result.captures("([\\d.]+) us " + way + "$")) least = std::min(least, std::stod(us));
    return least;
  };
  const double within = shortest("within the host"), between = shortest("between hosts");
  EXPECT_GT(within, 0) << result.text();
  EXPECT_GT(between, within) << result.text();
}

TEST(mpi_many_hosts, open_mpi_makes_windows_between_hosts_of_messages) {
  if (run("/bin/sh", {"-c", "mpirun --version | grep -q 'Open MPI) 4'"}).exit_code != 0)
    GTEST_SKIP() << "no Open MPI 4";
  for (const std::string components : {"pt2pt", "^sm"}) {
    const auto result = with_hosts("exec $hosts mpirun --quiet --mca osc " + components + " -n 6 $bin/mpi_one_sided");
    SKIP_WITHOUT_HOSTS(result);
    EXPECT_EQ(result.exit_code, 0) << result.text();
  }
}

TEST(mpi_many_hosts, without_tcp_only_the_messages_to_other_hosts_fail) {
  if (run("/bin/sh", {"-c", "mpirun --version | grep -q 'Open MPI'"}).exit_code != 0) GTEST_SKIP() << "no Open MPI";
  const auto result = with_hosts(
      "$hosts sh -c 'export OMPI_MCA_btl=self,vader; mpirun --quiet --host node1:2 -n 2 $bin/mpi_many_hosts && "
      "exec mpirun --quiet -n 6 $bin/mpi_many_hosts' 2>&1");
  SKIP_WITHOUT_HOSTS(result);
  EXPECT_EQ(result.exit_code, 3) << result.text();
  EXPECT_TRUE(result.has_line("ok    ranks that know the host of the rank before: 2")) << result.text();
  EXPECT_FALSE(result.lines_with("^mpi_many_hosts: rank [135]: MPI_Sendrecv: ").empty()) << result.text();
  EXPECT_TRUE(result.lines_with("^mpi_many_hosts: rank [024]: MPI_Sendrecv: ").empty()) << result.text();
}

TEST(mpi_many_hosts, the_pitfall_works_on_one_host_and_fails_on_three) {
  const auto result = with_hosts(
      "$hosts sh -c 'mpirun --quiet --host node1:2 -n 2 $bin/mpi_many_hosts_one_memory && "
      "exec mpirun --quiet -n 6 $bin/mpi_many_hosts_one_memory'");
  SKIP_WITHOUT_HOSTS(result);
  EXPECT_EQ(result.exit_code, 3) << result.text();
  EXPECT_THAT(result.out, ElementsAre("ranks that share memory with rank 0, itself included: 2"));
  EXPECT_THAT(result.text(), testing::HasSubstr(": MPI_Win_allocate_shared: ")) << result.text();
}

TEST(mpi_many_hosts, any_command_runs_on_the_first_host_and_reaches_the_others) {
  const auto result = with_hosts(
      "exec $hosts --slots 1 sh -c 'hostname; for i in 1 2 3; do ssh -F /run/hosts/ssh_config node$i hostname; done;"
      "cat /run/hosts/hostfile; ssh -F /run/hosts/ssh_config -o PubkeyAuthentication=no node2 hostname; exit 5'");
  SKIP_WITHOUT_HOSTS(result);
  EXPECT_EQ(result.exit_code, 5) << result.text();
  EXPECT_THAT(result.out,
              ElementsAre("node1", "node1", "node2", "node3", "node1 slots=1", "node2 slots=1", "node3 slots=1"))
      << result.text();
  EXPECT_THAT(result.text(), testing::HasSubstr("Permission denied (publickey)")) << "without the key nobody gets in";
}

TEST(mpi_many_hosts, a_signal_ends_the_hosts) {
  // Job control (set -m), since a shell without it makes its background jobs ignore SIGINT.
  for (const auto& [signal, code] : {std::pair{"INT", 130}, {"KILL", 128 + SIGKILL}}) {
    const auto result = with_hosts(
        "set -m; exec 3< <(exec $hosts sh -c 'echo ready; exec sleep 60' 2>&1); hosts_id=$!; read -r line <&3;"
        "[[ $line == ready ]] || { echo \"$line\"; wait $hosts_id; exit; };"
        "kill -" +
        std::string(signal) + " $hosts_id; wait $hosts_id");
    SKIP_WITHOUT_HOSTS(result);
    EXPECT_EQ(result.exit_code, code) << result.text();
  }
}

TEST(mpi_many_hosts, where_hosts_cannot_be_made_it_is_skipped_with_the_reason) {
  if (geteuid() != 0) {
    const auto result = run_parts("03_processes/mpi_many_hosts");
    EXPECT_EQ(result.exit_code, 77);
    EXPECT_THAT(result.err, ElementsAre("hosts.sh: skipped: only root may make networks and start sshd"));
    return;
  }
  for (const std::string right : {"sys_admin", "net_admin"}) {
    const auto result = run("/usr/bin/setpriv", {"--bounding-set=-" + right, recipe + "/run.sh", bin()});
    EXPECT_EQ(result.exit_code, 77) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::StartsWith("hosts.sh: skipped: ")) << result.text();
  }
}

TEST(mpi_many_hosts, the_program_runs_on_one_host_too) {
  const auto result = run_ranks(3, "mpi_many_hosts");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  for (const auto& [rank, previous] : {std::pair{"0", "2"}, {"1", "0"}, {"2", "1"}}) {
    const std::string line = fmt::format(
        "^rank {0} \\({0} of (\\S+)\\) to rank {1} on \\1 and back: +[\\d.]+ us within the host$", rank, previous);
    EXPECT_EQ(result.lines_with(line).size(), 1U) << line << '\n' << result.text();
  }
  const auto times = result.captures(" and back: +([\\d.]+) us within");
  ASSERT_EQ(times.size(), 3U) << result.text();
  for (const std::string& us : times) {  // each is one of 100 trips, which came one after another
    EXPECT_GT(std::stod(us), 0);
    EXPECT_LT(100 * 1e-6 * std::stod(us), result.seconds);
  }
  EXPECT_TRUE(result.has_line("ok    ranks that know the host of the rank before: 3")) << result.text();
  EXPECT_TRUE(result.has_line("ok    groups of ranks that can share memory, one per host: 1")) << result.text();
}

/// This test starts itself again as two ranks.
TEST(mpi_many_hosts_communicator, is_freed_by_each_rank) {
  if (again_as_ranks(2, "mpi_many_hosts_test")) return;
  std::string name = "mpi_many_hosts";
  char* arguments[] = {name.data(), nullptr};
  EXPECT_EQ(main_of_the_program(1, arguments), 0);
  EXPECT_EQ(communicators, 0);
}

/// As on three hosts, though these ranks are on one: for machines on which hosts.sh can make none.
TEST(mpi_many_hosts_names, tell_which_rank_is_before_and_which_ranks_share_a_host) {
  const auto result = again_as_ranks(6, "mpi_many_hosts_test");
  if (!result) {
    ranks_of_each_host = 2;
    trip_takes_us = 200;
    std::string name = "mpi_many_hosts";
    char* arguments[] = {name.data(), nullptr};
    EXPECT_EQ(main_of_the_program(1, arguments), 0);
    EXPECT_THAT(echo_from, ElementsAre((std::stoi(std::getenv("OMPI_COMM_WORLD_RANK")) + 5) % 6));
    return;
  }
  for (int rank = 0; rank < 6; ++rank) {
    const int before = (rank + 5) % 6;
    const std::string line =
        fmt::format("^rank {} \\({} of host{}\\) to rank {} on host{} and back: +([\\d.]+) us {}$", rank, rank % 2,
                    rank / 2, before, before / 2, rank % 2 == 0 ? "between hosts" : "within the host");
    const auto us = result->captures(line);
    ASSERT_EQ(us.size(), 1U) << line << '\n' << result->text();
    EXPECT_GE(std::stod(us[0]), 200) << "the whole way, there and back";
  }
  EXPECT_TRUE(result->has_line("ok    ranks that know the host of the rank before: 6")) << result->text();
  EXPECT_TRUE(result->has_line("ok    groups of ranks that can share memory, one per host: 3")) << result->text();
}

TEST(mpi_many_hosts, on_one_host_rank_0_alone_says_how_many_ranks_share_memory) {
  const auto result = run_ranks(3, "mpi_many_hosts_one_memory");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_THAT(result.out, ElementsAre("ranks that share memory with rank 0, itself included: 3"));
}

}  // namespace
