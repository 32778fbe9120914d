// `backup`: the server's database into a file, complete or not at all.
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/digest.hpp"
#include "cli/commands.hpp"
#include "cli/print.hpp"
#include "cli/progress.hpp"

namespace jobbie::cli {
namespace {

/// The server copies all of its database before the first byte comes.
constexpr std::chrono::hours kCopyTime{2};

/// Raised by the signals that end a program, so that the half-written file can be taken away.
const client::Interrupt& ended_by_signal() {
  static const client::Interrupt interrupt;
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_handler = [](int) { interrupt.raise(); };
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
    signal(SIGPIPE, SIG_IGN);
    return true;
  }();
  static_cast<void>(installed);
  return interrupt;
}

struct BackupArguments {
  std::string file;
  bool force = false;
};

/// `jobbie-20260215T100000Z.db`.
std::string default_name() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  const auto length = std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return "jobbie-" + std::string(text, length) + ".db";
}

client::Error file_error(const std::string& what, const std::string& path, int reason) {
  return {.failure = client::Failure::refused,
          .code = reason == ENOSPC ? "disk_full" : "",
          .message = fmt::format("cannot {} {}: {}", what, path, std::strerror(reason))};
}

/// Standard output, or a file that has its name only once it is complete.
class Target {
 public:
  static client::Result<Target> open(const std::string& path) {
    if (path == "-") return Target(path, {}, STDOUT_FILENO);
    // Payloads and the secrets of webhooks are nobody else's business.
    auto part = path + ".part";
    const int fd =
        ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return std::unexpected(file_error("write", part, errno));
    return Target(path, std::move(part), fd);
  }
  Target(Target&& other) noexcept
      : path_(std::move(other.path_)),
        part_(std::exchange(other.part_, {})),
        fd_(std::exchange(other.fd_, -1)) {}
  Target& operator=(Target&&) = delete;
  ~Target() {
    if (part_.empty()) return;
    ::close(fd_);
    ::unlink(part_.c_str());
  }

  client::Result<void> write(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto count = ::write(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR && !ended_by_signal().raised()) continue;
      if (count < 0) return std::unexpected(file_error("write", path_, errno));
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
  }

  /// Everything is there: it gets its name.
  client::Result<void> finish() {
    if (part_.empty()) return {};
    if (::fsync(fd_) != 0) return std::unexpected(file_error("sync", part_, errno));
    if (std::rename(part_.c_str(), path_.c_str()) != 0)
      return std::unexpected(file_error("rename", part_, errno));
    ::close(fd_);
    part_.clear();
    auto folder = std::filesystem::path(path_).parent_path();
    if (folder.empty()) folder = ".";
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = fd >= 0 && ::fsync(fd) == 0;
    const int reason = errno;
    if (fd >= 0) ::close(fd);
    if (!synced) return std::unexpected(file_error("sync", folder.string(), reason));
    return {};
  }

 private:
  Target(std::string path, std::string part, int fd)
      : path_(std::move(path)), part_(std::move(part)), fd_(fd) {}
  std::string path_;
  std::string part_;  ///< empty: nothing to take away
  int fd_;
};

/// What the server says of the file.
struct Said {
  std::uint64_t bytes = 0;
  std::string sha256;
  std::string applied_index;
};

Said said_in(const std::vector<std::pair<std::string, std::string>>& headers) {
  Said said;
  for (const auto& [name, value] : headers) {
    if (name == "content-length")
      std::from_chars(value.data(), value.data() + value.size(), said.bytes);
    if (name == "x-jobbie-sha256") said.sha256 = value;
    if (name == "x-jobbie-applied-index") said.applied_index = value;
  }
  return said;
}

client::Result<Said> receive(Session& session, client::Client& client, Target& target) {
  Said said;
  std::uint64_t taken = 0;
  base::Sha256Stream digest;
  std::unique_ptr<Progress> progress;
  client::Result<void> written;
  client::Request request{.target = "/api/v1/backup", .timeout = kCopyTime};
  request.interrupt = &ended_by_signal();
  const auto done = client.download(
      request, {.on_head =
                    [&](const auto& headers) {
                      said = said_in(headers);
                      progress = std::make_unique<Progress>(
                          session, "KiB", static_cast<std::int64_t>(said.bytes >> 10));
                      return true;
                    },
                .on_part =
                    [&](std::string_view part) {
                      digest.add(part);
                      written = target.write(part);
                      taken += part.size();
                      progress->at(static_cast<std::int64_t>(taken >> 10));
                      return written.has_value();
                    }});
  progress.reset();
  if (!written) return std::unexpected(written.error());
  if (!done) return std::unexpected(done.error());
  if (taken != said.bytes || base::hex(base::bytes_of(digest.finish())) != said.sha256)
    return std::unexpected(client::Error{
        .failure = client::Failure::broken,
        .message = "what came is not what the server sent: the SHA-256 is another one"});
  return said;
}

void report(Session& session, const std::string& path, const Said& said) {
  if (session.json() && path != "-") {
    fmt::print("{{\"file\":{},\"bytes\":{},\"applied_index\":{},\"sha256\":\"{}\"}}\n",
               client::quoted(path), said.bytes, said.applied_index, said.sha256);
  } else if (path == "-") {
    session.note(fmt::format("backup: {} bytes, log index {}, sha256 {}", said.bytes,
                             said.applied_index, said.sha256));
  } else {
    fmt::print("{}: {} bytes, log index {}\n", printable(path),
               count(static_cast<std::int64_t>(said.bytes)), said.applied_index);
  }
}

int backup(Session& session, const BackupArguments& arguments) {
  std::string path = arguments.file.empty() ? default_name() : arguments.file;
  std::error_code ignored;
  if (path == "-") {
    if (session.out_is_terminal())
      return session.usage("a backup is not for a terminal; name a file, or send it into a pipe");
  } else {
    if (std::filesystem::is_directory(path, ignored))
      path = (std::filesystem::path(path) / default_name()).string();
    if (!arguments.force && std::filesystem::exists(path, ignored))
      return session.usage(path + " exists; --force replaces it");
  }
  auto client = session.client();
  if (!client) return session.fail(client.error());
  auto target = Target::open(path);
  if (!target) return session.fail(target.error());
  if (session.note_is_terminal()) session.note("the server copies its database …");
  const auto said = receive(session, **client, *target);
  if (!said) return session.fail(said.error());
  if (auto finished = target->finish(); !finished) return session.fail(finished.error());
  report(session, path, *said);
  return kDone;
}

}  // namespace

void add_backup_commands(Commands& commands) {
  auto arguments = std::make_shared<BackupArguments>();
  CLI::App* c = commands.add(commands.app(), "backup", "Save a copy of the server's database",
                             "  jobbie backup\n"
                             "  jobbie backup /var/backups/jobbie.db --force\n"
                             "  jobbie backup - | zstd > jobbie.db.zst");
  c->add_option("file", arguments->file,
                "Where to; a folder, or - for standard output [jobbie-TIME.db]");
  c->add_flag("--force", arguments->force, "Replace a file that is there");
  commands.on(c, [arguments](Session& session) { return backup(session, *arguments); });
}

}  // namespace jobbie::cli
