// fork, exec, three pipes and poll.
#include "cli/process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/stat.h>
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

bool is_program(const std::string& file) {
  struct stat about {};
  return stat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
         access(file.c_str(), X_OK) == 0;
}

/// Where `program` is, as PATH says; empty if nowhere.
std::string path_of(const std::string& program) {
  if (program.find('/') != std::string::npos) return is_program(program) ? program : "";
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
  while (true) {
    const auto colon = rest.find(':');
    const auto folder = rest.substr(0, colon);
    const std::string file = std::string(folder.empty() ? "." : folder) + "/" + program;
    if (is_program(file)) return file;
    if (colon == std::string_view::npos) return {};
    rest.remove_prefix(colon + 1);
  }
}

/// What the child does between fork and exec: system calls alone, for other threads may have held
/// any lock. `report` gets the error number if the program cannot be run.
[[noreturn]] void become(const char* path, const std::array<int, 3>& standard, char* const* words,
                         char* const* variables, pid_t parent, int report) {
  for (int fd = 0; fd < 3; ++fd) {
    const int given = standard[static_cast<std::size_t>(fd)];
    if (given == fd) fcntl(fd, F_SETFD, 0);
    if (given != fd) dup2(given, fd);
  }
  setpgid(0, 0);
  // A worker that is killed takes the command along: its job is given to another one. The worker
  // may have been killed before this was said.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  for (const int number : {SIGTERM, SIGINT, SIGPIPE, SIGHUP}) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  execve(path, words, variables);
  const int failed = errno;
  [[maybe_unused]] const auto told = write(report, &failed, sizeof failed);
  _exit(127);
}

/// The error number, 0 if it runs. The thread that calls this must outlive the process: the
/// system takes the end of the one for that of the worker.
int spawn(const Launch& launch, const Pipe& in, const Pipe& out, const Pipe& err, pid_t& pid) {
  const std::string path = path_of(launch.words[0]);
  if (path.empty()) return ENOENT;
  Pipe report;
  if (!report.open()) return errno;
  auto words = launch.words;
  auto variables = environment_of(launch);
  const auto word_pointers = pointers(words);
  const auto variable_pointers = pointers(variables);
  const pid_t self = getpid();
  // Handlers of signals are not for the child, which has them until it runs the program.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid = fork();
  if (pid == 0)
    become(path.c_str(), {in.read.get(), out.write.get(), err.write.get()}, word_pointers.data(),
           variable_pointers.data(), self, report.write.get());
  const int no_fork = pid < 0 ? errno : 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (no_fork != 0) return no_fork;
  report.write.reset();
  int failed = 0;
  ssize_t got = 0;
  do {
    got = read(report.read.get(), &failed, sizeof failed);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return 0;
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
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

bool can_run(const std::string& program) { return !path_of(program).empty(); }

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
