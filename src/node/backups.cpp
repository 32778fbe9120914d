// Copies, their digests, and whose turn it is.
#include "node/backups.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "node/deliver.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"

namespace jobbie::node {
namespace {

/// How long the database may take to have what was acknowledged before.
constexpr std::chrono::milliseconds kBackupCatchUp{30'000};
/// Between two looks at what may keep it from that.
constexpr std::chrono::milliseconds kBackupLook{200};
constexpr std::string_view kBehind = "behind";
constexpr std::size_t kDigestBytes = std::size_t{1} << 20;

/// An open file, and the place that it takes.
struct SentCopy {
  SentCopy(int fd, std::shared_ptr<std::atomic<bool>> place)
      : descriptor(fd), taken(std::move(place)) {}
  ~SentCopy() {
    if (descriptor >= 0) ::close(descriptor);
    taken->store(false);
  }
  SentCopy(const SentCopy&) = delete;
  SentCopy& operator=(const SentCopy&) = delete;
  const int descriptor;
  const std::shared_ptr<std::atomic<bool>> taken;
};

std::unexpected<base::Error> failed(int reason) {
  return std::unexpected(
      base::Error{.code = std::string(store::kDiskError),
                  .message = std::string("Cannot read the copy: ") + std::strerror(reason)});
}

}  // namespace

Backups::Backups(store::Store& store, const std::string& data_dir, base::Journal* journal)
    : store_(store), path_(data_dir + "/backup.tmp"), journal_(journal) {
  ::unlink(path_.c_str());
  thread_ = std::thread([this] { work(); });
}

Backups::~Backups() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    cancelled_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Backups::make(std::unique_ptr<call::Call> call, std::uint64_t after) {
  if (taken_->exchange(true)) {
    call->answer =
        call::BackupAnswer{.outcome = call::BackupAnswer::Outcome::running, .backup = {}};
    return deliver(std::move(call));
  }
  {
    const std::lock_guard lock(mutex_);
    waiting_ = std::move(call);
    after_ = after;
  }
  changed_.notify_all();
}

void Backups::work() {
  while (true) {
    std::unique_ptr<call::Call> call;
    std::uint64_t after = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || waiting_; });
      if (!waiting_) return;
      call = std::move(waiting_);
      after = after_;
      cancelled_ = stopping_.load();
    }
    try {
      answer(*call, after);
    } catch (const std::bad_alloc&) {
      taken_->store(false);
      call->answer = {};
      call->trouble = call::Trouble::out_of_memory;
    }
    deliver(std::move(call));
  }
}

void Backups::answer(call::Call& call, std::uint64_t after) {
  const auto prepared = prepare(call, after);
  if (!prepared) taken_->store(false);
  auto made = prepared ? copy(call) : std::unexpected(prepared.error());
  if (made) {
    call.answer = call::BackupAnswer{.outcome = call::BackupAnswer::Outcome::made,
                                     .backup = *std::move(made)};
    return;
  }
  const auto& code = made.error().code;
  if (code == store::kCopyOutpaced)
    call.answer =
        call::BackupAnswer{.outcome = call::BackupAnswer::Outcome::outpaced, .backup = {}};
  else if (code == store::kDiskFull)
    call.answer = call::BackupAnswer{.outcome = call::BackupAnswer::Outcome::no_room,
                                     .backup = {},
                                     .detail = made.error().message};
  else
    call.trouble = code == store::kCancelled ? call::Trouble::stopping
                   : code == kBehind         ? call::Trouble::behind
                                             : call::Trouble::unreadable;
  if (journal_ != nullptr && code != store::kCancelled)
    journal_->write(
        base::Level::error, "backup_failed",
        {{"code", std::string_view(code)}, {"detail", std::string_view(made.error().message)}});
}

base::Result<void> Backups::prepare(const call::Call& call, std::uint64_t after) {
  const auto give_up = std::chrono::steady_clock::now() + kBackupCatchUp;
  while (true) {
    if (auto room = store_.room_for_copy(path_); !room) return room;
    if (store_.wait_until_written(after, kBackupLook)) return {};
    look_around(call);
    if (cancelled_)
      return std::unexpected(base::Error{.code = std::string(store::kCancelled), .message = {}});
    const auto trouble = store_.trouble();
    if (trouble && trouble->code == store::kDiskFull) return std::unexpected(*trouble);
    if (trouble || std::chrono::steady_clock::now() > give_up)
      return std::unexpected(base::Error{
          .code = std::string(kBehind),
          .message = "The database lacks what was acknowledged before the backup was asked for."});
  }
}

void Backups::look_around(const call::Call& call) {
  if (call.has_hung_up()) cancelled_ = true;
}

base::Result<call::Backup> Backups::copy(const call::Call& call) {
  // Whatever happens, the place is free again when the last who holds the file lets go.
  auto copied =
      store_.copy_to(path_, cancelled_, [&](const store::CopyProgress&) { look_around(call); });
  const int fd = copied ? ::open(path_.c_str(), O_RDONLY | O_CLOEXEC) : -1;
  const int reason = errno;
  ::unlink(path_.c_str());
  const auto held = std::make_shared<const SentCopy>(fd, taken_);
  if (!copied) return std::unexpected(std::move(copied).error());
  if (fd < 0) return failed(reason);
  base::Sha256Stream digest;
  std::vector<char> part(kDigestBytes);
  std::uint64_t read = 0;
  while (read < copied->bytes) {
    look_around(call);
    if (cancelled_)
      return std::unexpected(base::Error{.code = std::string(store::kCancelled), .message = {}});
    const auto count = ::pread(fd, part.data(), part.size(), static_cast<off_t>(read));
    if (count <= 0) return failed(count < 0 ? errno : EIO);
    digest.add({part.data(), static_cast<std::size_t>(count)});
    read += static_cast<std::uint64_t>(count);
  }
  return call::Backup{.descriptor = fd,
                      .bytes = copied->bytes,
                      .applied_index = copied->applied_index,
                      .sha256 = digest.finish(),
                      .owner = held};
}

}  // namespace jobbie::node
