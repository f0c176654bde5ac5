// System report
//
// What this machine and this build can do, and so which chapters run here: the first program to start, and the one to
// come back to when something is missing. It needs nothing but the compiler itself. Libraries and drivers are looked
// for while it runs, each from a child process; what the last configure could build stands in its manifest,
// recipes.tsv.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/01_getting_started chapters/01_getting_started/system_report/system_report.cpp common/cookbook/*.cpp -lfmt -pthread -o system_report
// Run:     system_report [--manifest FILE]

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/pin.hpp"
#include "cookbook/print.hpp"
#include "libraries.hpp"
#include "look.hpp"
#include "manifest.hpp"
#include "topology.hpp"

namespace {

void row(std::string_view name, std::string_view value) { cookbook::println("  {:<20}{}", name, value); }

// The machine ---------------------------------------------------------------------------------------------------------

/// The widest vectors that this build may use: what the compiler was told, not what the processor has.
std::string vectors() {
#if defined(__AVX512F__)
  return "AVX-512, 16 floats";
#elif defined(__AVX2__)
  return "AVX2, 8 floats";
#elif defined(__ARM_FEATURE_SVE)
  return "SVE";
#elif defined(__SSE2__) || defined(__ARM_NEON)
  return "128 bits, 4 floats";
#else
  return "none";
#endif
}

std::string caches() {
  std::string text;
  for (const topology::Cache& cache : topology::caches(0)) {
    text += fmt::format("{}level {}: {}", text.empty() ? "" : ", ", cache.level, topology::bytes_text(cache.bytes));
  }
  return or_else(text, "the system does not say");
}

void report_machine() {
  const std::string machine = cookbook::machine();  // "model, threads, compiler"
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  cookbook::println("machine");
  row("processor", machine.substr(0, machine.find(", ")));
  row("threads at once", fmt::format("{}, of them for this program {}", std::thread::hardware_concurrency(),
                                     cookbook::allowed_processors()));
  row("vectors", vectors());
  row("caches", caches());
  row("memory",
      fmt::format("{:.1f} GiB in {} NUMA node(s)", double(pages) * double(page) / (1 << 30), topology::nodes().size()));
  row("compiler", fmt::format("{}, C++{}", machine.substr(machine.rfind(", ") + 2), __cplusplus / 100 % 100));
}

// Libraries and devices -----------------------------------------------------------------------------------------------

void report_libraries() {
  cookbook::println("libraries and devices");
  row("oneTBB", or_else(libraries::tbb(), "not found"));
  row("Boost's headers", or_else(libraries::boost(), "not found"));
  row("MPI", or_else(libraries::mpi(), "no Open MPI 4 found"));
  row("Cap'n Proto", or_else(first_line_of("capnp --version | grep -o 'version .*'"), "not found"));
  row("RabbitMQ's client", or_else(libraries::rabbitmq(), "not found"));
  row("CUDA's compiler", or_else(first_line_of("nvcc --version | grep -o 'release [0-9.]*'"), "no nvcc on PATH"));
  row("CUDA's devices", or_else(libraries::cuda(), "none; the recipes are built and skipped"));
  row("OpenCL", or_else(libraries::opencl(), "not found"));
}

// Chapters ------------------------------------------------------------------------------------------------------------

void report_chapters(const std::filesystem::path& manifest) {
  cookbook::println("chapters");
  const std::map<std::string, std::string> about = {{"01_getting_started", "machines, models, first steps"},
                                                    {"02_threads", "one memory, many flows"},
                                                    {"03_processes", "processes, pipes, messages"},
                                                    {"04_async", "one flow, many things under way"},
                                                    {"05_distributed", "tasks, objects, channels"},
                                                    {"06_gpu", "NVIDIA's GPUs"},
                                                    {"07_cloud", "services and containers"},
                                                    {"08_heterogeneous", "any device, by OpenCL"}};
  const std::map<std::string, Chapter> chapters = read_manifest(manifest);
  for (const auto& [folder, subject] : about) {
    const auto found = chapters.find(folder);
    std::string state = "not in this build";
    if (found != chapters.end()) {
      state = fmt::format("{} of {} built", found->second.built, found->second.recipes);
      for (const auto& [packages, recipes] : found->second.missing) {
        state += fmt::format("; for {} more install {}", recipes, packages);
      }
    }
    row(folder, fmt::format("{:<33}{}", subject, state));
  }
}

// What every chapter takes for granted, tried once
// ---------------------------------------------------------------------

void try_out(cookbook::Checks& checks) {
  int seen_by_thread = 0;
  std::jthread([&] { seen_by_thread = 1; }).join();
  checks.equal("a thread changes a variable of this process", seen_by_thread, 1);

  int own = 0;
  const std::string said = in_a_child([&] { return std::to_string(own = 1); });
  checks.equal("a child process answers through a pipe", said, "1");
  checks.equal("and changes its own copy of the variable", own, 0);

  void* shared = check(mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), "mmap");
  auto& both = *static_cast<int*>(shared);
  in_a_child([&] { return std::to_string(both = 1); });
  checks.equal("in shared memory both have one", both, 1);
  munmap(shared, sizeof(int));

  const int listener = check(socket(AF_INET, SOCK_STREAM, 0), "socket");
  checks.that("a port can be opened", listen(listener, 1) == 0);  // not bound: the system picks a free one
  close(listener);
  const cookbook::Stopwatch watch;
  for (long looks = 0; watch.seconds() == 0 && looks < 1'000'000'000; ++looks) continue;
  checks.that("the clock goes on", watch.seconds() > 0);
}

}  // namespace

int main(int argc, char** argv) {
  // The programs are in build/bin, the manifest is in build.
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::string manifest = folder.parent_path() / "recipes.tsv";
  cookbook::Options options("Report what this machine and this build can do");
  options.add("manifest", manifest, "list of recipes that configure has written");
  options.parse(argc, argv);

  if (!std::filesystem::exists(manifest)) {
    cookbook::complain("there is no " + manifest + "; cmake --preset default makes it");
    return 2;
  }

  report_machine();
  report_libraries();
  report_chapters(manifest);
  cookbook::Checks checks;
  try_out(checks);
  return checks.exit_code();
}
