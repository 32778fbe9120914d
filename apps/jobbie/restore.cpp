// A data directory is made beside what is there and put in its place at the end: the log first, the
// database last. A server that finds the one without the other refuses to start.
#include "restore.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <random>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json_writer.hpp"
#include "base/result.hpp"
#include "base/rfc3339.hpp"
#include "cli/session.hpp"
#include "log/disk.hpp"
#include "log/log.hpp"
#include "store/files.hpp"
#include "store/install.hpp"
#include "store/store.hpp"
#include "store/turn_back.hpp"

namespace jobbie::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStage = "restore.tmp";
constexpr std::string_view kAside = "before-restore-";

/// The term of a log that begins anew.
constexpr std::uint64_t kFirstTerm = 1;
/// No log begins before this: the backup of a server that was never used stands at zero.
constexpr std::uint64_t kFirstIndex = 1;

struct Failed {
  int code = cli::kFailed;
  std::string message;
};
template <typename T>
using Outcome = std::expected<T, Failed>;

std::unexpected<Failed> failed(std::string message, int code = cli::kFailed) {
  return std::unexpected(Failed{.code = code, .message = std::move(message)});
}
std::unexpected<Failed> failed(const base::Error& error) { return failed(error.message); }

std::uint64_t draw_id() {
  std::random_device device;
  const std::uint64_t id = ((std::uint64_t{device()} << 32) | device()) >> 1;
  return id == 0 ? 1 : id;
}

std::string timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts)};
}

bool is_ours(const fs::path& name) {
  return name == kStage || name.string().starts_with(kAside) || name == "lost+found";
}

class Restore {
 public:
  explicit Restore(const RestoreOptions& options)
      : options_(options), folder_(options.data_dir), stage_(folder_ / kStage) {}
  ~Restore() {
    std::error_code ignored;
    fs::remove_all(stage_, ignored);
    if (made_folder_) fs::remove(folder_, ignored);
  }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

  Outcome<void> run() {
    if (auto known = look_at_file(); !known) return known;
    if (auto free = look_at_folder(); !free) return free;
    if (auto made = stage(); !made) return made;
    return put_in_place();
  }

  [[nodiscard]] std::uint64_t index() const { return index_; }
  [[nodiscard]] const std::string& aside() const { return aside_; }
  [[nodiscard]] const std::optional<store::TurnedBack>& turned_back() const { return turned_back_; }

 private:
  Outcome<void> look_at_file() {
    std::error_code error;
    if (!fs::exists(options_.file, error))
      return failed(options_.file + " does not exist", cli::kNotFound);
    const auto index = store::applied_index_of(options_.file);
    if (!index)
      return failed(options_.file + " is no backup that can be restored: " + index.error().message);
    index_ = *index;
    return {};
  }

  Outcome<void> look_at_folder() {
    std::error_code error;
    made_folder_ = fs::create_directories(folder_, error);
    if (error) return failed("cannot make " + folder_.string() + ": " + error.message());
    if (fs::exists(folder_ / "log", error)) {
      auto lock = log::posix_disk()->lock((folder_ / "log").string());
      if (!lock && lock.error().code == log::kDirectoryInUse)
        return failed("a server uses " + folder_.string() + "; stop it first", cli::kConflict);
    }
    for (const auto& entry : fs::directory_iterator(folder_, error))
      if (!is_ours(entry.path().filename())) old_.push_back(entry.path().filename());
    if (error) return failed("cannot list " + folder_.string() + ": " + error.message());
    if (old_.empty() || options_.force) return {};
    return failed(folder_.string() + " is not empty; --force puts aside what is there",
                  cli::kConflict);
  }

  /// Everything that a server needs, complete and synced, in a folder of its own.
  Outcome<void> stage() {
    std::error_code error;
    fs::remove_all(stage_, error);
    const auto database = (stage_ / store::kDatabaseName).string();
    if (!fs::create_directories(stage_ / "log", error) ||
        !fs::copy_file(options_.file, database, error))
      return failed("cannot copy to " + stage_.string() + ": " + error.message());
    if (auto sound = check(database); !sound) return sound;
    if (options_.reset_clock)
      if (auto reset = reset_clock(database); !reset) return reset;
    if (auto begun = begin_log(); !begun) return begun;
    if (auto synced = store::sync_file(database); !synced) return failed(synced.error());
    if (auto synced = store::sync_folder_of(database); !synced) return failed(synced.error());
    return {};
  }

  /// A backup of an older release gets today's tables, and then every table is compared.
  Outcome<void> check(const std::string& database) {
    auto opened = store::Store::open({.path = database});
    auto closed = opened ? (*opened)->close()
                         : base::Result<void>(std::unexpected(std::move(opened).error()));
    if (!closed) return failed(closed.error());
    const auto findings = store::check_database(database);
    if (!findings) return failed(findings.error());
    if (findings->empty()) return {};
    std::string message = options_.file + " is damaged; nothing was restored:";
    for (const auto& finding : *findings) message += "\n  " + finding;
    return failed(std::move(message));
  }

  /// The log begins anew, so its time may be an earlier one.
  Outcome<void> reset_clock(const std::string& database) {
    auto turned = store::turn_back(database, {std::int64_t{std::time(nullptr)} * 1000});
    if (!turned) return failed(turned.error());
    turned_back_ = *turned;
    return turned_back_ ? check(database) : Outcome<void>{};
  }

  Outcome<void> begin_log() {
    const auto disk = log::posix_disk();
    const auto node_id = draw_id();
    const log::Configuration alone{
        .cluster_id = draw_id(),
        .members = {
            {.id = node_id, .name = options_.node, .address = {}, .http = {}, .voter = true}}};
    const auto begun = log::Log::begin_at(
        *disk,
        {.directory = (stage_ / "log").string(),
         .node_id = node_id,
         .founders = {},
         .seed = draw_id()},
        {.index = std::max<std::uint64_t>(index_, kFirstIndex), .term = kFirstTerm}, alone);
    if (!begun) return failed(begun.error());
    return {};
  }

  Outcome<void> put_in_place() {
    if (!old_.empty()) {
      aside_ = (folder_ / (std::string(kAside) + timestamp())).string();
      std::error_code error;
      fs::create_directory(aside_, error);
      if (error) return failed("cannot make " + aside_ + ": " + error.message());
      // The database first: without it, no server starts from what is left.
      for (const auto& name : old_)
        if (name.string().starts_with(store::kDatabaseName))
          if (auto moved = move(folder_ / name, fs::path(aside_) / name); !moved) return moved;
      for (const auto& name : old_)
        if (!name.string().starts_with(store::kDatabaseName))
          if (auto moved = move(folder_ / name, fs::path(aside_) / name); !moved) return moved;
    }
    if (auto moved = move(stage_ / "log", folder_ / "log"); !moved) return moved;
    if (auto moved = move(stage_ / store::kDatabaseName, folder_ / store::kDatabaseName); !moved)
      return moved;
    made_folder_ = false;
    return {};
  }

  static Outcome<void> move(const fs::path& from, const fs::path& to) {
    if (auto moved = store::rename_file(from.string(), to.string()); !moved)
      return failed(moved.error());
    if (auto synced = store::sync_folder_of(to.string()); !synced) return failed(synced.error());
    return {};
  }

  const RestoreOptions& options_;
  const fs::path folder_;
  const fs::path stage_;
  std::uint64_t index_ = 0;
  std::vector<fs::path> old_;
  std::string aside_;
  std::optional<store::TurnedBack> turned_back_;
  bool made_folder_ = false;
};

}  // namespace

void declare_restore(CLI::App& command, RestoreOptions& options) {
  command.add_option("file", options.file, "A file that `jobbie backup` wrote")->required();
  command.add_option("--data-dir", options.data_dir, "Where to")->capture_default_str();
  command.add_option("--node", options.node,
                     "Name of the node in its log; the server there is to have the same --node");
  command.add_flag("--force", options.force, "Put aside what is in the directory");
  command.add_flag("--reset-clock", options.reset_clock,
                   "Turn the log's time back to this machine's clock, if it is ahead");
  command.add_option("-o,--output", options.output, "table, json or ndjson")
      ->check(CLI::IsMember({"table", "json", "ndjson"}));
  command.footer(
      "Examples:\n"
      "  jobbie restore jobbie-20260215T100000Z.db --data-dir ./data\n"
      "  jobbie restore backup.db --data-dir /var/lib/jobbie --force");
}

int restore(const RestoreOptions& options) {
  Restore restore(options);
  const auto done = restore.run();
  if (!done) {
    fmt::print(stderr, "jobbie: {}\n", done.error().message);
    if (!restore.aside().empty()) fmt::print(stderr, "What was there is in {}.\n", restore.aside());
    return done.error().code;
  }
  if (options.output != "table") {
    std::string out;
    base::json::Writer json(out);
    json.begin_object();
    json.member("data_dir").string(options.data_dir);
    json.member("applied_index").number(restore.index());
    json.member("moved_to");
    restore.aside().empty() ? static_cast<void>(json.null())
                            : static_cast<void>(json.string(restore.aside()));
    json.member("time_before");
    restore.turned_back() ? static_cast<void>(json.instant(restore.turned_back()->from))
                          : static_cast<void>(json.null());
    json.end_object();
    fmt::print("{}\n", out);
    return cli::kDone;
  }
  fmt::print("restored {} to {}, log index {}\n", options.file, options.data_dir, restore.index());
  if (restore.turned_back())
    fmt::print("the log's time was {} and is {} now\n",
               base::format_rfc3339(restore.turned_back()->from),
               base::format_rfc3339(restore.turned_back()->to));
  if (!restore.aside().empty()) fmt::print("What was there is in {}.\n", restore.aside());
  fmt::print("Start it with: jobbie server --data-dir {}{}\n", options.data_dir,
             options.node.empty() ? "" : " --node " + options.node);
  return cli::kDone;
}

}  // namespace jobbie::app
