/// For programs with OpenMP that the judge of exercises runs with ThreadSanitizer, which does not see how the threads
/// of GCC's library wait for each other: tells it which calls order what the threads do. Where that is not known
/// (tasks, another library) the program is ended, so that nothing is said about it.
#pragma once

#if defined(__SANITIZE_THREAD__) || defined(__clang__)

#include <dlfcn.h>
#include <omp.h>

#include "exercise_probe.hpp"

namespace judge {

inline void not_judged() { _exit(0); }

}  // namespace judge

#if defined(__clang__)

#if __has_feature(thread_sanitizer)
namespace judge {
inline const bool never_begun = (not_judged(), true);
}  // namespace judge
#endif

#else

extern "C" void __tsan_acquire(void* place);
extern "C" void __tsan_release(void* place);

namespace judge {

/// Whoever acquires a place sees what others had done before they released it.
inline char begun, ended, critical, atomic_part, ordered_part, barriers[2];

/// How often this thread has come to a barrier of the region.
inline thread_local unsigned barriers_seen = 0;

struct Region {
  void (*work)(void*);
  void* data;
};

inline void work_in(void* region) {
  __tsan_acquire(&begun);
  barriers_seen = 0;
  static_cast<Region*>(region)->work(static_cast<Region*>(region)->data);
  __tsan_release(&ended);
}

/// The library's own function of this name. It is looked for in each call: to keep it would order the threads.
template <typename Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

template <typename Real, typename... Further>
auto parallel(Real* real, void (*work)(void*), void* data, Further... further) {
  Region region{work, data};
  __tsan_release(&begun);
  struct Ends {
    ~Ends() { __tsan_acquire(&ended); }
  } const ends;
  return real(work_in, &region, further...);
}

template <typename Real>
void barrier(Real* real) {
  char* const place = &barriers[barriers_seen++ % 2];
  __tsan_release(place);
  real();
  __tsan_acquire(place);
}

}  // namespace judge

#define JUDGE_REAL(name) auto* const real = judge::real(&name, #name)

extern "C" {

void GOMP_parallel(void (*work)(void*), void* data, unsigned threads, unsigned flags) {
  JUDGE_REAL(GOMP_parallel);
  judge::parallel(real, work, data, threads, flags);
}

unsigned GOMP_parallel_reductions(void (*work)(void*), void* data, unsigned threads, unsigned flags) {
  JUDGE_REAL(GOMP_parallel_reductions);
  return judge::parallel(real, work, data, threads, flags);
}

void GOMP_parallel_sections(void (*work)(void*), void* data, unsigned threads, unsigned count, unsigned flags) {
  JUDGE_REAL(GOMP_parallel_sections);
  judge::parallel(real, work, data, threads, count, flags);
}

#define JUDGE_LOOP(name)                                                                                    \
  void name(void (*work)(void*), void* data, unsigned threads, long start, long end, long step, long chunk, \
            unsigned flags) {                                                                               \
    JUDGE_REAL(name);                                                                                       \
    judge::parallel(real, work, data, threads, start, end, step, chunk, flags);                             \
  }
JUDGE_LOOP(GOMP_parallel_loop_static)
JUDGE_LOOP(GOMP_parallel_loop_dynamic)
JUDGE_LOOP(GOMP_parallel_loop_guided)
JUDGE_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
JUDGE_LOOP(GOMP_parallel_loop_nonmonotonic_guided)

#define JUDGE_RUNTIME_LOOP(name)                                                                                  \
  void name(void (*work)(void*), void* data, unsigned threads, long start, long end, long step, unsigned flags) { \
    JUDGE_REAL(name);                                                                                             \
    judge::parallel(real, work, data, threads, start, end, step, flags);                                          \
  }
JUDGE_RUNTIME_LOOP(GOMP_parallel_loop_runtime)
JUDGE_RUNTIME_LOOP(GOMP_parallel_loop_nonmonotonic_runtime)
JUDGE_RUNTIME_LOOP(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

#define JUDGE_BARRIER(name) \
  void name() {             \
    JUDGE_REAL(name);       \
    judge::barrier(real);   \
  }
JUDGE_BARRIER(GOMP_barrier)
JUDGE_BARRIER(GOMP_loop_end)
JUDGE_BARRIER(GOMP_sections_end)

#define JUDGE_SECTION(start, end, place) \
  void start() {                         \
    JUDGE_REAL(start);                   \
    real();                              \
    __tsan_acquire(&place);              \
  }                                      \
  void end() {                           \
    JUDGE_REAL(end);                     \
    __tsan_release(&place);              \
    real();                              \
  }
JUDGE_SECTION(GOMP_critical_start, GOMP_critical_end, judge::critical)
JUDGE_SECTION(GOMP_atomic_start, GOMP_atomic_end, judge::atomic_part)
JUDGE_SECTION(GOMP_ordered_start, GOMP_ordered_end, judge::ordered_part)

#define JUDGE_LOCK(Lock, lock, unlock, try_lock) \
  void lock(Lock* one) noexcept {                \
    JUDGE_REAL(lock);                            \
    real(one);                                   \
    __tsan_acquire(one);                         \
  }                                              \
  void unlock(Lock* one) noexcept {              \
    JUDGE_REAL(unlock);                          \
    __tsan_release(one);                         \
    real(one);                                   \
  }                                              \
  int try_lock(Lock* one) noexcept {             \
    JUDGE_REAL(try_lock);                        \
    const int locked = real(one);                \
    if (locked != 0) __tsan_acquire(one);        \
    return locked;                               \
  }
JUDGE_LOCK(omp_lock_t, omp_set_lock, omp_unset_lock, omp_test_lock)
JUDGE_LOCK(omp_nest_lock_t, omp_set_nest_lock, omp_unset_nest_lock, omp_test_nest_lock)

void GOMP_critical_name_start(void** section) {
  JUDGE_REAL(GOMP_critical_name_start);
  real(section);
  __tsan_acquire(section);
}

void GOMP_critical_name_end(void** section) {
  JUDGE_REAL(GOMP_critical_name_end);
  __tsan_release(section);
  real(section);
}

void GOMP_task(void (*)(void*), void*, void (*)(void*, void*), long, long, bool, unsigned, void**, int, void*) {
  judge::not_judged();
}

void GOMP_taskloop(void (*)(void*), void*, void (*)(void*, void*), long, long, unsigned, unsigned long, int, long, long,
                   long) {
  judge::not_judged();
}

void GOMP_taskloop_ull(void (*)(void*), void*, void (*)(void*, void*), long, long, unsigned, unsigned long, int,
                       unsigned long long, unsigned long long, unsigned long long) {
  judge::not_judged();
}

}  // extern "C"

#endif

#endif
