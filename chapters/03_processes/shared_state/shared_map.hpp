/// A map in memory that processes share, and the lock that it needs.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <boost/interprocess/allocators/allocator.hpp>
#include <boost/interprocess/containers/map.hpp>
#include <boost/interprocess/managed_external_buffer.hpp>
#include <boost/interprocess/offset_ptr.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>

#include "../process_synchronisation/robust_mutex.hpp"

/// A map that lives, nodes and all, in its own 64 KiB; to be made as Shared<SharedMap>. There is one copy, and every
/// process works on it.
///
/// A process that is killed while it holds the lock blocks nobody. If it was only reading, the others go on. If it was
/// changing the map, they get std::runtime_error from then on, for nobody knows what it has left.
class SharedMap {
 public:
  SharedMap() {
    // Divides memory_ into pieces, for the map and for each node. It has no lock of its own: ours guards it.
    boost::interprocess::managed_external_buffer heap(boost::interprocess::create_only, memory_, sizeof memory_);
    values_ = heap.construct<Map>("values")(heap.get_segment_manager());
  }
  SharedMap(const SharedMap&) = delete;
  SharedMap& operator=(const SharedMap&) = delete;

  /// The value, copied under the lock. Throws std::out_of_range if there is no such key.
  long get(long key) {
    long value = 0;
    look(key, [&](const long& place) { value = place; });
    return value;
  }
  void set(long key, long value) {
    change(key, [&](long& place) { place = value; });
  }

  /// Adds to a value, which is 0 if there is none.
  void add(long key, long step) {
    change(key, [&](long& place) { place += step; });
  }

  /// Calls work with the value itself, which is 0 if there is none: the lock is held meanwhile, so whatever work does
  /// is one step for all others. Throws boost::interprocess::bad_alloc if there is no room for another key.
  template <typename Work>
  void change(long key, Work work) {
    const Hold hold(*this);
    changing_.exchange(true);  // not store(): no part of the change may be moved before it
    work((*values_)[key]);
  }

  /// Calls work with the value, to be read, while the lock is held.
  template <typename Work>
  void look(long key, Work work) {
    const Hold hold(*this);
    const auto place = values_->find(key);
    if (place == values_->end()) throw std::out_of_range(fmt::format("no key {} in the shared map", key));
    work(std::as_const(place->second));
  }

  std::map<long, long> items() {
    const Hold hold(*this);
    return {values_->begin(), values_->end()};
  }

  /// Holds the lock while it lives.
  class Hold {
   public:
    explicit Hold(SharedMap& map) : map_(map), hold_(map.lock_) {
      if (!hold_.owner_died()) return;
      // Given back without a repair, the lock refuses everybody from now on.
      if (map_.changing_) throw std::runtime_error("a process died while it changed the map");
      hold_.repaired();  // the dead was only reading
    }
    ~Hold() { map_.changing_ = false; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    SharedMap& map_;
    ::Hold hold_;
  };

 private:
  using Heap = boost::interprocess::managed_external_buffer::segment_manager;
  using Map = boost::interprocess::map<long, long, std::less<long>,
                                       boost::interprocess::allocator<std::pair<const long, long>, Heap>>;

  alignas(64) std::byte memory_[64 << 10];
  RobustMutex lock_;
  std::atomic<bool> changing_ = false;           // by the one who holds the lock
  boost::interprocess::offset_ptr<Map> values_;  // in memory_
};
