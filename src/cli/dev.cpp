// `dev`: a server with something to look at.
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <pthread.h>
#include <spawn.h>
#include <thread>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/wait.h>

#include "cli/commands.hpp"
#include "cli/demo.hpp"

namespace jobbie::cli {
namespace {

constexpr std::chrono::milliseconds kReadyLook{50};
constexpr std::chrono::seconds kReadyWithin{20};

struct DevArguments {
  std::string http = "127.0.0.1:8080";
  std::string data_dir;
};

/// The server as a process of its own: the same binary.
class ServerProcess {
 public:
  ~ServerProcess() { stop(); }

  bool start(const DevArguments& a, const std::string& data_dir) {
    std::array<char, 4096> self{};
    if (readlink("/proc/self/exe", self.data(), self.size() - 1) <= 0) return false;
    std::vector<std::string> words = {self.data(), "server", "--data-dir",  data_dir,
                                      "--http",    a.http,   "--log-level", "warning"};
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    // The demo is for this machine alone.
    unsetenv("JOBBIE_TLS_CERT");
    unsetenv("JOBBIE_TLS_KEY");
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    // A group of its own, so that Ctrl-C reaches it in its turn, after the workers.
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    const int failed =
        posix_spawn(&pid_, self.data(), nullptr, &attributes, pointers.data(), environ);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0) pid_ = 0;
    return failed == 0;
  }

  bool alive() {
    if (pid_ != 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = 0;
    return pid_ != 0;
  }

  void stop() {
    if (pid_ == 0) return;
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

/// A folder that goes with its owner, unless it was given.
struct DataFolder {
  std::string path;
  bool own = false;
  ~DataFolder() {
    std::error_code ignored;
    if (own) std::filesystem::remove_all(path, ignored);
  }
};

bool wait_until_ready(client::Client& client, ServerProcess& server) {
  const auto deadline = std::chrono::steady_clock::now() + kReadyWithin;
  while (server.alive() && std::chrono::steady_clock::now() < deadline) {
    if (client.read("/readyz")) return server.alive();
    std::this_thread::sleep_for(kReadyLook);
  }
  return false;
}

int dev(Session& session, const DevArguments& a) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  DataFolder folder{.path = a.data_dir};
  if (folder.path.empty()) {
    std::string name = (std::filesystem::temp_directory_path() / "jobbie-dev-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      return session.usage("no folder could be made for the data");
    folder = {.path = name, .own = true};
  }
  auto client =
      client::Client::open({.url = "http://" + a.http, .retries = 0, .agent = "jobbie-dev"});
  if (!client) return session.fail(client.error());
  if (client->read("/healthz"))
    return session.usage("something listens at " + a.http +
                         " already; --http chooses another address");
  ServerProcess server;
  if (!server.start(a, folder.path) || !wait_until_ready(*client, server)) {
    session.note("the server did not start");
    return kFailed;
  }
  fmt::print("http://{}\n", a.http);
  std::fflush(stdout);
  session.note(
      fmt::format("A server with a demo workload. In another terminal:\n"
                  "  jobbie top{0}\n  jobbie queues{0}\nCtrl-C ends it{1}.",
                  a.http == "127.0.0.1:8080" ? "" : " --url http://" + a.http,
                  folder.own ? " and deletes its data" : ""));
  {
    const Demo demo(*client);
    int number = 0;
    while (server.alive()) {
      sigwait(&set, &number);
      if (number != SIGCHLD) break;
    }
  }
  if (!server.alive()) {
    session.note("the server ended by itself");
    return kFailed;
  }
  server.stop();
  return kDone;
}

}  // namespace

void add_dev_commands(Commands& commands) {
  auto a = std::make_shared<DevArguments>();
  CLI::App* c = commands.add(commands.app(), "dev", "Start a server with a demo workload",
                             "  jobbie dev\n  jobbie dev --http 127.0.0.1:9000 --data-dir ./demo");
  c->add_option("--http", a->http, "HOST:PORT of the API")->capture_default_str();
  c->add_option("--data-dir", a->data_dir, "Keep the data there (else a folder that is deleted)");
  commands.on(c, [a](Session& session) { return dev(session, *a); });
}

}  // namespace jobbie::cli
