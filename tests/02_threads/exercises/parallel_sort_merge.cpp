// Tests a parallel merge that a learner has written.

#include "merge_sort.hpp"

#include <atomic>
#include <compare>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

using judge::expect;
using judge::within_two_seconds;

namespace {

/// How the threads of one merge share the work.
struct Work {
  int threads = 0;     // so many have to take part
  long all = 0;        // so many numbers are written
  int generation = 0;  // of the merge
  std::atomic<int> taking_part = 0, under_way = 0;
  std::atomic<long> written[64] = {};

  /// A thread that has written a part of its share waits until all others have done so as well.
  void note() {
    thread_local int mine = 0, mine_of = 0;
    if (mine_of != generation) {
      mine_of = generation;
      mine = taking_part++ % 64;
    }
    if (++written[mine] != all / threads / 4) return;
    ++under_way;
    expect(within_two_seconds([&] { return under_way >= threads; }),
           "The parts are not merged by " + std::to_string(threads) + " threads at the same time.");
  }
};
Work work;

/// A number that notes which thread writes it.
struct Counted {
  int number = 0;

  Counted() = default;
  Counted(const Counted&) = default;
  Counted& operator=(const Counted& other) {
    number = other.number;
    work.note();
    return *this;
  }

  // all comparisons, as std::ranges asks for
  friend std::strong_ordering operator<=>(const Counted& a, const Counted& b) { return a.number <=> b.number; }
  friend bool operator==(const Counted& a, const Counted& b) { return a.number == b.number; }
};

std::vector<int> random_row(std::size_t size, int greatest) {
  static std::mt19937 random(7);
  std::uniform_int_distribution<int> choose(0, greatest);
  std::vector<int> row(size);
  for (int& number : row) number = choose(random);
  std::sort(row.begin(), row.end());
  return row;
}

void cuts() {
  for (const int greatest : {3, 1'000'000}) {
    for (const std::size_t size : {1, 2, 17, 400}) {
      const std::vector<int> a = random_row(400, greatest), b = random_row(size, greatest);
      for (const int threads : {2, 3, 8}) {
        const Cuts cut = cut_rows<int>(a, b, threads);
        expect(cut.a <= a.size() && cut.b <= b.size(), "A cut is behind the end of its row.");
        const bool right = (cut.b == 0 || cut.a == a.size() || b[cut.b - 1] <= a[cut.a]) &&
                           (cut.a == 0 || cut.b == b.size() || a[cut.a - 1] <= b[cut.b]);
        expect(right, "A number before the cuts is greater than one after them.");
        const std::size_t fair = a.size() * (threads / 2) / threads;
        expect(cut.a + 5 > fair && cut.a < fair + 5, "The longer row is not cut in proportion to the threads.");
      }
    }
  }
}

void merges() {
  for (const int greatest : {0, 5, 1'000'000}) {
    for (const std::size_t size_a : {0, 1, 5, 1000}) {
      for (const std::size_t size_b : {0, 1, 7, 1000}) {
        const std::vector<int> a = random_row(size_a, greatest), b = random_row(size_b, greatest);
        std::vector<int> expected(size_a + size_b);
        std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin());
        for (const int threads : {1, 2, 3, 5}) {
          std::vector<int> merged(expected.size(), -1);
          parallel_merge<int>(a, b, merged, threads);
          expect(merged == expected, "The merged row is not the one that std::merge makes.");
        }
      }
    }
  }
}

/// The numbers of each row go up by `step`, from `first_a` and `first_b` on.
void threads_share_the_work(std::size_t size_a, int first_a, std::size_t size_b, int first_b, int step, int threads) {
  std::vector<Counted> a(size_a), b(size_b), merged(size_a + size_b);
  for (std::size_t i = 0; i < size_a; ++i) a[i].number = first_a + step * static_cast<int>(i);
  for (std::size_t i = 0; i < size_b; ++i) b[i].number = first_b + step * static_cast<int>(i);
  work.threads = threads;
  work.all = static_cast<long>(size_a + size_b);
  ++work.generation;
  work.taking_part = work.under_way = 0;
  for (std::atomic<long>& written : work.written) written = 0;
  parallel_merge<Counted>(a, b, merged, threads);
  long most = 0;
  for (const std::atomic<long>& written : work.written) most = std::max(most, written.load());
  expect(most * 2 * threads < work.all * 3,
         "One of " + std::to_string(threads) + " threads merges half as much again as its share.");
}

}  // namespace

int main() {
  cuts();
  merges();
  for (const int threads : {4, 3, 6}) threads_share_the_work(60'000, 0, 60'000, 1, 3, threads);
  // one row behind the other: the longer one has to be cut, whichever it is
  threads_share_the_work(1'000, 1'000'000, 100'000, 0, 1, 4);
  threads_share_the_work(100'000, 0, 1'000, 1'000'000, 1, 4);
  std::puts("all rows are merged");
}
