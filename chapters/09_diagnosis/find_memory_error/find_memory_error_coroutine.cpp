// Pitfall: a coroutine whose parameter refers to something else
//
// A coroutine keeps copies of its parameters, so that they are there when it is resumed. The copy of a std::string_view
// or of a reference is again only a view or a reference. The text that it refers to is destroyed at the end of the
// statement that calls the coroutine. A thread resumes the coroutine later, and reads memory that was freed.
//
// Compile: g++ -std=c++20 -O2 chapters/09_diagnosis/find_memory_error/find_memory_error_coroutine.cpp -o find_memory_error_coroutine && g++ -std=c++20 -O1 -g -fno-omit-frame-pointer -fsanitize=address chapters/09_diagnosis/find_memory_error/find_memory_error_coroutine.cpp -o find_memory_error_coroutine_asan
// Run:     find_memory_error_coroutine, then find_memory_error_coroutine_asan
// Symptom: exit 0, prints "parcel to "
// Symptom under address: prints "heap-use-after-free"
// Symptom under thread: prints "heap-use-after-free"

#include <coroutine>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <thread>

namespace {

/// A coroutine that begins when it is resumed for the first time.
struct Task {
  struct promise_type {
    Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
  explicit Task(std::coroutine_handle<promise_type> coroutine) : handle(coroutine) {}
  ~Task() { handle.destroy(); }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  std::coroutine_handle<promise_type> handle;
};

std::string address_of(const std::string& customer) {
  return customer + ", in the house with the green door, behind the old mill, London";
}

Task deliver(std::string_view address) {  // wrong: the text belongs to the caller
  std::printf("parcel to %s\n", std::string(address.substr(address.rfind(' ') + 1)).c_str());
  co_return;
}

}  // namespace

int main() {
  const Task task = deliver(address_of("Holmes"));  // the text is destroyed at the end of this line
  std::thread courier([&] { task.handle.resume(); });
  courier.join();
}
