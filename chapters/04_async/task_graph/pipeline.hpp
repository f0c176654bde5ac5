/// A pipeline of three stages: alone, as a flow graph, by oneTBB's parallel_pipeline, and by hand.
#pragma once

#include <tbb/flow_graph.h>
#include <tbb/parallel_pipeline.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <random>
#include <semaphore>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "subsequence.hpp"

/// A text on its way through the pipeline.
struct Text {
  int number = 0;
  std::string letters;
  int common = 0;
};

/// The three stages: texts are read one by one, compared with a sample, and written in the order of reading. Notes how
/// many were read and not yet written.
class Job {
 public:
  static constexpr std::size_t length = 200;

  explicit Job(int texts) : texts_(texts), sample_(random_letters(length, random_)) {}

  /// One at a time, since a text begins where the last one ended (here: in the random numbers). False: no more.
  bool read(Text& text) {
    if (read_ == texts_) return false;
    max_in_flight = std::max(max_in_flight, ++in_flight_);
    text.number = read_++;
    text.letters = random_letters(length, random_);
    return true;
  }

  /// Any number at a time: each touches only its own text.
  void compare(Text& text) const { text.common = common_letters(sample_, text.letters); }

  /// One at a time, and in the order of reading.
  void write(const Text& text) {
    if (text.number != static_cast<int>(written.size())) ++out_of_order;
    written.push_back(text.common);
    --in_flight_;
  }

  std::vector<int> written;
  int out_of_order = 0;
  int max_in_flight = 0;

 private:
  const int texts_;
  std::mt19937 random_{1};
  std::string sample_;
  int read_ = 0;
  std::atomic<int> in_flight_ = 0;
};

/// The sequential form.
inline void run_alone(Job& job) {
  Text text;
  while (job.read(text)) {
    job.compare(text);
    job.write(text);
  }
}

/// The graph is a ring, and the tokens that go round in it are the places for texts: who has none cannot read.
inline void run_by_flow_graph(Job& job, int tokens) {
  tbb::flow::graph graph;
  tbb::flow::multifunction_node<Text*, std::tuple<Text*>> read(
      graph, tbb::flow::serial, [&](Text* text, auto& outputs) {
        if (job.read(*text)) std::get<0>(outputs).try_put(text);  // else the token stays here, and the ring runs dry
      });
  tbb::flow::function_node<Text*, Text*> compare(graph, tbb::flow::unlimited, [&](Text* text) {
    job.compare(*text);
    return text;
  });
  tbb::flow::sequencer_node<Text*> in_order(graph, [](Text* text) { return static_cast<std::size_t>(text->number); });
  tbb::flow::function_node<Text*, Text*> write(graph, tbb::flow::serial, [&](Text* text) {
    job.write(*text);
    return text;
  });
  tbb::flow::make_edge(tbb::flow::output_port<0>(read), compare);
  tbb::flow::make_edge(compare, in_order);
  tbb::flow::make_edge(in_order, write);
  tbb::flow::make_edge(write, read);

  std::vector<Text> texts(static_cast<std::size_t>(tokens));
  for (Text& text : texts) read.try_put(&text);
  graph.wait_for_all();
}

/// oneTBB has this shape ready-made, with the number of tokens as an argument.
inline void run_by_parallel_pipeline(Job& job, int tokens) {
  const auto read = [&](tbb::flow_control& control) {
    Text text;
    if (!job.read(text)) control.stop();
    return text;
  };
  const auto compare = [&](Text text) {
    job.compare(text);
    return text;
  };
  tbb::parallel_pipeline(
      static_cast<std::size_t>(tokens),
      tbb::make_filter<void, Text>(tbb::filter_mode::serial_in_order, read) &
          tbb::make_filter<Text, Text>(tbb::filter_mode::parallel, compare) &
          tbb::make_filter<Text, void>(tbb::filter_mode::serial_in_order, [&](const Text& text) { job.write(text); }));
}

/// By hand: each thread carries a text through all stages. It needs a token to begin, and the place of a text that was
/// read `tokens` texts earlier is free by then, since that one's token has come back.
inline void run_by_hand(Job& job, int tokens, int threads) {
  std::counting_semaphore<> free_tokens(tokens);
  std::mutex reading, writing;
  std::vector<std::optional<Text>> compared(static_cast<std::size_t>(tokens));  // those that wait for an earlier one
  std::size_t next = 0;                                                         // number of the text to be written

  const auto carry_texts = [&] {
    for (;;) {
      free_tokens.acquire();
      Text text;
      {
        std::scoped_lock hold(reading);
        if (!job.read(text)) break;
      }
      job.compare(text);

      std::scoped_lock hold(writing);
      compared[static_cast<std::size_t>(text.number % tokens)] = std::move(text);
      for (; auto& place = compared[next % compared.size()]; ++next) {
        job.write(*place);
        place.reset();
        free_tokens.release();
      }
    }
    free_tokens.release();  // another thread may wait for one; it, too, must find that there is no more to read
  };
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(carry_texts);
}
