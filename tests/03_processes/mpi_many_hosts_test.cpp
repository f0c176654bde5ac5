// Many hosts: programs and hosts seen from outside.

#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "support/run.hpp"

namespace {

using test_support::bin;
using test_support::Result;
using test_support::run;
using test_support::run_parts;
using test_support::run_ranks;
using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path here = std::filesystem::path(__FILE__).parent_path();
const std::string recipe = here.parent_path().parent_path() / "chapters/03_processes/mpi_many_hosts";

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

/// Plays the recipe; nothing may be left of it, in whatever way it ends.
Result play(const std::vector<std::string>& arguments, test_support::Setting setting = {}) {
  const auto scratch = std::filesystem::temp_directory_path() / ("mpi_many_hosts_test_" + std::to_string(getpid()));
  std::filesystem::create_directory(scratch);
  setting.environment["TMPDIR"] = scratch;
  setting.environment["COOKBOOK_ROUNDS"] = "1";
  setting.limit = std::chrono::seconds(55);
  const std::vector<std::string> before = leftovers();
  const auto result = run_parts("03_processes/mpi_many_hosts", arguments, setting);
  EXPECT_EQ(std::filesystem::remove_all(scratch), 1U) << "files were left behind";
  EXPECT_EQ(leftovers(), before);
  EXPECT_EQ(result.left_behind, 0) << result.text();
  return result;
}

TEST(mpi_many_hosts, three_hosts_give_the_bits_of_one) {
  const auto result = play({});
  SKIP_WITHOUT_HOSTS(result);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_THAT(result.lines_with("^node"),
              ElementsAre("node1: ranks [0, 1, 2, 3, 4, 5]; halos sent in a step: 14 by memory, 0 by network",
                          "node1: ranks [0, 1]; halos sent in a step: 2 by memory, 2 by network",
                          "node2: ranks [2, 3]; halos sent in a step: 2 by memory, 4 by network",
                          "node3: ranks [4, 5]; halos sent in a step: 2 by memory, 2 by network"))
      << result.text();
  EXPECT_TRUE(result.has_line("ok    ranks on each host: [2, 2, 2]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    cells that differ from the result of the earlier run in any bit: 0"));
  EXPECT_TRUE(result.has_line("ok    cells that differ from the serial result in any bit: 0"));
  EXPECT_EQ(result.lines_with("^on one host, memory.* us").size(), 3U) << result.text();
  EXPECT_EQ(result.lines_with("^on two hosts, TCP.* us").size(), 3U) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

TEST(mpi_many_hosts, two_runs_at_once_do_not_meet) {
  const std::string run_it = recipe + "/run.sh " + bin() + " --side 64 --steps 20 --ranks-per-host ";
  const auto result = run("/bin/bash", {"-c", run_it + "1 & " + run_it + "3; code=$?; wait $! && exit $code"},
                          {.environment = {{"COOKBOOK_ROUNDS", "1"}}});
  SKIP_WITHOUT_HOSTS(result);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    ranks on each host: [1, 1, 1]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    ranks on each host: [3, 3, 3]")) << result.text();
  EXPECT_TRUE(result.has_line("node2: ranks [3, 4, 5]; halos sent in a step: 4 by memory, 6 by network"))
      << result.text();
  EXPECT_EQ(result.lines_with("^ok .* in any bit: 0$").size(), 4U) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

TEST(mpi_many_hosts, an_interrupt_ends_the_hosts) {
  for (const int after_ms : {150, 900}) {
    const auto result = play({"--side", "2048", "--steps", "10000"}, {.interrupt_after_ms = after_ms});
    SKIP_WITHOUT_HOSTS(result);
    EXPECT_THAT(result.exit_code, testing::AnyOf(130, -SIGINT))
        << result.text();  // before hosts.sh minds it, the latter
  }
}

TEST(mpi_many_hosts, a_kill_ends_the_hosts) {
  const auto result = play({"--side", "2048", "--steps", "10000"}, {.kill_after_ms = 900});
  SKIP_WITHOUT_HOSTS(result);
  EXPECT_EQ(result.exit_code, -9) << result.text();
}

TEST(mpi_many_hosts, any_command_runs_on_the_first_host_and_reaches_the_others) {
  const auto result =
      run(recipe + "/hosts.sh", {"--slots", "1", "sh", "-c",
                                 "hostname; for i in 1 2 3; do ssh -F /run/hosts/ssh_config node$i hostname; done;"
                                 "ssh -F /run/hosts/ssh_config -o PubkeyAuthentication=no node2 hostname; exit 5"});
  SKIP_WITHOUT_HOSTS(result);
  EXPECT_EQ(result.exit_code, 5) << result.text();
  EXPECT_THAT(result.out, ElementsAre("node1", "node1", "node2", "node3")) << result.text();
  EXPECT_THAT(result.text(), HasSubstr("Permission denied (publickey)")) << "without the key nobody gets in";
  EXPECT_EQ(result.left_behind, 0);
}

TEST(mpi_many_hosts, where_hosts_cannot_be_made_it_is_skipped_with_the_reason) {
  if (geteuid() != 0) {
    const auto result = play({});
    EXPECT_EQ(result.exit_code, 77);
    EXPECT_THAT(result.err, ElementsAre("hosts.sh: only root may make networks and start sshd"));
    return;
  }
  for (const std::string right : {"sys_admin", "net_admin"}) {
    const auto result = run("/usr/bin/setpriv", {"--bounding-set=-" + right, recipe + "/run.sh", bin()});
    EXPECT_EQ(result.exit_code, 77) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::StartsWith("hosts.sh: ")) << result.text();
  }
}

TEST(mpi_many_hosts, the_program_needs_no_several_hosts) {
  const auto result = run_ranks(2, "mpi_many_hosts", {"--side", "64", "--steps", "20"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    ranks on each host: [2]")) << result.text();
  EXPECT_EQ(result.lines_with("^on one host, memory.* us").size(), 3U) << result.text();

  const auto compared = run_ranks(2, "mpi_many_hosts", {"--side", "64", "--compare", "/no/such/file"});
  EXPECT_EQ(compared.exit_code, 3) << compared.text();
  EXPECT_THAT(compared.err, ElementsAre("mpi_many_hosts: /no/such/file holds no plate of this size"));

  const auto many = run_ranks(17, "mpi_many_hosts", {"--side", "16"});
  EXPECT_EQ(many.exit_code, 2) << many.text();
  EXPECT_THAT(many.err, ElementsAre("mpi_many_hosts: 17 ranks are too many for 16 rows"));
}

}  // namespace
