/// The machine's caches and nodes of memory, as hwloc reports them.
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

/// hwloc's view of this machine. Every part of it is an object: a processor, the caches around it, a node of memory.
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

  /// How many nodes the memory has. Each is near to some of the processors and far from the others (NUMA).
  int nodes() const { return hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_NUMANODE); }

  /// Moves memory into a node, at the same addresses; false if the system refuses.
  bool move(void* memory, std::size_t bytes, int node) const {
    const hwloc_obj_t object = hwloc_get_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(node));
    return hwloc_set_area_membind(topology_, memory, bytes, object->nodeset, HWLOC_MEMBIND_BIND,
                                  HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_MIGRATE | HWLOC_MEMBIND_STRICT) == 0;
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
