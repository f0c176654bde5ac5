// Linked into each program with Boost.Fiber that is built with AddressSanitizer: tells the sanitizer when a thread goes
// on on another stack. Else it takes the stack of a fiber for the thread's own. Then an exception in a fiber leaves the
// frames that it has passed forbidden, and the next function that has its variables there is reported though it is
// right (https://github.com/google/sanitizers/issues/189).
//
// All changes go through three functions of Boost.Context, which has no such calls in the form that distributions
// build. They are replaced here by functions that make the calls, and then do what the library's do.

#include <dlfcn.h>
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <map>
#include <mutex>
#include <utility>

namespace {

using boost::context::detail::fcontext_t;
using boost::context::detail::transfer_t;

struct Stack {
  const char* bottom = nullptr;  ///< its lowest address
  std::size_t size = 0;
  void (*entry)(transfer_t) = nullptr;  ///< what a fiber begins with
  void* fake = nullptr;                 ///< what the sanitizer keeps for it while it does not run
};

/// The stacks of fibers by their highest address. One that is used again replaces what was there.
std::mutex mutex;
std::map<const char*, Stack> stacks;

Stack stack_of_this_thread() {
  pthread_attr_t attributes;
  void* bottom = nullptr;
  Stack stack;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &bottom, &stack.size);
    pthread_attr_destroy(&attributes);
  }
  stack.bottom = static_cast<const char*>(bottom);
  return stack;
}

thread_local Stack of_thread = stack_of_this_thread();
thread_local Stack* current = &of_thread;
thread_local bool on_the_way = false;  ///< a change has been announced, and not been completed

Stack& stack_at(const void* address) {
  const std::lock_guard lock(mutex);
  const auto place = static_cast<const char*>(address);
  const auto found = stacks.upper_bound(place);
  return found != stacks.end() && place >= found->second.bottom ? found->second : of_thread;
}

template <typename Function>
Function* library(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// What runs on two stacks, or at the beginning of one, must have no variables that the sanitizer watches.
#define NOT_WATCHED __attribute__((no_sanitize("address")))

NOT_WATCHED void leave_for(fcontext_t to) {
  Stack& next = stack_at(to);
  on_the_way = true;
  __sanitizer_start_switch_fiber(&current->fake, next.bottom, next.size);
  current = &next;
}

NOT_WATCHED void arrive() {
  if (!std::exchange(on_the_way, false)) return;
  __sanitizer_finish_switch_fiber(std::exchange(current->fake, nullptr), nullptr, nullptr);
}

NOT_WATCHED void begin(transfer_t from) {
  arrive();
  current->entry(from);
}

/// What is to run on the other stack before that goes on.
struct OnTop {
  void* data;
  transfer_t (*function)(transfer_t);
};

NOT_WATCHED transfer_t begin_on_top(transfer_t from) {
  arrive();
  const OnTop what = *static_cast<const OnTop*>(from.data);  // a copy: it may free the stack that it comes from
  return what.function({from.fctx, what.data});
}

}  // namespace

extern "C" {

fcontext_t make_fcontext(void* top, std::size_t size, void (*entry)(transfer_t)) {
  static const auto real = library<fcontext_t(void*, std::size_t, void (*)(transfer_t))>("make_fcontext");
  const std::lock_guard lock(mutex);
  stacks[static_cast<const char*>(top)] = {static_cast<const char*>(top) - size, size, entry};
  return real(top, size, begin);
}

NOT_WATCHED transfer_t jump_fcontext(fcontext_t to, void* data) {
  static const auto real = library<transfer_t(fcontext_t, void*)>("jump_fcontext");
  leave_for(to);
  const transfer_t back = real(to, data);
  arrive();
  return back;
}

NOT_WATCHED transfer_t ontop_fcontext(fcontext_t to, void* data, transfer_t (*function)(transfer_t)) {
  static const auto real = library<transfer_t(fcontext_t, void*, transfer_t (*)(transfer_t))>("ontop_fcontext");
  const OnTop what = {data, function};
  leave_for(to);
  const transfer_t back = real(to, const_cast<OnTop*>(&what), begin_on_top);
  arrive();
  return back;
}
}
