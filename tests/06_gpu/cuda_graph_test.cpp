// The program's output, and Graph from inside: recording runs nothing, order, launching again, arguments and contents.

#include "06_gpu/cuda_graph/graph.hpp"

#include <cstring>
#include <stdexcept>
#include <thread>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

TEST(cuda_graph, is_right_for_any_number_of_kernels_and_numbers) {
  for (const std::string kernels : {"1", "2", "33", "3000"}) {
    for (const std::string count : {"1", "255", "257", "100003"}) {
      const auto result = run("cuda_graph", {"--kernels", kernels, "--count", count});
      if (result.exit_code == 77) GTEST_SKIP() << result.text();
      EXPECT_EQ(result.exit_code, 0) << result.text();
      for (const std::string row : {"launched one by one", "one by one, once more", "recorded as a graph",
                                    "the graph, first launch", "the graph, second launch"}) {
        EXPECT_EQ(result.lines_with("^" + row + " +[0-9]+ us +[0-9]+ us +[0-9.]+ us$").size(), 1U) << result.text();
      }
      EXPECT_TRUE(result.has_line("ok    wrong numbers after the four runs: 0")) << result.text();
      EXPECT_TRUE(result.has_line("ok    kernels in the graph: " + kernels)) << result.text();
      EXPECT_TRUE(result.has_line("ok    the recording has changed no number: yes")) << result.text();
    }
  }
}

TEST(cuda_graph, without_a_device_says_why_it_is_skipped) {
  const auto result = run("cuda_graph", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, 77) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre(testing::HasSubstr("skipped, no CUDA device")));
}

/// A stream, two bytes of the device that are 0 at first, and two of the host.
class cuda_graph_graph : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no device";
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaMalloc(&device, 2));
    CUDA_CHECK(cudaMallocHost(&host, 2));
    CUDA_CHECK(cudaMemset(device, 0, 2));
    CUDA_CHECK(cudaDeviceSynchronize());
    std::memset(host, 0, 2);
  }
  void TearDown() override {
    if (stream != nullptr) {
      cudaStreamDestroy(stream);
      cudaFree(device);
      cudaFreeHost(host);
    }
  }

  void set(char* to, int value, std::size_t size) { CUDA_CHECK(cudaMemsetAsync(to, value, size, stream)); }
  void read() { CUDA_CHECK(cudaMemcpyAsync(host, device, 2, cudaMemcpyDeviceToHost, stream)); }

  cudaStream_t stream = nullptr;
  char *device = nullptr, *host = nullptr;
};

TEST_F(cuda_graph_graph, runs_nothing_while_it_is_recorded) {
  const Graph recorded(stream, [&] { set(device, 7, 2); });
  read();
  CUDA_CHECK(cudaStreamSynchronize(stream));
  EXPECT_EQ(host[0], 0);
  EXPECT_EQ(recorded.operations(), 1U);
}

TEST_F(cuda_graph_graph, keeps_the_order_and_can_be_launched_again) {
  Graph recorded(stream, [&] {
    set(device, 1, 2);
    set(device, 2, 1);
    read();
  });
  EXPECT_EQ(recorded.operations(), 3U);
  for (int round = 0; round < 100; ++round) {
    std::memset(host, 0, 2);
    recorded.launch(stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    ASSERT_EQ(host[0], 2);
    ASSERT_EQ(host[1], 1);
  }
}

TEST_F(cuda_graph_graph, keeps_the_values_of_arguments) {
  int value = 5;
  Graph recorded(stream, [&] { set(device, value, 2); });
  value = 6;
  recorded.launch(stream);
  read();
  CUDA_CHECK(cudaStreamSynchronize(stream));
  EXPECT_EQ(host[0], 5);
}

TEST_F(cuda_graph_graph, reads_memory_when_it_runs) {
  Graph recorded(stream, [&] { CUDA_CHECK(cudaMemcpyAsync(device, host, 2, cudaMemcpyHostToDevice, stream)); });
  for (const char value : {3, 4}) {
    std::memset(host, value, 2);
    recorded.launch(stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    char result[2] = {};
    CUDA_CHECK(cudaMemcpy(result, device, 2, cudaMemcpyDeviceToHost));
    EXPECT_EQ(result[1], value);
  }
}

TEST_F(cuda_graph_graph, keeps_its_place_between_other_work_of_the_stream) {
  Graph recorded(stream, [&] { set(device, 9, 1); });
  set(device, 8, 2);
  recorded.launch(stream);
  read();
  set(device, 1, 2);
  CUDA_CHECK(cudaStreamSynchronize(stream));
  EXPECT_EQ(host[0], 9);
  EXPECT_EQ(host[1], 8);
}

TEST_F(cuda_graph_graph, work_that_throws_leaves_no_stream_recording) {
  const auto throws = [&] {
    CUDA_CHECK(cudaMemsetAsync(device, 1, 1, stream));
    throw std::runtime_error("no");
  };
  const auto expect_not_recording = [&] {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
    EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  };
  EXPECT_THROW(gpu::RecordedWork(stream, throws), std::runtime_error);
  expect_not_recording();
}

TEST_F(cuda_graph_graph, while_it_is_recorded_its_thread_can_neither_wait_nor_allocate_but_another_can) {
  const auto result_of = [&](auto call) {
    cudaError_t result = cudaSuccess;
    const auto throws = [&] {
      result = call();
      throw std::runtime_error("the recording is lost");
    };
    EXPECT_THROW(gpu::RecordedWork(stream, throws), std::runtime_error);
    cudaGetLastError();
    return result;
  };
  char* memory = nullptr;
  EXPECT_EQ(result_of([&] { return cudaStreamSynchronize(stream); }), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(result_of([&] { return cudaMalloc(&memory, 1); }), cudaErrorStreamCaptureUnsupported);

  const Graph recorded(stream, [&] {
    set(device, 1, 1);
    std::thread([&] { EXPECT_EQ(cudaMalloc(&memory, 1), cudaSuccess); }).join();
    set(device, 2, 1);
  });
  EXPECT_EQ(recorded.operations(), 2U);
  CUDA_CHECK(cudaFree(memory));
}

TEST(cuda_graph, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_graph", {{"--count", "257", "--kernels", "9"}, {"--count", "256", "--kernels", "9"}});
}

TEST(cuda_graph, the_bench_is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_graph_bench",
                          {{"--count", "257", "--kernels", "9"}, {"--count", "256", "--kernels", "9"}});
}

TEST(cuda_graph_timing, a_graph_is_faster_than_launches_one_by_one_and_keeps_the_host_for_a_moment_only) {
  const auto result = run("cuda_graph");
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  const auto numbers_of = [&](const std::string& row) {  // in all, and in the host's calls
    std::vector<double> numbers;
    for (const std::string column : {" +([0-9]+) us", " +[0-9]+ us +([0-9]+) us"}) {
      for (const std::string& value : result.captures("^" + row + column)) numbers.push_back(std::stod(value));
    }
    return numbers;
  };
  const auto one_by_one = numbers_of("one by one, once more"), recorded = numbers_of("recorded as a graph"),
             first = numbers_of("the graph, first launch"), second = numbers_of("the graph, second launch");
  for (const auto& row : {one_by_one, recorded, first, second}) ASSERT_EQ(row.size(), 2U) << result.text();
  EXPECT_GT(one_by_one[1], 0.8 * one_by_one[0]) << result.text();
  EXPECT_LT(second[0], 0.7 * one_by_one[0]) << result.text();
  EXPECT_LT(second[0], first[0]) << result.text();
  EXPECT_LT(second[1], 0.25 * second[0]) << result.text();
}

}  // namespace
