// System report: the program seen from outside, and its header from inside. Catalogue: 0.C1, 0.C2, 0.C4, 1.C1, 1.C12,
// 1.C29, 1.C30.

#include "01_getting_started/system_report/manifest.hpp"
#include "01_getting_started/system_report/quota.hpp"

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// A manifest in a folder of its own, removed at the end.
class ManifestFile {
 public:
  explicit ManifestFile(const std::string& rows) {
    std::ofstream(path()) << "name\tchapter\ttitle\tsummary\trun\tneeds\tmissing\n" << rows;
  }
  std::string path() const { return folder_.path / "recipes.tsv"; }

 private:
  test_support::TemporaryDirectory folder_;
};

const std::string three_chapters =
    "lock\t02_threads\tLock\tOne.\tplain\t\t\n"
    "queue\t02_threads\tQueue\tTwo.\tplain\ttbb\tlibtbb-dev\n"
    "sort\t02_threads\tSort\tThree.\tplain\ttbb\tlibtbb-dev\n"
    "pipe\t03_processes\tPipe\tFour.\tplain\ttbb\t\n"
    "loop\t04_async\tLoop\tSix.\tplain\ttbb\tlibtbb-dev\n"
    "hello\t03_processes\tHello\tFive.\tmpi 5\tmpi\topenmpi-bin and libopenmpi-dev\n";

TEST(system_report, reports_machine_libraries_and_recipes_of_this_build) {
  const auto result = run("system_report");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^caches .* (level \\d \\d+ [KM]iB(, )?)+$|^caches .* not known$").size(), 1U)
      << result.text();
  EXPECT_EQ(result.lines_with("^Boost's headers .* (\\d+\\.\\d+|not found)$").size(), 1U) << result.text();
  EXPECT_EQ(result.lines_with("^memory .* [0-9.]+ GiB in [1-9]\\d* NUMA node").size(), 1U) << result.text();
  EXPECT_EQ(result.lines_with("^recipes .* [1-9]\\d* of [1-9]\\d* can be built").size(), 1U) << result.text();
  // What the program says of a library is what the loader says here.
  for (const auto& [row, file, found] : {std::array{"oneTBB", "libtbb.so.12", "libtbb\\.so\\.12.*"},
                                         {"Open MPI", "libmpi.so.40", "libmpi\\.so\\.40.*"},
                                         {"RabbitMQ's client", "librabbitmq.so.4", "librabbitmq\\.so\\..*"},
                                         {"OpenCL's loader", "libOpenCL.so.1", "libOpenCL\\.so\\..*"},
                                         {"NVIDIA's driver", "libcuda.so.1", "libcuda\\.so\\..*"}}) {
    const std::string wanted = dlopen(file, RTLD_LAZY) != nullptr ? found : "not found";
    EXPECT_EQ(result.lines_with(std::string(row) + " .* " + wanted + "(, .*)?$").size(), 1U) << result.text();
  }
}

// Libraries of this test's own, under the names of CUDA's driver and OpenCL's loader.
TEST(system_report, devices_and_drivers_are_those_that_the_libraries_count) {
  const ManifestFile manifest(
      "gpu\t06_gpu\tGpu\tOne.\tplain\tcuda cublas\t\n"
      "both\t08_heterogeneous\tBoth\tTwo.\tplain\tcuda opencl\t\n"
      "lock\t02_threads\tLock\tThree.\tplain\t\t\n");
  const std::string functions =
      "extern \"C\" {\n"
      "bool ready = false;\n"
      "int cuInit(unsigned) { return ready = true, INIT; }\n"
      "int cuDeviceGetCount(int* n) { return *n = ready ? 3 : 7, COUNT; }\n"
      "int clGetPlatformIDs(unsigned size, void*, unsigned* n) { return *n = size == 0 ? 2 : 8, PLATFORMS; }\n"
      "}\n";
  for (const auto& [text, init, count, platforms, devices, drivers] :
       {std::array<std::string, 6>{functions, "0", "0", "0", "3", "2"},
        {functions, "100", "0", "-1001", "0", "0"},  // the codes of "no device" and "no platform"
        {functions, "0", "100", "0", "0", "2"},
        {"int other() { return 0; }\n", "0", "0", "0", "0", "0"}}) {
    const test_support::TemporaryDirectory folder;
    std::ofstream(folder.path / "driver.cpp") << text;
    for (const char* name : {"libcuda.so.1", "libOpenCL.so.1"}) {
      const auto built =
          run("/usr/bin/env", {"g++", "-shared", "-fPIC", "-DINIT=" + init, "-DCOUNT=" + count,
                               "-DPLATFORMS=" + platforms, folder.path / "driver.cpp", "-o", folder.path / name});
      ASSERT_EQ(built.exit_code, 0) << built.text();
    }
    const auto result =
        run("system_report", {"--manifest", manifest.path()}, {.environment = {{"LD_LIBRARY_PATH", folder.path}}});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const int without =
        (devices == "0" ? 2 : 0) + (drivers == "0" ? 1 : 0) - (devices == "0" && drivers == "0" ? 1 : 0);
    EXPECT_EQ(result.captures("^recipes +(.*)$"),
              std::vector<std::string>{
                  "3 of 3 can be built" +
                  (without == 0 ? "" : "; " + std::to_string(without) + " need a device that is not here")});
    EXPECT_EQ(result.captures("^NVIDIA's driver .* libcuda\\.so\\.1, devices: (\\d+)$"),
              std::vector<std::string>{devices});
    EXPECT_EQ(result.captures("^OpenCL's loader .* libOpenCL\\.so\\.1, drivers: (\\d+)$"),
              std::vector<std::string>{drivers});
  }
}

TEST(system_report, a_containers_limit_on_processor_time_is_shown_as_processors) {
  const test_support::TemporaryDirectory folder;
  const auto with = [&](const char* text) {
    std::ofstream(folder.path / "cpu.max") << text;
    return quota(folder.path / "cpu.max");
  };
  EXPECT_EQ(with("150000 100000\n"), ", but only the time of 1.5");
  EXPECT_EQ(with("20000 50000\n"), ", but only the time of 0.4");
  EXPECT_EQ(with("max 100000\n"), "");
  EXPECT_EQ(quota(folder.path / "no_such_file"), "");
  EXPECT_EQ(run("system_report").lines_with("^processor .*; this program may use \\d+" + quota() + "$").size(), 1U);
}

TEST(system_report, memory_and_caches_are_those_that_the_system_has) {
  const auto result = run("system_report");
  const double gib = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE)) / (1 << 30);
  const auto memory = result.captures("^memory .* ([0-9.]+) GiB in");
  ASSERT_EQ(memory.size(), 1U) << result.text();
  EXPECT_NEAR(std::stod(memory[0]), gib, 0.06);

  std::string caches;  // of the first processor, not those for instructions
  for (int index = 0;; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const std::string type = test_support::text_of(folder + "type"), size = test_support::text_of(folder + "size");
    if (type.empty()) break;
    if (type.starts_with("Instruction")) continue;
    const int kib = std::stoi(size);
    caches += (caches.empty() ? "level " : ", level ") +
              std::to_string(std::stoi(test_support::text_of(folder + "level"))) + " " +
              (kib % 1024 == 0 ? std::to_string(kib / 1024) + " MiB" : std::to_string(kib) + " KiB");
  }
  if (caches.empty()) GTEST_SKIP() << "the system does not tell its caches";
  EXPECT_EQ(result.captures("^caches .*?  +(level .*)$"), std::vector<std::string>{caches}) << result.text();
}

// hwloc takes a description of a machine for the machine itself.
TEST(system_report, caches_are_those_from_the_first_hardware_thread_outwards) {
  for (const auto& [machine, caches, nodes] :
       {std::array{"numa:2 l3:1(size=8388608) l2:1(size=1572864) l1d:1(size=49152) pu:1",
                   "level 1 48 KiB, level 2 1536 KiB, level 3 8 MiB", "2"},
        {"l1d:1(size=32768) pu:1", "level 1 32 KiB", "1"},
        {"pu:1", "not known", "1"}}) {
    const auto result = run("system_report", {}, {.environment = {{"HWLOC_SYNTHETIC", machine}}});
    EXPECT_EQ(result.captures("^caches +(.*)$"), std::vector<std::string>{caches}) << result.text();
    EXPECT_EQ(result.captures("^memory .* in (\\d+) NUMA node"), std::vector<std::string>{nodes}) << result.text();
  }
}

TEST(system_report, a_library_that_cannot_be_loaded_is_not_found) {
  // A library path in which every name is a text file; and only one processor may be used.
  const test_support::TemporaryDirectory folder;
  for (const char* name : {"libtbb.so.12", "libmpi.so.40", "librabbitmq.so.4", "libOpenCL.so.1", "libcuda.so.1"}) {
    std::ofstream(folder.path / name) << "no library";
  }
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int processor = 0; CPU_COUNT(&one) == 0; ++processor) {
    if (CPU_ISSET(processor, &before)) CPU_SET(processor, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const auto result = run("system_report", {}, {.environment = {{"LD_LIBRARY_PATH", folder.path}}});
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(
      result.lines_with("^(oneTBB|Open MPI|RabbitMQ's client|NVIDIA's driver|OpenCL's loader) .* not found(, .*)?$")
          .size(),
      5U)
      << result.text();
  EXPECT_EQ(result.lines_with("^processor .*; this program may use 1" + quota() + "$").size(), 1U) << result.text();
}

TEST(system_report, a_library_that_lacks_another_one_is_not_found) {
  const test_support::TemporaryDirectory folder;
  const auto build = [&](const std::string& text, const std::string& name, const std::vector<std::string>& more) {
    std::ofstream(folder.path / "library.cpp") << text;
    std::vector<std::string> words = {"g++", "-shared", "-fPIC", folder.path / "library.cpp", "-o", folder.path / name};
    words.insert(words.end(), more.begin(), more.end());
    const auto built = run("/usr/bin/env", words);
    EXPECT_EQ(built.exit_code, 0) << built.text();
  };
  build("int one() { return 1; }\n", "libone_part.so", {});
  build("int one();\nint two() { return 2 * one(); }\n", "libtbb.so.12",
        {"-L" + folder.path.string(), "-lone_part", "-Wl,-rpath," + folder.path.string()});
  const auto reported = [&] {
    const auto result = run("system_report", {}, {.environment = {{"LD_LIBRARY_PATH", folder.path}}});
    return result.captures("^oneTBB .*?  +(not found|lib\\S+)$");
  };
  EXPECT_EQ(reported(), std::vector<std::string>{"libtbb.so.12"});
  std::filesystem::remove(folder.path / "libone_part.so");
  EXPECT_EQ(reported(), std::vector<std::string>{"not found"});
  ASSERT_EQ(dlopen((folder.path / "libtbb.so.12").c_str(), RTLD_LAZY), nullptr);
  EXPECT_THAT(dlerror(), testing::HasSubstr("libone_part.so")) << "it names the one that is missing";
}

TEST(system_report, names_the_packages_and_the_recipes_that_wait_for_them) {
  const ManifestFile manifest(three_chapters);
  const auto result = run("system_report", {"--manifest", manifest.path()});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures("^recipes +(.*)$"),
            (std::vector<std::string>{"2 of 6 can be built, missing: libtbb-dev (queue, sort, loop), "
                                      "missing: openmpi-bin and libopenmpi-dev (hello)"}))
      << result.text();
}

TEST(system_report, counts_the_recipes_that_need_a_library_and_names_their_chapters) {
  const ManifestFile manifest(
      "lock\t02_threads\tLock\tOne.\tplain\t\t\n"
      "queue\t02_threads\tQueue\tTwo.\tplain\ttbb boost\tlibtbb-dev\n"
      "sort\t02_threads\tSort\tThree.\tplain\ttbb\t\n"
      "pipe\t03_processes\tPipe\tFour.\tplain\tboost fiber\t\n"
      "loop\t09_diagnosis\tLoop\tFive.\tplain\tfiber json\t\n"
      "gpu\t06_gpu\tGpu\tSix.\tplain\tcuda cublas\tnvcc\n"
      "hello\t03_processes\tHello\tSeven.\tmpi 5\tmpi\t\n"
      "tasks\t05_distributed\tTasks\tEight.\tplain\trabbitmq\t\n"
      "device\t08_heterogeneous\tDevice\tNine.\tplain\topencl\t\n");
  const auto result = run("system_report", {"--manifest", manifest.path()});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const auto& [row, recipes] : {std::array{"Boost's headers", "3 recipes    02 03 09"},  // boost, fiber or both
                                     {"oneTBB", "2 recipes    02"},
                                     {"Open MPI", "1 recipe     03"},
                                     {"RabbitMQ's client", "1 recipe     05"},
                                     {"NVIDIA's driver", "1 recipe     06"},
                                     {"OpenCL's loader", "1 recipe     08"}}) {
    EXPECT_EQ(result.captures("^" + std::string(row) + " +(\\d+ recipes? +\\d\\d(?: \\d\\d)*)  "),
              std::vector<std::string>{recipes})
        << row;
  }
  const ManifestFile nothing("lock\t02_threads\tLock\tOne.\tplain\t\t\n");
  EXPECT_EQ(run("system_report", {"--manifest", nothing.path()}).captures("^oneTBB +(\\d+ recipes) "),
            std::vector<std::string>{"0 recipes"});
}

// A dependency that gets another name would be needed by no recipe.
TEST(system_report, every_line_is_about_something_that_recipes_of_this_build_need) {
  const auto result = run("system_report");
  const auto manifest = read_manifest(std::filesystem::path(test_support::bin()).parent_path() / "recipes.tsv");
  std::set<std::string> chapters;
  for (const auto& [need, recipes] : manifest.needs) {
    for (const std::string& recipe : recipes) chapters.insert(recipe.substr(0, recipe.find('/')));
  }
  ASSERT_FALSE(chapters.empty());
  for (const auto& [row, chapter] : {std::array{"Boost's headers", "04_async"},  // and one of those that need it
                                     {"oneTBB", "02_threads"},
                                     {"Open MPI", "05_distributed"},
                                     {"RabbitMQ's client", "05_distributed"},
                                     {"NVIDIA's driver", "06_gpu"},
                                     {"OpenCL's loader", "08_heterogeneous"}}) {
    if (!chapters.contains(chapter)) continue;  // this build has only some of the chapters
    EXPECT_EQ(result.lines_with("^" + std::string(row) + " +[1-9]\\d* recipes? +\\d\\d ").size(), 1U) << result.text();
  }
}

/// Runs the program where the system refuses it one system call; nothing if this machine has no such filters.
std::optional<test_support::Result> run_without(unsigned call) {
  std::optional<test_support::Result> result;
  // The filter is for this thread and for what it starts.
  std::jthread([&] {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program = {std::size(filter), filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) return;
    result = run("system_report");
  }).join();
  return result;
}

TEST(system_report, where_a_port_may_not_be_opened_it_says_so) {
  for (const unsigned call : {SYS_socket, SYS_bind, SYS_listen}) {
    const auto result = run_without(call);
    if (!result) GTEST_SKIP() << "no filters of system calls here";
    EXPECT_EQ(result->exit_code, 1) << call << "\n" << result->text();
    EXPECT_EQ(result->lines_with("^FAIL  a port can be opened").size(), 1U) << call << "\n" << result->text();
  }
}

TEST(system_report, a_manifest_that_is_not_there_is_refused) {
  const auto result = run("system_report", {"--manifest", "/nowhere/recipes.tsv"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::ElementsAre(testing::HasSubstr("there is no /nowhere/recipes.tsv")));
  EXPECT_TRUE(result.out.empty());
}

TEST(system_report_manifest, counts_what_is_built_and_what_is_missing) {
  const ManifestFile file(three_chapters);
  const auto manifest = read_manifest(file.path());
  EXPECT_EQ(manifest.recipes, 6);
  EXPECT_EQ(manifest.built, 2);
  const std::map<std::string, std::vector<std::string>> waiting = {{"libtbb-dev", {"queue", "sort", "loop"}},
                                                                   {"openmpi-bin and libopenmpi-dev", {"hello"}}};
  EXPECT_EQ(manifest.missing, waiting);
  EXPECT_EQ(needed_by(manifest, {"tbb"}), "4 recipes    02 03 04");
  EXPECT_EQ(needed_by(manifest, {"tbb", "mpi"}), "5 recipes    02 03 04");
  EXPECT_EQ(needed_by(manifest, {"mpi"}), "1 recipe     03");
  EXPECT_EQ(needed_by(manifest, {"boost"}), "0 recipes    ");
}

}  // namespace
