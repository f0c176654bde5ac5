/// The machine's caches, as hwloc reports them.
#pragma once

#include <fmt/format.h>
#include <hwloc.h>

#include <stdexcept>
#include <string>
#include <vector>

/// A number of bytes such as "48 KiB" or "2 MiB".
inline std::string bytes_text(std::size_t bytes) {
  return bytes % (1 << 20) == 0 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

struct Cache {
  unsigned level;
  std::size_t bytes;
};

/// hwloc's view of this machine. Every part of it is an object: a processor, a cache around it.
class Machine {
 public:
  /// Throws std::runtime_error if hwloc cannot look at the machine.
  Machine() {
    if (hwloc_topology_init(&topology_) != 0) throw std::runtime_error("hwloc_topology_init failed");
    if (hwloc_topology_load(topology_) != 0) throw std::runtime_error("hwloc_topology_load failed");
  }
  ~Machine() { hwloc_topology_destroy(topology_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// The caches for data, from the first processor outwards; none if they are not known.
  std::vector<Cache> caches() const {
    std::vector<Cache> caches;
    for (hwloc_obj_t object = hwloc_get_obj_by_type(topology_, HWLOC_OBJ_PU, 0); object; object = object->parent) {
      if (!hwloc_obj_type_is_dcache(object->type)) continue;
      caches.push_back({object->attr->cache.depth, object->attr->cache.size});
    }
    return caches;
  }

 private:
  hwloc_topology_t topology_;
};

/// The first cache that has room for so many bytes, such as "L2 of 1 MiB".
inline std::string fits_into(std::size_t bytes, const std::vector<Cache>& caches) {
  for (const Cache& cache : caches) {
    if (bytes <= cache.bytes) return fmt::format("L{} of {}", cache.level, bytes_text(cache.bytes));
  }
  return caches.empty() ? "unknown" : "none";
}
