// Room on the disk, and files that are gone from it.
//
// The log accepts nothing that the database might have no room for: what was acknowledged can be
// written, so searches find it, also on a full disk. And it accepts nothing while the next start
// would not find it.
#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "node/driver.hpp"
#include "store/files.hpp"
#include "store/install.hpp"
#include "store/sqlite.hpp"

namespace jobbie::node {
namespace {

/// Until the next try to save a database whose files are gone.
constexpr std::int64_t kSaveAgainUs = 5'000'000;
/// With less than this to spare, the disk is looked at in every turn.
constexpr std::uint64_t kLittleToSpare = std::uint64_t{256} << 20;
/// So much more than was refused must fit before that is taken again.
constexpr std::uint64_t kClearlyMore = std::uint64_t{4} << 20;
/// The share of a segment that is kept for work that adds nothing, where no other segment follows.
constexpr std::size_t kShareOfTheRest = 8;
/// More than any database has: no bound on the pages that rows may touch, and nothing to be copied.
constexpr store::FileSpace kAnyFile{
    .file_bytes = std::uint64_t{1} << 60, .pages = std::uint64_t{1} << 40, .wal_bytes = 0};

bool adds_content(const command::Command& command) {
  return std::holds_alternative<command::Enqueue>(command) ||
         std::holds_alternative<command::EnqueueMany>(command) ||
         std::holds_alternative<command::CreateSchedule>(command) ||
         std::holds_alternative<command::UpdateSchedule>(command) ||
         std::holds_alternative<command::AppendLogs>(command) ||
         std::holds_alternative<command::CreateKey>(command) ||
         std::holds_alternative<command::PutWebhook>(command);
}

std::string saving_file(const std::string& data_dir) { return data_dir + "/saving.db"; }
std::string saved_file(const std::string& data_dir) { return data_dir + "/saved.db"; }
std::string database_file(const std::string& data_dir) {
  return data_dir + "/" + std::string(store::kDatabaseName);
}

}  // namespace

Driver::Load Driver::load_of(const call::Call& call, std::size_t bytes) {
  Load load{.added = {.rows = call.commands.size(), .bytes = bytes}, .grows = false};
  for (const auto& command : call.commands) {
    load.grows = load.grows || adds_content(command);
    if (const auto* many = std::get_if<command::EnqueueMany>(&command))
      load.added.rows += many->jobs.size();
  }
  return load;
}

bool Driver::disk_is_full(const Load& load) {
  const auto bytes = load.added.bytes;
  if (store_is_stuck_) return true;
  if (load.grows && (store_is_full_ || bytes >= refused_bytes_)) return true;
  const auto leave = load.grows ? options_.segment_bytes / kShareOfTheRest : 0;
  if (!log_->has_room(bytes + options_.bounds.entry_bytes, leave)) return true;
  const bool fits = has_space(load);
  if (!fits && load.grows) refused_bytes_ = bytes;
  return !fits;
}

/// Far from the end of the disk an upper bound is enough, and it is looked at twice a second.
bool Driver::has_space(const Load& load) {
  if (to_spare_ > store::space_needed(kAnyFile, {}, load.added)) return true;
  if (looked_us_ != now_us_) look_at_disk();
  const auto left_by = load.grows ? kReserveBytes + kLeftByGrowth : kLeftByTheRest;
  return room_->left() >= space_needed(load.added) + left_by;
}

/// So that calls of the same half second do not count on the same space.
void Driver::take_space(const Load& load) {
  to_spare_ -= std::min(to_spare_, store::space_needed(kAnyFile, {}, load.added));
}

std::uint64_t Driver::space_needed(const store::Unwritten& added) const {
  const auto lag = store_->lag();
  return store::space_needed(
      files_, {.rows = lag.rows + unhanded_rows_, .bytes = lag.bytes + unhanded_bytes_}, added);
}

void Driver::look_at_disk() {
  looked_us_ = now_us_;
  room_->look();
  files_ = store_->file_space();
  const auto kept = space_needed({}) + kReserveBytes + kLeftByGrowth;
  to_spare_ = room_->left() > kept ? room_->left() - kept : 0;
}

/// A node that follows is not asked before its leader's entries come.
void Driver::hold_back() {
  if (to_spare_ < kLittleToSpare && looked_us_ != now_us_) look_at_disk();
  const bool empty = to_spare_ < kLittleToSpare && !has_space({});
  log_->hold_back(is_unsafe() || empty);
}

/// The disk is called full when the largest request would be refused. What was refused once is
/// refused until there is clearly more: what waits to be written needs less than was reckoned.
void Driver::note_room() {
  const auto trouble = store_->trouble();
  store_is_full_ = trouble && trouble->code == store::kDiskFull;
  look_at_disk();
  keep_reserve();
  if (refused_bytes_ != kNothingRefused &&
      has_space({.added = {.rows = 1, .bytes = refused_bytes_ + kClearlyMore}, .grows = true}))
    refused_bytes_ = kNothingRefused;
  const auto most = std::min(options_.bounds.request_bytes, log_->largest_entry());
  const auto in_log = std::min(most + options_.bounds.entry_bytes, log_->largest_entry());
  const bool full = std::exchange(refused_for_room_, false) || store_is_stuck_ || store_is_full_ ||
                    refused_bytes_ != kNothingRefused ||
                    !log_->expects_room(in_log, options_.segment_bytes / kShareOfTheRest) ||
                    !has_space({.added = {.rows = 1, .bytes = most}, .grows = true});
  if (full && store_->durable_index() < store_->written_index()) store_->request_checkpoint();
  if (full != was_full_ && options_.journal != nullptr)
    options_.journal->write(full ? base::Level::error : base::Level::info,
                            full ? "disk_full" : "disk_has_room",
                            {{"data_dir", std::string_view(options_.data_dir)},
                             {"free_bytes", room_->free()},
                             {"reserve_bytes", room_->left() - room_->free()}});
  was_full_ = full;
}

void Driver::keep_reserve() {
  const auto needed = space_needed({});
  bool changed = false;
  if (room_->free() < needed + kLeftByTheRest || store_is_full_)
    changed = room_->release();
  else
    changed = room_->restore(needed + kLeftByGrowth);
  if (changed) look_at_disk();
}

void Driver::report(base::Level level, std::string_view event, std::string_view code,
                    std::string_view message) {
  if (options_.journal == nullptr) return;
  options_.journal->write(
      level, event,
      {{"code", code}, {"message", message}, {"data_dir", std::string_view(options_.data_dir)}});
}

/// Nothing is acknowledged before the files are there again.
void Driver::keep_files() {
  const auto kept = log_->keep_files();
  if (kept && *kept)
    report(base::Level::error, "log_files_restored", "log_files_gone",
           "Files of the log were removed or replaced while the server runs. They have been "
           "written anew, and nothing is lost. Whatever did that must stop.");
  if (!kept && !log_lost_)
    report(base::Level::error, "log_files_gone", kept.error().code,
           "Files of the log were removed or replaced, and cannot be written anew: " +
               kept.error().message +
               ". Nothing is acknowledged until they are. Do not end the process: it has the "
               "files open. Mend the directory or the disk; it tries again.");
  log_lost_ = !kept;
  keep_database();
  hold_back();
}

void Driver::keep_database() {
  if (reopens_) return;
  if (store_->files_in_place()) {
    reopens_ = database_lost_;  // somebody has put them back
    return;
  }
  if (!std::exchange(database_lost_, true))
    report(base::Level::error, "database_files_gone", store::kDatabaseGone,
           "The files of the database were removed or replaced while the server runs. Nothing is "
           "acknowledged until what is open has been saved under its name.");
  if (now_us_ < next_save_us_) return;
  next_save_us_ = now_us_ + kSaveAgainUs;
  hand_over();
  room_->release();  // made again when there is space
  const auto path = saved_file(options_.data_dir);
  auto saved = store_->save(saving_file(options_.data_dir));
  if (saved) saved = store::rename_file(saving_file(options_.data_dir), path);
  if (saved) saved = store::sync_folder_of(path);
  reopens_ = saved.has_value();
  if (!saved)
    report(base::Level::error, "database_not_saved", saved.error().code,
           saved.error().message +
               " The database is open in this process alone: do not end it. Make space, or mend "
               "the directory; it tries again every five seconds.");
}

base::Result<void> Driver::put_back() {
  give_everything_back();
  snapshots_.reset();
  if (auto moved = store_->put_others_aside(); !moved) return moved;
  store_.reset();
  const auto saved = saved_file(options_.data_dir);
  if (store::file_exists(saved))
    if (auto installed = store::install(saved, options_.data_dir); !installed) return installed;
  report(base::Level::error, "database_saved", store::kDatabaseGone,
         "The database is under its name again, and nothing is lost. A file that stood there is "
         "jobbie.db.replaced. Whatever did that must stop.");
  return log_->close();
}

/// A process that saved its database and ended before it was in place.
base::Result<void> Driver::finish_saving() {
  std::error_code ignored;
  std::filesystem::remove(saving_file(options_.data_dir), ignored);
  const auto saved = saved_file(options_.data_dir);
  if (!std::filesystem::exists(saved, ignored)) return {};
  const auto own = store::applied_index_of(database_file(options_.data_dir));
  const auto its = store::applied_index_of(saved);
  if (its && *its + 1 >= log_->first_index() && (!own || *own <= *its))
    return store::install(saved, options_.data_dir);
  std::filesystem::remove(saved, ignored);
  return {};
}

}  // namespace jobbie::node
