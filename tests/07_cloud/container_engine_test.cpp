// The client against an engine with recorded answers, and with a real one.

#include "07_cloud/container_engine/engine.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "support/files.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using test_support::run;

const std::filesystem::path recipe =
    std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "chapters/07_cloud/container_engine";

/// An engine that gives recorded answers, one per method and path, such as "GET /version"; from the second time on the
/// one for "GET /version again", if there is one. The answer for a path that is not there is 404.
class FakeEngine {
 public:
  struct Answer {
    unsigned status;
    std::string body;
  };

  static inline const Answer broken_off = {0, ""};  ///< the connection ends without one

  explicit FakeEngine(std::map<std::string, Answer> answers) : answers_(std::move(answers)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  ~FakeEngine() {
    thread_.request_stop();
    boost::asio::io_context io;
    boost::asio::local::stream_protocol::socket(io).connect(path());  // so that accept() returns
  }

  std::string path() const { return folder_.path / "engine.sock"; }

  /// How often a request came.
  long asked(const std::string& what) {
    std::scoped_lock lock(mutex_);
    return asked_[what];
  }

  /// The body of the last request of this kind.
  std::string body_of(const std::string& what) { return bodies_of(what).back(); }

  /// The bodies of all requests of this kind.
  std::vector<std::string> bodies_of(const std::string& what) {
    std::scoped_lock lock(mutex_);
    return bodies_[what];
  }

  /// From now on the answer to `what`.
  void set(const std::string& what, Answer answer) {
    std::scoped_lock lock(mutex_);
    answers_[what] = std::move(answer);
  }

 private:
  void serve(const std::stop_token& stop) {
    while (true) {
      auto socket = acceptor_.accept();
      if (stop.stop_requested()) return;
      boost::beast::flat_buffer buffer;
      http::request<http::string_body> request;
      http::read(socket, buffer, request);
      const std::string what = std::string(request.method_string()) + " " + std::string(request.target());
      std::scoped_lock lock(mutex_);
      ++asked_[what];
      bodies_[what].push_back(request.body());
      Answer answer = {404, R"({"message":"page not found"})"};
      if (const auto known = answers_.find(what); known != answers_.end()) answer = known->second;
      const auto again = answers_.find(what + " again");
      if (asked_[what] > 1 && again != answers_.end()) answer = again->second;
      if (what == "POST /v1.40/images/load") {
        const auto after = answers_.find("GET /v1.40/images/json after load");
        if (after != answers_.end()) answers_["GET /v1.40/images/json"] = after->second;
      }
      if (answer.status == 0) continue;
      http::response<http::string_body> response(http::int_to_status(answer.status), 11, answer.body);
      response.prepare_payload();
      http::write(socket, response);
    }
  }

  test_support::TemporaryDirectory folder_;
  std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::map<std::string, long> asked_;
  std::map<std::string, std::vector<std::string>> bodies_;
  boost::asio::io_context io_;
  boost::asio::local::stream_protocol::acceptor acceptor_{io_, path()};
  std::jthread thread_;
};

FakeEngine::Answer version(const std::string& lowest, const std::string& highest) {
  return {200, R"({"Version":"18.09.2","ApiVersion":")" + highest + R"(","MinAPIVersion":")" + lowest + "\"}"};
}

// The book's list of images, as an engine sends it.
const FakeEngine::Answer books_images = {200, R"([
  {"Id":"sha256:bc3d70b05ed4","RepoTags":["dockerize.py:latest"],"Size":91800000},
  {"Id":"sha256:ca18efb44b3c","RepoTags":null,"Size":91800000},
  {"Id":"sha256:00be2573e9f7","RepoTags":["python:alpine3.7"],"Size":81300000}])"};

TEST(container_engine_api_version, is_compared_number_by_number) {
  EXPECT_LT(api_version("1.9"), api_version("1.12"));
  EXPECT_LT(api_version("1.40"), api_version("2.0"));
  EXPECT_EQ(api_version("1.40"), (ApiVersion{1, 40}));
  for (const char* text : {"", "1", "1.", ".1", "1.x", "1.2.3", "one"}) {
    EXPECT_THROW(api_version(text), std::invalid_argument) << text;
  }
}

TEST(container_engine_engine, speaks_with_engines_whose_range_has_the_clients_version) {
  FakeEngine fake({});
  for (const auto& [lowest, highest] :
       {std::pair{"1.12", "1.40"}, {"1.9", "1.50"}, {"1.40", "1.40"}, {"1.44", "1.52"}}) {
    fake.set("GET /version", version(lowest, highest));
    EXPECT_EQ(Engine::field_of(Engine(fake.path()).version(), "Version"), "18.09.2");
  }
  for (const auto& [lowest, highest] : {std::pair{"1.12", "1.39"}, {"1.45", "1.52"}, {"1.12", "1.9"}}) {
    fake.set("GET /version", version(lowest, highest));
    try {
      Engine(fake.path()).version();
      FAIL() << lowest << " to " << highest;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(std::string(lowest) + " to " + highest));
    }
  }
}

TEST(container_engine_engine, uses_the_newest_version_that_both_speak) {
  for (const auto& [highest, used] : {std::pair{"1.40", "1.40"}, {"1.43", "1.43"}, {"1.52", "1.44"}}) {
    const std::string path = "GET /v" + std::string(used) + "/images/json";
    FakeEngine fake({{"GET /version", version("1.24", highest)}, {path, {200, "[]"}}});
    Engine engine(fake.path());
    engine.version();
    EXPECT_FALSE(engine.has("greeting"));
    EXPECT_EQ(fake.asked(path), 1) << highest;
  }
}

TEST(container_engine_engine, a_name_without_a_tag_means_latest) {
  EXPECT_EQ(with_tag("python"), "python:latest");
  EXPECT_EQ(with_tag("python:alpine3.7"), "python:alpine3.7");
  EXPECT_EQ(with_tag("localhost:5000/python"), "localhost:5000/python:latest");
  EXPECT_EQ(with_tag("localhost:5000/python:3"), "localhost:5000/python:3");

  FakeEngine fake({{"GET /v1.40/images/json", books_images}});
  const Engine engine(fake.path());
  EXPECT_TRUE(engine.has("python:alpine3.7"));
  EXPECT_FALSE(engine.has("python"));
  EXPECT_TRUE(engine.has("dockerize.py"));
  EXPECT_FALSE(engine.has("hello-world"));
}

TEST(container_engine_engine, a_refusal_has_the_engines_words_and_a_container_that_does_not_start_is_removed) {
  FakeEngine fake({{"POST /v1.40/containers/create", {201, R"({"Id":"c1","Warnings":[]})"}},
                   {"POST /v1.40/containers/c1/start", {500, R"({"message":"no such file or directory"})"}},
                   {"DELETE /v1.40/containers/c1?force=true", {204, ""}}});
  try {
    Engine(fake.path()).run("greeting", 5000);
    FAIL();
  } catch (const EngineError& error) {
    EXPECT_STREQ(error.what(), "status 500: no such file or directory");
    EXPECT_EQ(error.status, http::status::internal_server_error);
  }
  EXPECT_EQ(fake.asked("DELETE /v1.40/containers/c1?force=true"), 1);
  EXPECT_THROW(Engine(fake.path()).load("x"), EngineError) << "404";
  EXPECT_THROW(Engine("/no/such/socket").images(), boost::system::system_error);
}

TEST(container_engine_engine, a_refusal_without_a_message_has_the_whole_answer) {
  FakeEngine fake({});
  for (const std::string answer :
       {"Bad Gateway", "", "[1, 2]", "[]", "\"message\"", "null", "7", "{}", R"({"cause":"no space"})"}) {
    fake.set("GET /v1.40/images/json", {502, answer});
    try {
      Engine(fake.path()).images();
      FAIL() << answer;
    } catch (const EngineError& error) {
      EXPECT_EQ(error.what(), "status 502: " + answer);
      EXPECT_EQ(error.status, http::status::bad_gateway);
    } catch (const std::exception& error) {
      FAIL() << answer << " is " << error.what();
    }
  }
}

TEST(container_engine_engine, an_answer_may_be_long) {
  const std::string id(20'000'000, 'x');
  FakeEngine fake({{"GET /v1.40/images/json", {200, R"([{"RepoTags":["greeting:latest"],"Id":")" + id + "\"}]"}}});
  EXPECT_TRUE(Engine(fake.path()).has("greeting"));
}

TEST(container_engine_engine, a_container_that_has_ended_already_is_stopped_and_not_an_error) {
  FakeEngine fake({{"POST /v1.40/containers/c1/stop?t=5", {304, ""}},
                   {"POST /v1.40/containers/c1/wait", {200, R"({"StatusCode":0})"}}});
  EXPECT_EQ(Engine(fake.path()).stop("c1"), 0);
}

TEST(container_engine_engine, a_container_is_removed_whatever_goes_wrong_at_its_start) {
  FakeEngine fake({{"POST /v1.40/containers/create", {201, R"({"Id":"c1"})"}},
                   {"POST /v1.40/containers/c1/start", FakeEngine::broken_off},
                   {"DELETE /v1.40/containers/c1?force=true", {204, ""}}});
  EXPECT_THROW(Engine(fake.path()).run("greeting", 5000), boost::system::system_error);
  EXPECT_EQ(fake.asked("DELETE /v1.40/containers/c1?force=true"), 1);

  fake.set("DELETE /v1.40/containers/c1?force=true", {500, R"({"message":"busy"})"});
  fake.set("POST /v1.40/containers/c1/start", {500, R"({"message":"no such file or directory"})"});
  try {
    Engine(fake.path()).run("greeting", 5000);
    FAIL();
  } catch (const EngineError& error) {
    EXPECT_STREQ(error.what(), "status 500: no such file or directory") << "the first error is reported";
  }
}

TEST(container_engine_engine, publishes_a_port_for_this_machine_alone) {
  FakeEngine fake(
      {{"POST /v1.40/containers/create", {201, R"({"Id":"c1"})"}}, {"POST /v1.40/containers/c1/start", {204, ""}}});
  EXPECT_EQ(Engine(fake.path()).run("greeting", 5000), "c1");
  const json::value order = json::parse(fake.body_of("POST /v1.40/containers/create"));
  EXPECT_EQ(order, json::parse(R"({"Image":"greeting:latest",
      "HostConfig":{"PortBindings":{"5000/tcp":[{"HostIp":"127.0.0.1","HostPort":""}]}}})"));
  Engine(fake.path()).run("greeting:2", 80, "10.1.2.3");
  EXPECT_EQ(json::parse(fake.body_of("POST /v1.40/containers/create")), json::parse(R"({"Image":"greeting:2",
      "HostConfig":{"PortBindings":{"80/tcp":[{"HostIp":"10.1.2.3","HostPort":""}]}}})"));
}

TEST(container_engine_engine, an_engine_that_does_not_answer_is_an_error) {
  const test_support::TemporaryDirectory folder;
  boost::asio::io_context io;
  const boost::asio::local::stream_protocol::acceptor silent(io, (folder.path / "socket").string());
  const Engine engine(folder.path / "socket", std::chrono::seconds(1));
  test_support::with_watchdog([&] { EXPECT_THROW(engine.images(), boost::system::system_error); });
}

TEST(container_engine_engine, tells_the_port_of_the_host_and_the_exit_code) {
  FakeEngine fake({{"GET /v1.40/containers/c1/json",
                    {200, R"({"NetworkSettings":{"Ports":{"5000/tcp":[{"HostIp":"127.0.0.1","HostPort":"49153"}]}}})"}},
                   {"POST /v1.40/containers/c1/stop?t=5", {204, ""}},
                   {"POST /v1.40/containers/c1/wait", {200, R"({"Error":null,"StatusCode":137})"}}});
  EXPECT_EQ(Engine(fake.path()).port_of("c1", 5000), 49153);
  EXPECT_EQ(Engine(fake.path()).stop("c1"), 137);
}

TEST(container_engine, loads_an_image_once_and_tells_why_the_engine_runs_nothing) {
  const std::string greeting = R"([{"RepoTags":["localhost/greeting:1.0"],"Size":850000}])";
  FakeEngine fake({{"GET /version", version("1.12", "1.40")},
                   {"GET /v1.40/images/json", {200, "[]"}},
                   {"GET /v1.40/images/json after load", {200, greeting}},
                   {"POST /v1.40/images/load", {200, R"({"stream":"Loaded image"})"}},
                   {"POST /v1.40/containers/create", {201, R"({"Id":"c1"})"}},
                   {"POST /v1.40/containers/c1/start", {500, R"({"message":"crun: Operation not permitted"})"}},
                   {"DELETE /v1.40/containers/c1?force=true", {204, ""}}});
  const test_support::TemporaryDirectory folder;
  std::ofstream(folder.path / "a.tar") << "an archive";
  const std::vector<std::string> arguments = {"--socket", fake.path(), "--archive", folder.path / "a.tar"};
  for (int round = 1; round <= 2; ++round) {
    const auto result = run("container_engine", arguments);
    EXPECT_EQ(result.exit_code, 3) << result.text();
    EXPECT_THAT(result.err, testing::ElementsAre("container_engine: status 500: crun: Operation not permitted"));
    EXPECT_EQ(fake.asked("POST /v1.40/images/load"), 1);
  }
}

TEST(container_engine, removes_a_container_whose_port_the_engine_does_not_tell) {
  FakeEngine fake({{"GET /version", version("1.12", "1.40")},
                   {"GET /v1.40/images/json", {200, R"([{"RepoTags":["localhost/greeting:1.0"],"Size":850000}])"}},
                   {"POST /v1.40/containers/create", {201, R"({"Id":"c1"})"}},
                   {"POST /v1.40/containers/c1/start", {204, ""}},
                   {"GET /v1.40/containers/c1/json", {200, R"({"NetworkSettings":{"Ports":{}}})"}},
                   {"DELETE /v1.40/containers/c1?force=true", {204, ""}}});
  const auto result = run("container_engine", {"--socket", fake.path()});
  EXPECT_EQ(result.exit_code, 3) << result.text();
  EXPECT_EQ(fake.asked("DELETE /v1.40/containers/c1?force=true"), 1);
}

/// A web server at 127.0.0.1, or at another address, that answers everything with "Hello World!".
class FakeServer {
 public:
  explicit FakeServer(const char* address = "127.0.0.1") : acceptor_(io_, {boost::asio::ip::make_address(address), 0}) {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (true) {
        auto socket = acceptor_.accept();
        if (stop.stop_requested()) return;
        boost::beast::flat_buffer buffer;
        http::request<http::string_body> request;
        boost::system::error_code gone;
        http::read(socket, buffer, request, gone);
        http::response<http::string_body> response(http::status::ok, 11, "Hello World!");
        response.prepare_payload();
        http::write(socket, response, gone);
      }
    });
  }
  ~FakeServer() {
    thread_.request_stop();
    boost::asio::ip::tcp::socket(io_).connect(acceptor_.local_endpoint());  // so that accept() returns
  }
  std::string port() const { return std::to_string(acceptor_.local_endpoint().port()); }

 private:
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::jthread thread_;
};

TEST(container_engine, says_who_is_reached_and_removes_both_containers) {
  const FakeServer here, everywhere("0.0.0.0");  // what the first and the second container are published at
  const auto ports = [](const FakeServer& server) {
    return FakeEngine::Answer{
        200, R"({"NetworkSettings":{"Ports":{"5000/tcp":[{"HostPort":")" + server.port() + R"("}]}}})"};
  };
  FakeEngine fake({{"GET /version", version("1.12", "1.40")},
                   {"GET /v1.40/images/json", {200, R"([{"RepoTags":["localhost/greeting:1.0"],"Size":850000}])"}},
                   {"POST /v1.40/containers/create", {201, R"({"Id":"c1"})"}},
                   {"POST /v1.40/containers/create again", {201, R"({"Id":"c2"})"}},
                   {"POST /v1.40/containers/c1/start", {204, ""}},
                   {"POST /v1.40/containers/c2/start", {204, ""}},
                   {"POST /v1.40/containers/c1/stop?t=5", {204, ""}},
                   {"POST /v1.40/containers/c1/wait", {200, R"({"StatusCode":0})"}},
                   {"GET /v1.40/containers/c1/json", ports(here)},
                   {"GET /v1.40/containers/c2/json", ports(everywhere)},
                   {"DELETE /v1.40/containers/c1?force=true", {204, ""}},
                   {"DELETE /v1.40/containers/c2?force=true", {204, ""}}});
  const auto result = run("container_engine", {"--socket", fake.path()});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_THAT(result.lines_with("^asked through 127.0.0.1 +Hello World! +Hello World!$"), testing::SizeIs(1));
  EXPECT_THAT(result.lines_with("^asked through 127.0.0.2, another address +Connection refused +Hello World!$"),
              testing::SizeIs(1));
  EXPECT_TRUE(result.has_line("ok    through 127.0.0.2 the first says: Connection refused")) << result.text();
  EXPECT_EQ(fake.asked("DELETE /v1.40/containers/c1?force=true"), 1);
  EXPECT_EQ(fake.asked("DELETE /v1.40/containers/c2?force=true"), 1);
  EXPECT_THAT(
      fake.bodies_of("POST /v1.40/containers/create"),
      testing::ElementsAre(testing::HasSubstr(R"("HostIp":"127.0.0.1")"), testing::HasSubstr(R"("HostIp":"")")));
}

TEST(container_engine, a_server_that_never_answers_is_an_error_and_its_container_is_removed) {
  boost::asio::io_context io;  // a port that somebody has bound and at which nobody listens
  const boost::asio::ip::tcp::socket bound(io, {boost::asio::ip::address_v4::loopback(), 0});
  const std::string port = std::to_string(bound.local_endpoint().port());
  FakeEngine fake({{"GET /version", version("1.12", "1.40")},
                   {"GET /v1.40/images/json", {200, R"([{"RepoTags":["localhost/greeting:1.0"],"Size":850000}])"}},
                   {"POST /v1.40/containers/create", {201, R"({"Id":"c1"})"}},
                   {"POST /v1.40/containers/c1/start", {204, ""}},
                   {"GET /v1.40/containers/c1/json",
                    {200, R"({"NetworkSettings":{"Ports":{"5000/tcp":[{"HostPort":")" + port + R"("}]}}})"}},
                   {"DELETE /v1.40/containers/c1?force=true", {204, ""}}});
  const auto result = run("container_engine", {"--socket", fake.path()});
  EXPECT_EQ(result.exit_code, 3) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("container_engine: the server in the container does not answer"));
  EXPECT_EQ(fake.asked("DELETE /v1.40/containers/c1?force=true"), 1);
}

TEST(container_engine, says_that_there_is_no_engine) {
  const auto result = run("container_engine", {"--socket", "/no/such/socket"});
  EXPECT_EQ(result.exit_code, 77);
  EXPECT_TRUE(result.has_line("skipped: there is no engine at /no/such/socket")) << result.text();
}

TEST(container_engine, runs_with_the_engine_of_this_machine_and_leaves_nothing_behind) {
  const auto result = test_support::run_parts("07_cloud/container_engine", {}, {.limit = std::chrono::seconds(50)});
  EXPECT_EQ(result.leaked_processes, 0) << result.text();
  if (result.exit_code == 77) GTEST_SKIP() << (result.out.empty() ? result.text() : result.out.back());
  EXPECT_EQ(result.exit_code, 0) << result.text();
  // What each server says, and to whom: the first answers programs of this machine, the second whoever comes.
  EXPECT_THAT(result.lines_with("^asked through 127.0.0.1 .*Hello World!.*Hello World!$"), testing::SizeIs(1))
      << result.text();
  EXPECT_THAT(result.lines_with("^asked through 127.0.0.2, .*Connection refused.*Hello World!$"), testing::SizeIs(1))
      << result.text();
  EXPECT_TRUE(result.has_line("ok    exit code of the first after SIGTERM: 0")) << result.text();
}

/// Without podman, run.sh uses the docker engine that runs. Here `docker` notes what it is told, and `container_engine`
/// does nothing.
TEST(container_engine, removes_the_image_that_it_has_loaded_and_none_of_the_users) {
  for (const bool there_before : {true, false}) {
    const test_support::TemporaryDirectory folder;
    const auto script = [&](const std::string& name, const std::string& text) {
      std::ofstream(folder.path / name) << "#!/bin/sh\n" << text << '\n';
      std::filesystem::permissions(folder.path / name, std::filesystem::perms::owner_all);
    };
    script("docker",
           "echo \"$@\" >>" + (folder.path / "log").string() + "\n" + (there_before ? "true" : "[ \"$1\" != image ]"));
    script("container_engine", "true");
    std::ofstream(folder.path / "greeting.tar") << "an archive";
    for (const char* tool : {"bash", "realpath", "mktemp", "rm", "cat", "grep", "tail", "id", "env", "sh"}) {
      for (const std::string bin : {"/usr/bin/", "/bin/"}) {
        std::error_code exists;
        if (std::filesystem::exists(bin + tool)) {
          std::filesystem::create_symlink(bin + tool, folder.path / tool, exists);
        }
      }
    }
    boost::asio::io_context io;
    const boost::asio::local::stream_protocol::acceptor engine(io, (folder.path / "docker.sock").string());
    const auto result = test_support::run(
        (recipe / "run.sh").string(), {folder.path},
        {.environment = {{"PATH", folder.path}, {"DOCKER_HOST", "unix://" + (folder.path / "docker.sock").string()}}});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    const std::string told = test_support::text_of(folder.path / "log");
    EXPECT_EQ(told.find("rmi localhost/greeting:1.0") == told.npos, there_before) << told;
  }
}

TEST(container_engine_published, answers_at_every_address) {
  const auto result = run("container_engine_published", {}, {.may_leave_something = true});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, testing::ElementsAre("through 127.0.0.1: connected", "through 127.0.0.2: connected"));
}

}  // namespace
