// Linked to every program that uses oneTBB in a build with ThreadSanitizer, which does not see how a thread in the
// library waits for tasks: that whoever waits for them sees what they have done. That a task has ended is counted by an
// atomic variable in oneTBB's headers, which the sanitizer sees, so it is enough to say that the wait reads it.
//
// The linker lets the calls that the headers make come here first (--wrap), and calls the library's own by __real_.

#include <oneapi/tbb/detail/_task.h>

#include <atomic>
#include <cstddef>

extern "C" {

void __tsan_acquire(void* address);

using Context = tbb::detail::d1::task_group_context;
using Task = tbb::detail::d1::task;
using Waiting = tbb::detail::d1::wait_context;

void __real__ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE(Waiting&, Context&);
void __real__ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_(
    Task&, Context&, Waiting&, Context&);
}

namespace {

/// The counter is private, and the last of two members, so all of the object is named.
void has_waited(Waiting& waiting) {
  static_assert(sizeof(Waiting) == 2 * sizeof(std::atomic<std::size_t>));
  auto* const words = reinterpret_cast<char*>(&waiting);
  for (std::size_t i = 0; i < sizeof(Waiting); i += sizeof(std::size_t)) __tsan_acquire(words + i);
}

}  // namespace

extern "C" {

void __wrap__ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE(Waiting& waiting,
                                                                                     Context& context) {
  __real__ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE(waiting, context);
  has_waited(waiting);
}

void __wrap__ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_(
    Task& task, Context& of_task, Waiting& waiting, Context& of_wait) {
  __real__ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_(
      task, of_task, waiting, of_wait);
  has_waited(waiting);
}
}
