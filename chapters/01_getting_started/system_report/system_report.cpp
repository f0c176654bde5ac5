// System report
//
// Prints what this machine and this build have, and how many recipes need each part: processors, caches, libraries,
// devices; and how many recipes can be built. It is not linked with the libraries that it looks for, because then it
// could not start without them. It asks the system for each of them while it runs, with dlopen, and calls a function of
// two of them, which dlsym looks up.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/system_report/system_report.cpp common/cookbook/*.cpp -lhwloc -lfmt -pthread -o system_report
// Run:     system_report [--manifest FILE]

#include <dlfcn.h>
#include <hwloc.h>
#include <link.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "manifest.hpp"
#include "quota.hpp"

#if __has_include(<boost/version.hpp>)
#include <boost/version.hpp>
#endif

namespace {

/// The file of a shared library, such as libtbb.so.12.8, whose name usually ends in its version; or "not found". It
/// stays loaded, as this program ends soon.
std::string library(const char* name) {
  void* const handle = dlopen(name, RTLD_LAZY);  // lazy: look up a function only when it is called
  if (handle == nullptr) return "not found";
  link_map* loaded = nullptr;  // will say which file was loaded
  if (dlinfo(handle, RTLD_DI_LINKMAP, &loaded) != 0) return "found";
  return std::filesystem::canonical(loaded->l_name).filename();  // follows links to the file itself
}

/// How many devices CUDA finds; 0 without the driver.
int cuda_devices() {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
  if (driver == nullptr) return 0;
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  int devices = 0;
  return init && count && init(0) == 0 && count(&devices) == 0 ? devices : 0;
}

/// How many drivers ("platforms") OpenCL's loader could load, asked in the same way; 0 without the loader.
unsigned opencl_drivers() {
  void* const loader = dlopen("libOpenCL.so.1", RTLD_LAZY);
  if (loader == nullptr) return 0;
  const auto count = reinterpret_cast<int (*)(unsigned, void*, unsigned*)>(dlsym(loader, "clGetPlatformIDs"));
  unsigned drivers = 0;
  return count && count(0, nullptr, &drivers) == 0 ? drivers : 0;
}

void row(std::string_view name, std::string_view needed_by, const std::string& value) {
  cookbook::println("{:<17}  {:<27}  {}", name, needed_by, value);
}

void report_machine() {
  row("processor", "",
      fmt::format("{}; this program may use {}{}", cookbook::machine(), cookbook::allowed_processors(), quota()));
  hwloc_topology_t machine;  // of objects: processors, the caches around each of them, nodes of memory
  if (hwloc_topology_init(&machine) != 0 || hwloc_topology_load(machine) != 0) cookbook::exit_with_errno("hwloc");
  // The caches for data, from the first hardware thread (PU, processing unit) outwards, from parent to parent.
  std::vector<std::string> caches;
  for (hwloc_obj_t object = hwloc_get_obj_by_type(machine, HWLOC_OBJ_PU, 0); object; object = object->parent) {
    if (!hwloc_obj_type_is_dcache(object->type)) continue;
    const auto kib = object->attr->cache.size >> 10;
    caches.push_back(fmt::format("level {} {}", object->attr->cache.depth,
                                 kib % 1024 == 0 ? fmt::format("{} MiB", kib / 1024) : fmt::format("{} KiB", kib)));
  }
  row("caches", "", caches.empty() ? "not known" : fmt::format("{}", fmt::join(caches, ", ")));
  const double bytes = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
  const int nodes = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_NUMANODE);
  row("memory", "", fmt::format("{:.1f} GiB in {} NUMA node(s)", bytes / (1 << 30), nodes));
  hwloc_topology_destroy(machine);
}

void report_libraries(const Manifest& manifest) {
  std::string boost = "not found";
#ifdef BOOST_VERSION  // defined by boost/version.hpp, if that was there: 108100 is version 1.81
  boost = fmt::format("{}.{}", BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1000);
#endif
  row("Boost's headers", needed_by(manifest, {"boost", "fiber"}), boost);
  row("oneTBB", needed_by(manifest, {"tbb"}), library("libtbb.so.12"));
  row("Open MPI", needed_by(manifest, {"mpi"}), library("libmpi.so.40"));
  row("RabbitMQ's client", needed_by(manifest, {"rabbitmq"}), library("librabbitmq.so.4"));
  row("NVIDIA's driver", needed_by(manifest, {"cuda"}),
      fmt::format("{}, devices: {}", library("libcuda.so.1"), cuda_devices()));
  row("OpenCL's loader", needed_by(manifest, {"opencl"}),
      fmt::format("{}, drivers: {}", library("libOpenCL.so.1"), opencl_drivers()));
}

void report_recipes(const Manifest& manifest) {
  std::string state = fmt::format("{} of {} can be built", manifest.built, manifest.recipes);
  for (const auto& [packages, recipes] : manifest.missing) {
    state += fmt::format(", missing: {} ({})", packages, fmt::join(recipes, ", "));
  }
  // Those that need CUDA's devices, if there are none, and OpenCL's likewise; nothing needs "".
  const auto without_device =
      recipes_that_need(manifest, {cuda_devices() == 0 ? "cuda" : "", opencl_drivers() == 0 ? "opencl" : ""});
  if (!without_device.empty()) state += fmt::format("; {} need a device that is not here", without_device.size());
  row("recipes", "", state);
}

bool a_port_can_be_opened() {
  sockaddr_in here = {};  // port 0: the system picks a free one
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);  // no other machine can reach it
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const bool opened = listener != -1 && bind(listener, reinterpret_cast<sockaddr*>(&here), sizeof here) == 0 &&
                      listen(listener, 1) == 0;
  close(listener);
  return opened;
}

}  // namespace

int main(int argc, char** argv) {
  // The programs are in build/bin, the list is in build.
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  std::string file = program.parent_path().parent_path() / "recipes.tsv";
  cookbook::Options options("Report what this machine and this build can do");
  options.add("manifest", file, "list of recipes that configure has written");
  options.parse(argc, argv);
  if (!std::filesystem::exists(file)) {
    cookbook::print_error("there is no " + file + "; cmake --preset default makes it");
    return 2;
  }
  const Manifest manifest = read_manifest(file);
  row("what", "needed by    in chapters", "on this machine");
  report_machine();
  report_libraries(manifest);
  report_recipes(manifest);

  cookbook::Checks checks;
  checks.that("a port can be opened", a_port_can_be_opened());
  return checks.exit_code();
}
