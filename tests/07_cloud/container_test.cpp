// The image, the program in it, and the containers that the recipe makes without an engine.

#include "07_cloud/container/isolated.hpp"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/wait.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <vector>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

const std::filesystem::path recipe =
    std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "chapters/07_cloud/container";

TEST(container_image, is_small_static_and_always_the_same) {
  const test_support::TemporaryDirectory folder;
  const auto build = [&](const std::string& containerfile, const std::string& archive) {
    return run(recipe / "build_image.py",
               {containerfile, test_support::bin(), "localhost/greeting:1.0", folder.path / archive});
  };
  ASSERT_EQ(build(recipe / "Containerfile", "one.tar").exit_code, 0);
  ASSERT_EQ(build(recipe / "Containerfile", "two.tar").exit_code, 0);
  EXPECT_EQ(test_support::text_of(folder.path / "one.tar"), test_support::text_of(folder.path / "two.tar"));
  EXPECT_LE(std::filesystem::file_size(folder.path / "one.tar"), 1'500'000U);

  const auto listed = run(
      "/bin/sh", {"-c", "cd " + folder.path.string() +
                            " && tar xf one.tar && cat config.json && echo && tar xvf layer.tar && ldd greeting 2>&1"});
  EXPECT_THAT(listed.text(), testing::HasSubstr(R"("Entrypoint": ["/greeting"])"));
  EXPECT_THAT(listed.text(), testing::HasSubstr(R"("ExposedPorts": {"5000/tcp": {}})"));
  EXPECT_TRUE(listed.has_line("greeting")) << listed.text();
  EXPECT_THAT(listed.text(), testing::HasSubstr("not a dynamic executable"));

  std::ofstream(folder.path / "Unknown") << "FROM scratch\nVOLUME /data\n";
  std::ofstream(folder.path / "NoBase") << "COPY container_greeting /greeting\n";
  for (const char* file : {"Unknown", "NoBase", "NoSuchFile"}) {
    const auto refused = build(folder.path / file, "three.tar");
    EXPECT_EQ(refused.exit_code, 2) << file;
    EXPECT_EQ(refused.err.size(), 1U) << refused.text();
  }
}

TEST(container_image, has_files_of_the_folder_alone_and_at_places_within_it) {
  const test_support::TemporaryDirectory outer;
  const std::filesystem::path folder = outer.path / "context";
  std::filesystem::create_directories(folder / "etc");
  std::ofstream(outer.path / "secret") << "secret";
  std::ofstream(folder / "etc/mine") << "mine";
  std::filesystem::create_symlink(outer.path / "secret", folder / "link");
  std::filesystem::create_symlink("etc/mine", folder / "inner_link");
  const auto build = [&](const std::string& copy) {
    std::ofstream(outer.path / "Containerfile") << "FROM scratch\nCOPY " << copy << '\n';
    return run(recipe / "build_image.py", {outer.path / "Containerfile", folder, "x:1", outer.path / "image.tar"});
  };
  for (const char* copy : {"/etc/shadow /x", "/etc/passwd /x", "../secret /x", "etc/../../secret /x", "link /x",
                           "etc/mine /../x", "etc/mine ../x", "etc/mine /a/../../x", "etc/mine /", "etc/mine .."}) {
    const auto refused = build(copy);
    EXPECT_EQ(refused.exit_code, 2) << copy;
    EXPECT_EQ(refused.err.size(), 1U) << refused.text();
  }
  // As with podman and docker, a path that begins with a slash begins at the folder.
  for (const char* copy : {"/etc/mine /x", "etc/mine a/b", "etc/../etc/mine /x", "inner_link /x"}) {
    EXPECT_EQ(build(copy).exit_code, 0) << copy;
  }
}

/// Containers of the server, where this system allows them.
class container_Server : public testing::Test {
 protected:
  void SetUp() override {
    static const bool allowed = may_isolate();
    if (!allowed) GTEST_SKIP() << "this system allows no namespaces";
    std::filesystem::copy_file(test_support::bin() + "/container_greeting", root_.path / "greeting");
    try {
      server_.emplace(root_.path);
    } catch (const std::system_error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  /// Sends bytes, piece by piece, and returns all that comes back.
  std::string say(const std::vector<std::string>& pieces) const {
    const int client = server_->connect_to(5000), on = 1;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (const std::string& piece : pieces) {
      EXPECT_EQ(send(client, piece.data(), piece.size(), MSG_NOSIGNAL), static_cast<ssize_t>(piece.size()));
    }
    std::string answer;
    char part[1024];
    for (ssize_t count = 0; (count = recv(client, part, sizeof part, 0)) > 0;) answer.append(part, part + count);
    close(client);
    return answer;
  }

  test_support::TemporaryDirectory root_;
  std::optional<Isolated> server_;
};

TEST_F(container_Server, answers_get_and_nothing_else) {
  const std::string end = " HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\nHello World!";
  EXPECT_EQ(say({"GET /" + end}), ok);
  EXPECT_EQ(say({"GE", "T /", end}), ok) << "in pieces";
  EXPECT_THAT(say({"GET /nowhere" + end}), testing::StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(say({"POST /" + end}), testing::StartsWith("HTTP/1.1 404"));
  EXPECT_EQ(say({std::string(5000, 'x')}), "") << "too long";
  EXPECT_EQ(say({"GET / HTTP/1.1\r\n"}), "") << "never complete";
}

TEST_F(container_Server, sees_one_process_and_the_files_of_the_image) {
  std::ofstream(root_.path / "a_file") << "x";
  const std::string end = " HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_THAT(
      say({"GET /view" + end}),
      testing::HasSubstr(
          "process number: 1\nnetwork devices that are on: 1\nenvironment variables: 0\ninherited files from 3 on: 0\n"
          "capabilities: 0\nfiles in the root directory: "));
  EXPECT_THAT(say({"GET /view" + end}),
              testing::AnyOf(testing::EndsWith(": greeting a_file\n"), testing::EndsWith(": a_file greeting\n")));
}

/// A line of /proc/PID/status.
std::string status_of(pid_t process, const std::string& name) {
  const std::string status = test_support::text_of("/proc/" + std::to_string(process) + "/status");
  const auto at = status.find(name + ":\t");
  return at == status.npos ? "none" : status.substr(at + name.size() + 2, status.find('\n', at) - at - name.size() - 2);
}

TEST_F(container_Server, has_no_rights_of_root_even_if_it_is_root) {
  close(server_->connect_to(5000));  // it runs
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_EQ(status_of(server_->process(), set), "0000000000000000") << set;
  }
  EXPECT_EQ(status_of(server_->process(), "NoNewPrivs"), "1");
}

TEST_F(container_Server, inherits_neither_descriptors_nor_environment) {
  setenv("SECRET", "of the one who starts it", 1);
  const int outside = open("/", O_RDONLY | O_DIRECTORY);  // without O_CLOEXEC: fchdir() would lead out
  ASSERT_GE(outside, 3);
  Isolated server(root_.path);
  close(server.connect_to(5000));
  const std::string folder = "/proc/" + std::to_string(server.process());
  int sockets = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/fd")) {
    if (std::stoi(entry.path().filename()) < 3) continue;
    std::error_code closed_since;
    const std::string target = std::filesystem::read_symlink(entry.path(), closed_since);
    if (closed_since) continue;
    EXPECT_TRUE(target.starts_with("socket:")) << target;
    ++sockets;
  }
  EXPECT_LE(sockets, 2) << "its listener, and a client";
  EXPECT_EQ(test_support::text_of(folder + "/environ"), "");
  close(outside);
  unsetenv("SECRET");
}

TEST_F(container_Server, has_its_root_directory_as_the_current_one) {
  close(server_->connect_to(5000));
  const std::string link = "/proc/" + std::to_string(server_->process()) + "/cwd";
  EXPECT_EQ(std::filesystem::read_symlink(link), std::filesystem::canonical(root_.path)) << "`..` would lead out";
}

TEST_F(container_Server, has_so_many_namespaces_of_its_own) {
  close(server_->connect_to(5000));
  std::vector<std::string> own;
  for (const char* kind : {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"}) {
    const auto of = [&](const std::string& who) {
      return std::filesystem::read_symlink("/proc/" + who + "/ns/" + kind).string();
    };
    if (of(std::to_string(server_->process())) != of("self")) own.push_back(kind);
  }
  EXPECT_THAT(own, testing::ElementsAre("net", "pid"));  // and, if this is not root, that of users, which is also ours
}

TEST(container_view, counts_what_a_process_is_given) {
  const auto view = [](const std::string& command) {
    return run("/bin/sh", {"-c", command + " " + test_support::bin() + "/container_greeting view"});
  };
  EXPECT_TRUE(view("exec env -i A=1 B=2").has_line("environment variables: 2"));
  const auto inherited = [&](const std::string& command) {
    return view(command).captures("inherited files from 3 on: (\\d+)").at(0);
  };
  const int before = std::stoi(inherited("exec 7>&- 8>&-;"));  // whoever runs the tests may leave some open, too
  EXPECT_EQ(inherited("exec 7</ 8</;"), std::to_string(before + 2));
  const unsigned long rights = std::stoul(status_of(getpid(), "CapPrm"), nullptr, 16);
  EXPECT_TRUE(view("").has_line("capabilities: " + std::to_string(std::popcount(rights))));
}

TEST_F(container_Server, is_not_blocked_by_a_client_that_sends_a_byte_now_and_then) {
  const int slow = server_->connect_to(5000), other = server_->connect_to(5000);
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  send(other, request.data(), request.size(), MSG_NOSIGNAL);
  int sent = 0;  // a byte each 0.2 s is never a second without one
  pollfd answered = {other, POLLIN, 0};
  for (; sent < 25 && poll(&answered, 1, 200) == 0; ++sent) send(slow, "G", 1, MSG_NOSIGNAL);
  EXPECT_LT(sent, 25) << "the slow one has a second, and not more than five";
  close(slow), close(other);
}

/// Whether something listens on port 5000 of this machine.
bool port_is_open() {
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(5000);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool connected = connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(client);
  return connected;
}

TEST_F(container_Server, cannot_be_reached_from_the_network_of_this_machine) {
  server_.reset();
  if (port_is_open()) GTEST_SKIP() << "another server of this machine has port 5000";
  server_.emplace(root_.path);
  close(server_->connect_to(5000));  // it listens
  EXPECT_FALSE(port_is_open());
}

TEST_F(container_Server, ends_with_0_at_a_signal) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Isolated server(root_.path);
    close(server.connect_to(5000));
    EXPECT_EQ(server.stop(signal), 0);
    EXPECT_EQ(server.stop(signal), -1) << "it is not there any more";
  }
  EXPECT_EQ(server_->stop(SIGKILL), 128 + SIGKILL);
}

TEST_F(container_Server, is_killed_five_seconds_after_a_signal_that_it_does_not_hear) {
  close(server_->connect_to(5000));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(server_->stop(SIGHUP), 128 + SIGKILL) << "it has no function for SIGHUP, and is process 1";
  const auto time = std::chrono::steady_clock::now() - start;
  EXPECT_GE(time, std::chrono::seconds(5));
  EXPECT_LT(time, std::chrono::seconds(25));
}

TEST_F(container_Server, is_killed_with_its_object_without_being_asked) {
  close(server_->connect_to(5000));  // it has its functions for signals, by which it would end with 0
  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &child_ended, nullptr), 0);
  const pid_t process = server_->process();
  server_.reset();
  siginfo_t how = {};
  const timespec no_time = {};  // the signal has come before the destructor has seen the end
  EXPECT_EQ(sigtimedwait(&child_ended, &how, &no_time), SIGCHLD);
  EXPECT_EQ(how.si_pid, process);
  EXPECT_EQ(how.si_code, CLD_KILLED);
  EXPECT_EQ(how.si_status, SIGKILL);
  pthread_sigmask(SIG_UNBLOCK, &child_ended, nullptr);
}

TEST_F(container_Server, ends_with_the_program_that_has_made_it) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t maker = fork();
  if (maker == 0) {
    const pid_t server = start_isolated(root_.path);
    if (write(ends[1], &server, sizeof server) != sizeof server) _exit(1);
    while (true) pause();
  }
  pid_t server = 0;
  ASSERT_EQ(read(ends[0], &server, sizeof server), static_cast<ssize_t>(sizeof server));
  const std::string program = "/proc/" + std::to_string(server) + "/cmdline";
  for (int i = 0; i < 500 && test_support::text_of(program) != std::string("/greeting\0", 10); ++i) usleep(10'000);
  const int watched = static_cast<int>(syscall(SYS_pidfd_open, server, 0));
  ASSERT_GE(watched, 0);
  kill(maker, SIGKILL);
  waitpid(maker, nullptr, 0);
  pollfd ended = {watched, POLLIN, 0};
  EXPECT_EQ(poll(&ended, 1, 10'000), 1) << "it is still there 10 s later";
  kill(server, SIGKILL);
  close(watched), close(ends[0]), close(ends[1]);
}

TEST_F(container_Server, a_folder_without_the_program_is_an_exit_code) {
  const test_support::TemporaryDirectory empty;
  Isolated nothing(empty.path);
  siginfo_t ended;
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(nothing.process()), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_THROW(nothing.connect_to(5000), std::runtime_error);
  EXPECT_EQ(nothing.stop(), 127);
}

TEST(container, leaves_nothing_behind) {
  const auto result =
      test_support::run_parts("07_cloud/container", {}, {.may_leave_something = true});  // a file to inherit
  EXPECT_EQ(result.leaked_processes, 0) << result.text();
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    what the first container sees: [\"1\", \"1\", \"0\", \"0\", \"0\", \"greeting\"]"))
      << result.text();
  const auto outside = result.captures("^inherited files from 3 on +(\\d+) +0 +\\d+ +close_range$");
  ASSERT_EQ(outside.size(), 1U) << result.text();
  EXPECT_GE(std::stoi(outside[0]), 1) << "the view outside shows the file that children inherit";

  const auto number = result.captures("^process number +\\d+ +1 +(\\d+) +CLONE_NEWPID$");
  ASSERT_EQ(number.size(), 1U) << result.text();
  EXPECT_GT(std::stoi(number[0]), 1) << result.text();
  std::vector<std::string> lines = {"environment variables +(\\d+) +0 +(\\d+) +execve",
                                    "inherited files from 3 on +(\\d+) +0 +(\\d+) +close_range",
                                    "capabilities +(\\d+) +0 +(\\d+) +PR_CAPBSET_DROP",
                                    "files in the root directory +(\\d+) names +greeting +(\\d+) names +chroot"};
  if (geteuid() == 0) lines.emplace_back("network devices that are on +(\\d+) +1 +(\\d+) +CLONE_NEWNET");
  for (const std::string& line : lines) {
    std::smatch values;
    const auto found = result.lines_with("^" + line + "$");
    ASSERT_EQ(found.size(), 1U) << line << '\n' << result.text();
    ASSERT_TRUE(std::regex_match(found[0], values, std::regex(line))) << line;
    EXPECT_EQ(values[1], values[2]) << "without the step a process sees what is outside\n" << result.text();
  }
}

TEST(container, podman_builds_the_same_image_from_the_containerfile) {
  const test_support::TemporaryDirectory folder;
  std::filesystem::copy_file(test_support::bin() + "/container_greeting", folder.path / "container_greeting");
  const std::string podman = "podman --root " + folder.path.string() + "/images --runroot " + folder.path.string() +
                             "/run --storage-driver vfs ";
  const auto built =
      run("/bin/sh",
          {"-c",
           "command -v podman >/dev/null && unshare --mount true 2>/dev/null || exit 77; "
           "exec unshare --mount --net sh -c '" +
               podman + "images >/dev/null 2>&1 || exit 77; " + podman + "build -f " +
               (recipe / "Containerfile").string() + " -t greeting:1.0 " + folder.path.string() + " >&2 && " + podman +
               "inspect --type image --format \"{{.Config.Entrypoint}} {{len .RootFS.Layers}}\" greeting:1.0'"});
  if (built.exit_code == 77) GTEST_SKIP() << "no podman that works, or no right to give it a namespace of its own";
  EXPECT_EQ(built.exit_code, 0) << built.text();
  EXPECT_TRUE(built.has_line("[/greeting] 1")) << built.text();
}

TEST(container_dynamic, needs_a_loader_that_is_not_there) {
  const auto result = run("container_dynamic");
  if (result.exit_code == 77) GTEST_SKIP() << result.out.back();
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_THAT(result.text(), testing::HasSubstr("the image has a file"));
}

}  // namespace
