// Serverless function: the measurement
//
// How long does a call take if the function's program runs already (warm), and how long if it has to be started first
// (cold; the end of the program before it is in this time)? In calls without a pause each takes two round trips over
// the loop-back network: the event and the result, the acknowledgement and the next question. So two bare round trips,
// of 150 bytes each way, are the limit. Both ends share one processor.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/07_cloud/serverless_function/serverless_function_bench.cpp common/cookbook/*.cpp -lboost_json -lfmt -pthread -o serverless_function_bench
// Run:     serverless_function_bench [--calls N] [--rounds N], with serverless_function_bootstrap in the same folder

#include <filesystem>
#include <string>
#include <thread>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "emulator.hpp"

namespace {

using boost::asio::ip::tcp;

/// A thread that sends back what it gets, over TCP.
class Echo {
 public:
  Echo() : thread_([this] { serve(); }) {
    socket_.connect(acceptor_.local_endpoint());
    socket_.set_option(tcp::no_delay(true));
  }
  ~Echo() { socket_.close(); }

  void round_trips(int count) {
    for (int i = 0; i < count; ++i) {
      boost::asio::write(socket_, boost::asio::buffer(message_));
      boost::asio::read(socket_, boost::asio::buffer(message_));
    }
  }

 private:
  void serve() {
    tcp::socket socket = acceptor_.accept();
    socket.set_option(tcp::no_delay(true));
    std::string message(message_size, ' ');
    boost::system::error_code gone;
    while (boost::asio::read(socket, boost::asio::buffer(message), gone), !gone) {
      boost::asio::write(socket, boost::asio::buffer(message), gone);
    }
  }

  static constexpr std::size_t message_size = 150;
  std::string message_ = std::string(message_size, 'x');
  boost::asio::io_context io_;
  tcp::acceptor acceptor_{io_, {boost::asio::ip::address_v4::loopback(), 0}};
  tcp::socket socket_{io_};
  std::jthread thread_;
};

}  // namespace

int main(int argc, char** argv) {
  int calls = 20'000, cold_calls = 20, rounds = 11;
  cookbook::Options options("Measure warm and cold calls of a serverless function");
  options.add("calls", calls, "warm calls per round", 10, 10'000'000);
  options.add("cold-calls", cold_calls, "cold calls per round", 1, 10'000);
  options.add("rounds", rounds, "times that everything is measured", 1, 1000);
  options.parse(argc, argv);
  cookbook::pin(0);  // the program that the emulator starts stays there as well

  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename("serverless_function_bootstrap");
  LambdaEmulator warm(program, "program.count_handler", std::chrono::seconds(10));
  LambdaEmulator cold(program, "program.count_handler", std::chrono::seconds(10));
  const std::string event = R"({"milliseconds":0})";
  long wrong = !warm.invoke(event).cold, warm_calls = 1;
  Echo echo;

  const auto call = [&](LambdaEmulator& emulator, bool is_cold) {
    const CallResult result = emulator.invoke(event);
    wrong += !result.ok || result.body != std::to_string(is_cold ? 1 : ++warm_calls) || result.cold != is_cold;
  };
  cookbook::Figures rate("Warm calls", cookbook::rate("calls/s", 1));
  rate.measure({{"two bare round trips", double(calls), [&] { echo.round_trips(2 * calls); }},
                {"a warm call", double(calls),
                 [&] {
                   for (int i = 0; i < calls; ++i) call(warm, false);
                 }}},
               rounds);
  rate.percent_of("two bare round trips", "the round trips");

  cookbook::Figures time("Time of one call", cookbook::cost("ms", 1e-3));
  time.measure({{"warm", double(cold_calls),
                 [&] {
                   for (int i = 0; i < cold_calls; ++i) call(warm, false);
                 }},
                {"cold", double(cold_calls),
                 [&] {
                   for (int i = 0; i < cold_calls; ++i) {
                     cold.drop_instance();
                     call(cold, true);
                   }
                 }}},
               rounds);
  time.speedup_over("cold");

  cookbook::Checks checks;
  checks.equal("calls with a wrong result", wrong, 0L);
  rate.print(checks);
  time.print(checks);
  return checks.exit_code();
}
