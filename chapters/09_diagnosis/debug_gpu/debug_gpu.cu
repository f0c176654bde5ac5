// Finding a kernel's fault: which tool sees it, and what it says
//
// Each of three kernels has a fault, but no call of CUDA returns an error, and all results are right. The program runs
// each of them without a tool, and then under three tools of NVIDIA's compute-sanitizer. It prints which of them has
// found something, and the finding: it names the lines, and for two of them the thread and the block.
//
// Compile: nvcc -std=c++20 -O3 -lineinfo -arch=native -Icommon chapters/09_diagnosis/debug_gpu/debug_gpu.cu common/cookbook/*.cpp -lfmt -o debug_gpu
// Run:     debug_gpu [--fault WORD] [--numbers N] [--limit-ms N]

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "sanitizer_report.hpp"

constexpr int threads = 256;  // of a block

/// Squares of the numbers from 0 to count - 1, one thread per number.
__global__ void set_squares(int* squares, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= count) squares[i] = i * i;  // the fault: <= in place of <
}

/// How far numbers[x], numbers[x + 256], ... lie above the first number of their tile of 256, added up per thread x.
__global__ void sum_above_first(const int* numbers, int count, int* sums) {
  __shared__ int first;
  int sum = 0;
  for (int i = threadIdx.x; i < count; i += threads) {
    if (threadIdx.x == 0) first = numbers[i];
    __syncthreads();
    sum += numbers[i] - first;
    // the fault: no barrier here, so thread 0 may overwrite what others have still to read
  }
  sums[threadIdx.x] = sum;
}

/// The same for a count that need not be a multiple of 256.
__global__ void sum_any_above_first(const int* numbers, int count, int* sums) {
  __shared__ int first;
  int sum = 0;
  for (int i = threadIdx.x; i < count; i += threads) {  // the fault: some threads make one turn less
    if (threadIdx.x == 0) first = numbers[i];
    __syncthreads();
    sum += numbers[i] - first;
    __syncthreads();
  }
  sums[threadIdx.x] = sum;
}

namespace {

/// The sums of the last two kernels, worked out on the host.
std::vector<int> sums_above_first(const std::vector<int>& numbers) {
  std::vector<int> sums(threads, 0);
  for (std::size_t i = 0; i < numbers.size(); ++i) sums[i % threads] += numbers[i] - numbers[i - i % threads];
  return sums;
}

long differences(const std::vector<int>& a, const std::vector<int>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0L, std::plus(), std::not_equal_to());
}

/// Runs one of the kernels in this process, for so many numbers. Returns how many are wrong then, of its own results
/// and of another array.
long wrong_after(const std::string& fault, int count) {
  std::vector<int> numbers(count);
  for (int i = 0; i < count; ++i) numbers[i] = i * 7 % 1000;
  if (fault == "store") {
    std::vector<int> right(count);
    for (int i = 0; i < count; ++i) right[i] = i * i;
    gpu::DeviceArray<int> squares(count), others(numbers);
    set_squares<<<count / threads + 1, threads>>>(squares.data(), count);
    CUDA_CHECK(cudaGetLastError());
    return differences(squares.to_host(), right) + differences(others.to_host(), numbers);
  }
  const gpu::DeviceArray<int> in(numbers);
  gpu::DeviceArray<int> sums(threads);
  const auto kernel = fault == "race" ? sum_above_first : sum_any_above_first;
  kernel<<<1, threads>>>(in.data(), count, sums.data());
  CUDA_CHECK(cudaGetLastError());
  return differences(sums.to_host(), sums_above_first(numbers));
}

/// Starts this program once more with one fault, under one of compute-sanitizer's tools, or without one if it is "".
std::unique_ptr<cookbook::ChildProgram> start(const std::string& fault, const std::string& tool) {
  std::vector<std::string> words = {cookbook::beside_this_program("debug_gpu"), "--fault", fault};
  if (!tool.empty()) {
    const std::string before[] = {"compute-sanitizer", "--error-exitcode", "9", "--print-limit", "5", "--tool", tool};
    words.insert(words.begin(), std::begin(before), std::end(before));
  }
  return std::make_unique<cookbook::ChildProgram>(words, cookbook::ChildProcess::Output::piped_with_errors);
}

/// What such a process has come to.
struct Outcome {
  bool hangs;
  std::string printed;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Waits for its end until `deadline`. Ends this program as a skipped one if the tool cannot work.
Outcome outcome_of(cookbook::ChildProgram& child, std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  const std::optional<int> exit_code = child.wait(std::max(left, std::chrono::milliseconds(0)));
  const std::string printed = child.read_all(std::chrono::milliseconds(100));
  const bool missing = exit_code == 127;  // as a shell has it
  if (missing || printed.find("Device not supported") != std::string::npos) {
    cookbook::print_error(missing ? "skipped, compute-sanitizer of the CUDA toolkit is not on PATH"
                                  : "skipped, compute-sanitizer cannot work with this device: Device not supported");
    std::exit(gpu::skipped);
  }
  return {!exit_code, printed};
}

}  // namespace

int main(int argc, char** argv) {
  std::string only = "all";
  int numbers = 0, limit_ms = 10'000;
  cookbook::Options options("Which thread of which block wrote there?");
  options.add_choice("fault", only, "the kernel to run, without any tool", {"all", "store", "race", "barrier"});
  options.add("numbers", numbers, "how many it works on; 0: as many as its fault needs", 0, 10'000);
  options.add("limit-ms", limit_ms, "time after which a process counts as one that hangs", 1'000, 60'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  const struct {
    std::string name, meaning, made_for_it;
    int numbers;  // the last tile of 992 has 224 of them
  } faults[] = {{"store", "a store behind the end of an array", "memcheck", 1000},
                {"race", "no barrier before the next store", "racecheck", 1024},
                {"barrier", "a barrier that some threads leave out", "synccheck", 992}};
  for (const auto& fault : faults) {
    if (fault.name != only) continue;
    cookbook::println("wrong numbers: {}", wrong_after(only, numbers == 0 ? fault.numbers : numbers));
    return 0;
  }

  const char* path = std::getenv("PATH");
  setenv("PATH", (std::string(path != nullptr ? path : "") + ":/usr/local/cuda/bin").c_str(), 1);
  std::vector<std::string> findings;
  int found_by_its_tool = 0, found_by_others = 0;
  constexpr auto line = "{:<39}{:<19}{:<11}{:<12}{}";
  cookbook::println(line, "fault", "without a tool", "memcheck", "racecheck", "synccheck");
  for (const auto& fault : faults) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
    const auto alone = start(fault.name, "");
    std::vector<std::pair<std::string, std::unique_ptr<cookbook::ChildProgram>>> started;  // all work at the same time
    for (const std::string tool : {"memcheck", "racecheck", "synccheck"}) {
      started.emplace_back(tool, start(fault.name, tool));
    }
    const Outcome by_itself = outcome_of(*alone, deadline);
    std::vector<std::string> found;
    for (const auto& [tool, child] : started) {
      const Outcome outcome = outcome_of(*child, deadline);
      const std::vector<std::string> finding = debug_gpu::first_finding(outcome.printed);
      found.push_back(!finding.empty() ? "found" : outcome.hangs ? "hangs" : "-");
      if (finding.empty()) continue;
      ++(tool == fault.made_for_it ? found_by_its_tool : found_by_others);
      findings.push_back(tool + ":");
      findings.insert(findings.end(), finding.begin(), finding.end());
    }
    cookbook::println(line, fault.meaning, by_itself.hangs ? "hangs" : first_line(by_itself.printed), found[0],
                      found[1], found[2]);
  }
  for (const std::string& text : findings) cookbook::println("{}", text);

  cookbook::Checks checks;
  checks.equal("faults that the tool made for them has found", found_by_its_tool, 3);
  checks.equal("faults that another tool has found", found_by_others, 0);
  return checks.exit_code();
}
