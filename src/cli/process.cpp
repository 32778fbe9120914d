// posix_spawn, three pipes and poll.
#include "cli/process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>

#include <sys/syscall.h>
#include <sys/wait.h>

#include "cli/times.hpp"

namespace jobbie::cli {
namespace {

constexpr int kTickMs = 100;

/// A descriptor with an owner.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct Pipe {
  Descriptor read, write;
  bool open() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read.reset(ends[0]);
    write.reset(ends[1]);
    return true;
  }
};

/// The parent's own ends do not block: whichever is ready is served.
void unblock(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

std::vector<std::string> environment_of(const Launch& launch) {
  std::vector<std::string> out;
  for (const auto& [name, value] : launch.environment) out.push_back(name + "=" + value);
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry(*each);
    bool replaced = false;
    for (const auto& [name, value] : launch.environment)
      replaced = replaced || entry.starts_with(name + "=");
    if (!replaced) out.emplace_back(entry);
  }
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// The error number, 0 if it runs.
int spawn(const Launch& launch, const Pipe& in, const Pipe& out, const Pipe& err, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t usual;
  sigemptyset(&usual);
  for (const int number : {SIGTERM, SIGINT, SIGPIPE, SIGHUP}) sigaddset(&usual, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  auto words = launch.words;
  auto variables = environment_of(launch);
  const int failed = posix_spawnp(&pid, words[0].c_str(), &actions, &attributes,
                                  pointers(words).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

/// Reads what is there; false at the end.
bool drain(Descriptor& fd, bool error, const Launch& launch) {
  std::array<char, 16'384> piece;
  while (true) {
    const auto got = read(fd.get(), piece.data(), piece.size());
    if (got > 0) {
      launch.on_output({piece.data(), static_cast<std::size_t>(got)}, error);
    } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      return true;
    } else {
      fd.reset();
      return false;
    }
  }
}

void feed(Descriptor& fd, std::string_view& left) {
  while (!left.empty()) {
    const auto sent = write(fd.get(), left.data(), left.size());
    if (sent > 0) {
      left.remove_prefix(static_cast<std::size_t>(sent));
    } else if (sent < 0 && errno == EINTR) {
      continue;
    } else if (sent < 0 && errno == EAGAIN) {
      return;
    } else {
      break;  // it does not want its input
    }
  }
  fd.reset();
}

bool has_ended(pid_t pid, Ending& ending) {
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return false;
  if (WIFEXITED(status)) ending.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  return true;
}

}  // namespace

bool can_run(const std::string& program) {
  if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
  while (true) {
    const auto colon = rest.find(':');
    const std::string file = std::string(rest.substr(0, colon)) + "/" + program;
    if (access(file.c_str(), X_OK) == 0) return true;
    if (colon == std::string_view::npos) return false;
    rest.remove_prefix(colon + 1);
  }
}

client::Result<Ending> run_process(const Launch& launch) {
  Pipe in, out, err;
  pid_t pid = 0;
  int failed = in.open() && out.open() && err.open() ? 0 : errno;
  if (failed == 0) failed = spawn(launch, in, out, err, pid);
  if (failed != 0)
    return std::unexpected(
        bad_argument("cannot run " + launch.words[0] + ": " + std::strerror(failed)));
  in.read.reset();
  out.write.reset();
  err.write.reset();
  for (const int fd : {in.write.get(), out.read.get(), err.read.get()}) unblock(fd);
  // Becomes readable when the process has ended; without it the tick notices.
  const Descriptor handle(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  std::string_view left = launch.input;
  Ending ending;
  Push pushed = Push::none;
  bool over = false;
  while (!over) {
    std::array<pollfd, 4> wait{{{.fd = out.read.get(), .events = POLLIN, .revents = 0},
                                {.fd = err.read.get(), .events = POLLIN, .revents = 0},
                                {.fd = in.write.get(), .events = POLLOUT, .revents = 0},
                                {.fd = handle.get(), .events = POLLIN, .revents = 0}}};
    poll(wait.data(), wait.size(), kTickMs);
    over = has_ended(pid, ending);
    if (in.write.get() >= 0) feed(in.write, left);
    if (out.read.get() >= 0) drain(out.read, false, launch);
    if (err.read.get() >= 0) drain(err.read, true, launch);
    const Push push = over ? Push::none : launch.on_tick();
    if (push > pushed) {
      kill(-pid, push == Push::kill ? SIGKILL : SIGTERM);
      pushed = push;
    }
  }
  // What it started and left behind goes the same way when it was made to end.
  if (pushed != Push::none) kill(-pid, SIGKILL);
  return ending;
}

}  // namespace jobbie::cli
