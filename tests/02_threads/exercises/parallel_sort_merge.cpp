// Tests a parallel merge that a learner has written.

#include "merge_sort.hpp"

#include <atomic>
#include <compare>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

using judge::expect;

namespace {

/// A number that counts how often each of up to 64 threads compares it. A thread that has made a part of its share
/// waits until three others have done so as well.
struct Counted {
  int number = 0;
  inline static std::atomic<int> threads = 0;
  inline static std::atomic<long> comparisons[64];

  // all comparisons, as std::ranges asks for
  friend std::strong_ordering operator<=>(const Counted& a, const Counted& b) {
    thread_local const int mine = threads++ % 64;
    if (++comparisons[mine] == 10'000) judge::meet(4, "The parts are not merged by four threads at the same time.");
    return a.number <=> b.number;
  }
  friend bool operator==(const Counted& a, const Counted& b) { return (a <=> b) == 0; }
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

void threads_share_the_work() {
  constexpr std::size_t size = 100'000;
  std::vector<Counted> a(size), b(size), merged(2 * size);
  for (std::size_t i = 0; i < size; ++i) {
    a[i].number = static_cast<int>(3 * i);
    b[i].number = static_cast<int>(3 * i + 1);
  }
  parallel_merge<Counted>(a, b, merged, 4);
  long most = 0, all = 0;
  for (const std::atomic<long>& comparisons : Counted::comparisons) {
    most = std::max(most, comparisons.load());
    all += comparisons;
  }
  expect(most < all / 2, "One of four threads makes more than half of the comparisons.");
}

}  // namespace

int main() {
  cuts();
  merges();
  threads_share_the_work();
  std::puts("all rows are merged");
}
