// Linked to every program that uses oneTBB in a build with ThreadSanitizer. The library itself is not compiled for it,
// so how its threads get work, and who waits for the end of that, cannot be seen; each access of one of them to what
// another thread has written is a race to it. So what oneTBB's own threads read and write is not looked at. The
// suppressions alone would hide these reports, too. But for each one the sanitizer searches through all that it has
// hidden before, which makes a table of a million numbers last for minutes.

#include <tbb/task_scheduler_observer.h>

extern "C" {

void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}

namespace {

class Unseen : public tbb::task_scheduler_observer {
 public:
  Unseen() { observe(true); }

  void on_scheduler_entry(bool is_worker) override {
    if (!is_worker) return;
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  void on_scheduler_exit(bool is_worker) override {
    if (!is_worker) return;
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
};

[[maybe_unused]] const Unseen& unseen = *new Unseen;  // never deleted: oneTBB's threads end later than main()

}  // namespace
