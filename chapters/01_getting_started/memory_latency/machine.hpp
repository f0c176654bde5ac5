/// The machine's caches and nodes of memory, as hwloc reports them.
#pragma once

#include <fmt/format.h>
#include <hwloc.h>

#include <stdexcept>
#include <string>

/// A number of bytes such as "48 KiB" or "2 MiB".
inline std::string bytes_text(std::size_t bytes) {
  return bytes % (1 << 20) == 0 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

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

  /// The caches for data from the first processor outwards, such as "L1 32 KiB, L2 1 MiB"; empty if they are not known.
  std::string caches() const {
    std::string text;
    for (hwloc_obj_t object = hwloc_get_obj_by_type(topology_, HWLOC_OBJ_PU, 0); object; object = object->parent) {
      if (!hwloc_obj_type_is_dcache(object->type)) continue;
      const hwloc_obj_attr_u::hwloc_cache_attr_s& cache = object->attr->cache;
      text += fmt::format("{}L{} {}", text.empty() ? "" : ", ", cache.depth, bytes_text(cache.size));
    }
    return text;
  }

  /// How many nodes the memory has. Each is near to some of the processors and far from the others (NUMA).
  int nodes() const { return hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_NUMANODE); }

  /// Memory of one node; null if this program may not have any. free() gives it back.
  void* allocate(int node, std::size_t bytes) const {
    const hwloc_obj_t object = hwloc_get_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(node));
    return hwloc_alloc_membind(topology_, bytes, object->nodeset, HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_BYNODESET);
  }
  void free(void* memory, std::size_t bytes) const { hwloc_free(topology_, memory, bytes); }

 private:
  hwloc_topology_t topology_;
};
