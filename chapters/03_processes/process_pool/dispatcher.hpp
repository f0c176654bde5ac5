/// The caller's side of a pool, without types: cuts jobs into chunks, hands these out, takes the results back.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "board.hpp"
#include "shared_memory.hpp"

/// The tasks of one call of one of the pool's methods.
struct Job {
  void (*run)(Place&);
  void (*function)();
  std::size_t count, argument_size, result_size, chunk;
  std::vector<std::byte> arguments, results;
  std::function<void(Job&)> deliver;  ///< called once, when all is done or the job has failed
  std::size_t begun = 0, ended = 0;   ///< tasks
  std::string error = {};
};

class Dispatcher {
 public:
  explicit Dispatcher(int processes)
      : processes_(processes), supervisor_(start_child([this] { return keep(*board_, processes_); })) {
    // If the supervisor dies, its workers become children of this process, which reaps them.
    check(prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl");
    const auto all = static_cast<std::size_t>(processes_);
    while (workers().size() < all && !supervisor_lost_) wait_for_results(0);
    for (int i = 0; i < Board::places; ++i) free_.push_back(i);
    collector_ = std::jthread([this] { collect(); });  // after the fork: a child has none of its parent's threads
  }

  /// Drops what no worker has begun, and waits for the rest.
  ~Dispatcher() {
    {
      std::scoped_lock hold(guard_);
      closed_ = true;
      waiting_.clear();
    }
    join();
  }
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  void submit(Job&& made) {
    const auto job = std::make_shared<Job>(std::move(made));
    std::unique_lock hold(guard_);
    if (closed_) throw std::logic_error("the pool is closed");
    if (job->count > 0) {
      waiting_.push_back(job);
      post();
    } else {
      hold.unlock();
      job->deliver(*job);
    }
  }

  /// From now on no job is taken.
  void close() {
    std::scoped_lock hold(guard_);
    closed_ = true;
  }

  /// After close(): waits until all tasks are done and the processes have ended.
  void join() {
    std::unique_lock hold(guard_);
    if (!closed_) throw std::logic_error("join() of a pool that is not closed");
    all_done_.wait(hold, [&] { return waiting_.empty() && in_flight_ == 0; });
    if (std::exchange(ended_, true)) return;
    something_to_do_.notify_one();
    hold.unlock();
    collector_.join();
    board_->closed = true;
    board_->tell_workers(INT_MAX);
    const bool in_order = !supervisor_lost_ && exit_code_of(supervisor_) == 0;
    for (const pid_t worker : workers()) {
      if (!in_order) waitpid(worker, nullptr, 0);
    }
  }

  /// The processes that are workers now.
  std::vector<pid_t> workers() const {
    std::vector<pid_t> ids(board_->worker, board_->worker + processes_);
    std::erase(ids, 0);  // not started yet
    return ids;
  }

  int processes() const { return processes_; }
  const Board& board() const { return *board_; }

 private:
  /// Puts chunks on the free places; `guard_` is held.
  void post() {
    while (!waiting_.empty() && !free_.empty()) {
      const std::shared_ptr<Job> job = waiting_.front();
      const int i = free_.front();
      free_.pop_front();
      Place& place = board_->place[i];
      place.run = job->run;
      place.function = job->function;
      place.count = std::min(job->chunk, job->count - job->begun);
      place.done = 0;
      place.deaths = 0;
      place.failed = false;
      std::memcpy(place.arguments, job->arguments.data() + job->begun * job->argument_size,
                  place.count * job->argument_size);
      posted_[i] = {job, job->begun};
      job->begun += place.count;
      if (job->begun == job->count) waiting_.pop_front();
      board_->owner[i] = waits_for_a_worker;
      board_->tell_workers(1);
      if (in_flight_++ == 0) something_to_do_.notify_one();
    }
  }

  /// Takes the results from the places whose chunk is finished. Returns the jobs that have ended thereby.
  std::vector<std::shared_ptr<Job>> take() {
    std::vector<std::shared_ptr<Job>> ended;
    for (int i = 0; i < Board::places; ++i) {
      if (board_->owner[i] != waits_for_the_caller) continue;
      const Place& place = board_->place[i];
      const auto [job, first] = std::exchange(posted_[i], {});
      std::memcpy(job->results.data() + first * job->result_size, place.results, place.done * job->result_size);
      if (place.failed && job->error.empty()) job->error = fmt::format("task {}: {}", first + place.done, place.error);
      job->ended += place.count;
      if (job->ended == job->count) ended.push_back(job);
      board_->owner[i] = nobody;
      free_.push_back(i);
      --in_flight_;
    }
    return ended;
  }

  /// The thread that takes the results and delivers them.
  void collect() {
    std::unique_lock hold(guard_);
    for (;;) {
      something_to_do_.wait(hold, [&] { return in_flight_ > 0 || ended_; });
      if (in_flight_ == 0) return;
      const std::uint32_t seen = board_->finished;  // before looking: what comes later is seen by futex_wait
      std::vector<std::shared_ptr<Job>> ended = take();
      post();
      if (supervisor_lost_) give_up(ended);
      const bool idle = waiting_.empty() && in_flight_ == 0;
      hold.unlock();
      for (const std::shared_ptr<Job>& job : ended) job->deliver(*job);
      if (ended.empty()) wait_for_results(seen);
      hold.lock();
      if (idle) all_done_.notify_all();
    }
  }

  /// Sleeps until something is finished; looks now and then whether the supervisor, who would tell of deaths, still
  /// lives.
  void wait_for_results(std::uint32_t seen) {
    board_->caller_sleeps = true;
    futex_wait(board_->finished, seen, std::chrono::milliseconds(50));
    board_->caller_sleeps = false;
    supervisor_lost_ = supervisor_lost_ || check(waitpid(supervisor_, nullptr, WNOHANG), "waitpid") == supervisor_;
  }

  /// The supervisor is dead, and so are the workers: no result will come any more. Adds the jobs that are lost to
  /// `ended`.
  void give_up(std::vector<std::shared_ptr<Job>>& ended) {
    closed_ = true;
    for (auto& [job, first] : posted_) {
      if (job) waiting_.push_back(std::exchange(job, nullptr));
    }
    in_flight_ = 0;
    for (; !waiting_.empty(); waiting_.pop_front()) {
      const std::shared_ptr<Job>& job = waiting_.front();
      if (std::find(ended.begin(), ended.end(), job) != ended.end()) continue;
      job->error = "the processes of the pool have died";
      ended.push_back(job);
    }
  }

  const int processes_;
  const Shared<Board> board_;
  const pid_t supervisor_;

  std::mutex guard_;  // of all that follows
  std::condition_variable something_to_do_, all_done_;
  std::deque<std::shared_ptr<Job>> waiting_;                            // jobs with chunks to be posted
  std::pair<std::shared_ptr<Job>, std::size_t> posted_[Board::places];  // job and first task of each place
  std::deque<int> free_;
  int in_flight_ = 0;  // places that are not free
  bool closed_ = false, ended_ = false, supervisor_lost_ = false;
  std::jthread collector_;
};
