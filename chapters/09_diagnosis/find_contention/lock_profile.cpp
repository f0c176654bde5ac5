// A profile of the time that threads wait for locks. Loaded by LD_PRELOAD, this library comes before the C library, so
// that a program's calls of pthread_mutex_lock (which std::mutex makes, too) come here first. At the end of the program
// it prints on standard error at which lines threads have waited, and where the lock was taken for which they waited.
//
// Use:     LD_PRELOAD=<folder>/libfind_contention_profile.so PROGRAM    (compiled with -g or -g1, and -O1 or more)

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using Address = const void*;

long now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);  // it can only fail for a clock that does not exist
  return time.tv_sec * 1'000'000'000L + time.tv_nsec;
}

/// The C library's function of that name, which this library hides.
template <typename Function>
Function hidden(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int really_lock(pthread_mutex_t* mutex) {
  static const auto function = hidden<decltype(&pthread_mutex_lock)>("pthread_mutex_lock");
  return function(mutex);
}

/// What is known of one line of the program that locks a mutex.
struct Line {
  long calls = 0, nanoseconds = 0;          ///< nanoseconds in which threads waited there
  std::set<Address> locks = {};             ///< the mutexes that were locked there
  std::map<Address, long> waited_for = {};  ///< nanoseconds, by the line that had taken the mutex
};

struct Profile {
  std::map<Address, Line> lines;
  int threads = 0;                   ///< that have called pthread_mutex_lock
  long lived = 0, on_processor = 0;  ///< nanoseconds, since the first call of each

  void add(const Profile& other) {
    for (const auto& [address, line] : other.lines) {
      Line& sum = lines[address];
      sum.calls += line.calls;
      sum.nanoseconds += line.nanoseconds;
      sum.locks.insert(line.locks.begin(), line.locks.end());
      for (const auto& [taker, nanoseconds] : line.waited_for) sum.waited_for[taker] += nanoseconds;
    }
    threads += other.threads;
    lived += other.lived;
    on_processor += other.on_processor;
  }
};

std::string text_of(const Profile& profile);

/// The threads that have ended. Its destructor runs at the end of the program.
struct Total {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  Profile profile;
  ~Total() {
    const std::string text = text_of(profile);
    std::fflush(stdout);  // what the program has printed comes before the report
    std::fputs(text.c_str(), stderr);
  }
};
Total& total() {
  static Total instance;
  return instance;
}

/// Who has locked each mutex last. A mutex whose slot another one has taken since is unknown.
struct Slot {
  std::atomic<Address> mutex = nullptr, taker = nullptr;
};
std::array<Slot, 4096> last_takers;
Slot& slot_of(Address mutex) { return last_takers[reinterpret_cast<std::uintptr_t>(mutex) / 8 % last_takers.size()]; }

/// Whether this thread's profile cannot be used: it is being changed or written, or is gone.
thread_local bool busy = false;

/// A thread's part, without any lock. It is added to the total when the thread ends.
struct ThreadProfile : Profile {
  const long begin = now(CLOCK_MONOTONIC), used_before = now(CLOCK_THREAD_CPUTIME_ID);
  ThreadProfile() { total(); }  // made before it, and so destroyed after it
  ~ThreadProfile() {
    busy = true;
    threads = 1;
    lived = now(CLOCK_MONOTONIC) - begin;
    on_processor = now(CLOCK_THREAD_CPUTIME_ID) - used_before;
    really_lock(&total().mutex);
    total().profile.add(*this);
    pthread_mutex_unlock(&total().mutex);
  }
};

/// This thread's profile, which begins with the thread's first call; nullptr if it cannot be used.
ThreadProfile* profile_of_this_thread() {
  if (busy) return nullptr;
  busy = true;  // should the next line lock a mutex, that call is not noted
  thread_local ThreadProfile profile;
  busy = false;
  return &profile;
}

void note(ThreadProfile& profile, Address mutex, Address caller, Address taker, long nanoseconds) {
  busy = true;
  Line& line = profile.lines[caller];
  ++line.calls;
  line.locks.insert(mutex);
  if (nanoseconds > 0) {
    line.nanoseconds += nanoseconds;
    line.waited_for[taker] += nanoseconds;
  }
  busy = false;
}

}  // namespace

/// The program calls this one. It first tries to lock; only where that fails is there something to measure.
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  const Address caller = __builtin_return_address(0);
  ThreadProfile* const profile = profile_of_this_thread();  // so that it begins before the thread waits
  Slot& slot = slot_of(mutex);
  Address taker = nullptr;
  long waited = 0;
  int result = pthread_mutex_trylock(mutex);
  if (result == EBUSY) {
    if (slot.mutex == mutex) taker = slot.taker;
    const long start = now(CLOCK_MONOTONIC);
    result = really_lock(mutex);
    waited = now(CLOCK_MONOTONIC) - start;
  }
  slot.taker = caller;
  slot.mutex = mutex;
  if (profile != nullptr) note(*profile, mutex, caller, taker, waited);
  return result;
}

// The report ----------------------------------------------------------------------------------------------------------

namespace {

/// The function, file and line of an address, by the program addr2line of the package binutils.
std::string name_of(Address address) {
  Dl_info place{};
  if (address == nullptr || dladdr(address, &place) == 0) return "unknown";
  const long offset = static_cast<const char*>(address) - static_cast<const char*>(place.dli_fbase) - 1;  // in the call
  const bool is_program = std::string_view(place.dli_fname).find(".so") == std::string_view::npos;
  const std::string file = is_program ? "/proc/" + std::to_string(getpid()) + "/exe" : place.dli_fname;
  std::array<char, 4096> text{};
  std::snprintf(text.data(), text.size(), "addr2line -f -C -i -e '%s' 0x%lx 2>&1", file.c_str(), offset);
  FILE* output = popen(text.data(), "r");
  if (output == nullptr) return "unknown: addr2line cannot be started";
  // Two lines per function: its name, its place. Inlined functions come first, such as those of std::mutex.
  std::string found = place.dli_fname;
  while (std::fgets(text.data(), text.size(), output) != nullptr) {
    std::string name = text.data();
    constexpr std::string_view unnamed = "(anonymous namespace)::";
    for (auto i = name.find(unnamed); i != std::string::npos; i = name.find(unnamed)) name.erase(i, unnamed.size());
    name = name.substr(0, name.find_first_of("(\n"));
    if (std::fgets(text.data(), text.size(), output) == nullptr) break;
    std::string at = text.data();
    at = at.substr(0, at.find_first_of(" \n"));
    if (at.find("/include/") != std::string::npos || at[0] == '?') continue;
    found = name + " (" + at.substr(at.rfind('/') + 1) + ")";
    break;
  }
  pclose(output);
  return found;
}

std::string text_of(const Profile& profile) {
  unsetenv("LD_PRELOAD");  // addr2line is not to be measured
  std::vector<std::tuple<long, long, Address>> order;
  long waited = 0;
  for (const auto& [address, line] : profile.lines) {
    order.emplace_back(line.nanoseconds, line.calls, address);
    waited += line.nanoseconds;
  }
  std::sort(order.rbegin(), order.rend());
  if (order.size() > 5) order.resize(5);
  std::array<char, 512> buffer{};
  std::snprintf(buffer.data(), buffer.size(),
                "%d threads lived %.0f ms in all: on a processor %.0f ms, waiting for locks %.0f ms, else %.0f ms\n",
                profile.threads, 1e-6 * profile.lived, 1e-6 * profile.on_processor, 1e-6 * waited,
                1e-6 * (profile.lived - profile.on_processor - waited));
  std::string text = buffer.data();
  text += "    waited  of time   calls  locks  at this line\n";
  for (const auto& [nanoseconds, calls, address] : order) {
    const Line& line = profile.lines.at(address);
    std::snprintf(buffer.data(), buffer.size(), "%7.0f ms %6.0f %% %7ld %6zu  %s", 1e-6 * nanoseconds,
                  100.0 * nanoseconds / profile.lived, calls, line.locks.size(), name_of(address).c_str());
    text += buffer.data();
    Address taker = nullptr;
    long longest = 0;
    for (const auto& [one, time] : line.waited_for) {
      if (time > longest) std::tie(taker, longest) = std::pair(one, time);
    }
    if (taker != nullptr && taker != address) text += ", taken at " + name_of(taker);
    text += '\n';
  }
  return text;
}

}  // namespace
