// Names and preparation of segment files.
#include "log/segment.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/write_out.hpp"

namespace jobbie::log {
namespace {

constexpr std::size_t kSequenceDigits = 16;

std::string_view suffix(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::active:
      return ".wal";
    case SegmentKind::spare:
      return ".spare";
    case SegmentKind::unfinished:
      break;
  }
  return ".new";
}

/// A little at a time, for the log is written to meanwhile, and its writes must not wait long.
base::Result<void> fill_with_zeros(File& file, std::uint64_t bytes) {
  if (auto reserved = file.reserve(bytes); !reserved) return reserved;
  const std::string zeros(std::min<std::uint64_t>(bytes, base::kWriteOutBytes), '\0');
  for (std::uint64_t at = 0; at < bytes; at += zeros.size()) {
    const auto piece = std::string_view(zeros).substr(
        0, static_cast<std::size_t>(std::min<std::uint64_t>(zeros.size(), bytes - at)));
    if (auto written = file.write_at(at, piece); !written) return written;
    if (auto out = file.write_out(at, piece.size()); !out) return out;
  }
  return {};
}

/// The last steps: the header, durable, then the name, durable.
base::Result<PreparedSegment> finish_segment(Disk& disk, const std::string& directory,
                                             const SegmentHeader& header, const std::string& path,
                                             std::unique_ptr<File> file) {
  if (auto written = file->write_at(0, encode_segment_header(header)); !written)
    return std::unexpected(written.error());
  if (auto synced = file->sync(); !synced) return std::unexpected(synced.error());
  const auto name = segment_path(directory, {header.sequence, SegmentKind::active});
  if (auto renamed = disk.rename(path, name); !renamed) return std::unexpected(renamed.error());
  if (auto synced = disk.sync_directory(directory); !synced) return std::unexpected(synced.error());
  return PreparedSegment{header, std::move(file)};
}

/// Nothing if the spare does not fit.
base::Result<std::unique_ptr<File>> open_spare(Disk& disk, const std::string& directory,
                                               const std::string& path, std::uint64_t bytes) {
  // The file must be known as a spare before its old header goes, or a crash could leave a segment
  // of the log whose header is not its own.
  if (auto synced = disk.sync_directory(directory); !synced) return std::unexpected(synced.error());
  auto file = disk.open(path, OpenMode::existing);
  if (!file && file.error().code == kNoSuchFile) return std::unique_ptr<File>{};
  if (!file) return file;
  const auto size = (*file)->size();
  if (!size) return std::unexpected(size.error());
  if (*size == bytes) return file;
  if (auto removed = disk.remove(path); !removed) return std::unexpected(removed.error());
  return std::unique_ptr<File>{};
}

}  // namespace

std::string segment_path(const std::string& directory, const SegmentName& name) {
  return fmt::format("{}/{:016x}{}", directory, name.sequence, suffix(name.kind));
}

std::optional<SegmentName> parse_segment_name(std::string_view name) {
  if (name.size() < kSequenceDigits) return std::nullopt;
  SegmentName parsed;
  const auto digits = name.substr(0, kSequenceDigits);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), parsed.sequence, 16);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  for (const auto kind : {SegmentKind::active, SegmentKind::spare, SegmentKind::unfinished}) {
    parsed.kind = kind;
    if (name.substr(kSequenceDigits) == suffix(kind)) return parsed;
  }
  return std::nullopt;
}

base::Result<PreparedSegment> prepare_segment(Disk& disk, const std::string& directory,
                                              const PrepareRequest& request) {
  const auto& header = request.header;
  if (request.spare) {
    const auto path = segment_path(directory, {*request.spare, SegmentKind::spare});
    auto file = open_spare(disk, directory, path, header.segment_bytes);
    if (!file) return std::unexpected(file.error());
    if (*file) return finish_segment(disk, directory, header, path, std::move(*file));
  }
  if (disk.free_bytes(directory) < header.segment_bytes + request.leave_free)
    return std::unexpected(
        base::Error{std::string(kDiskFull), "the disk has no space for a segment of the log"});
  const auto path = segment_path(directory, {header.sequence, SegmentKind::unfinished});
  auto file = disk.open(path, OpenMode::create);
  if (!file) return std::unexpected(file.error());
  auto filled = fill_with_zeros(**file, header.segment_bytes);
  if (filled) {
    auto prepared = finish_segment(disk, directory, header, path, std::move(*file));
    if (prepared) return prepared;
    filled = std::unexpected(prepared.error());
  }
  // Gives the space back. If that fails too, the first failure is the one to tell of, and the next
  // start removes the file.
  if (auto removed = disk.remove(path); !removed) return std::unexpected(filled.error());
  return std::unexpected(filled.error());
}

Preparer::Preparer(Disk& disk, std::string directory, Mode mode)
    : disk_(disk), directory_(std::move(directory)) {
  if (mode == Mode::thread) thread_ = std::thread([this] { run(); });
}

Preparer::~Preparer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Preparer::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || (wanted_ && !result_); });
    if (stopping_) return;
    const auto request = *wanted_;
    lock.unlock();
    auto result = prepare_segment(disk_, directory_, request);
    lock.lock();
    result_.emplace(std::move(result));
    changed_.notify_all();
  }
}

void Preparer::request(const PrepareRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    JOBBIE_CHECK(!wanted_ && !result_);
    wanted_ = request;
    if (!thread_.joinable()) result_.emplace(prepare_segment(disk_, directory_, request));
  }
  changed_.notify_all();
}

void Preparer::offer(PreparedSegment segment) {
  const std::lock_guard lock(mutex_);
  JOBBIE_CHECK(!wanted_ && !result_);
  wanted_ = PrepareRequest{.header = segment.header, .spare = std::nullopt};
  result_.emplace(std::move(segment));
}

bool Preparer::idle() const {
  const std::lock_guard lock(mutex_);
  return !wanted_;
}

bool Preparer::done() const {
  const std::lock_guard lock(mutex_);
  return result_.has_value();
}

const base::Result<PreparedSegment>* Preparer::wait() const {
  std::unique_lock lock(mutex_);
  if (!wanted_) return nullptr;
  changed_.wait(lock, [this] { return result_.has_value(); });
  return &*result_;
}

base::Result<PreparedSegment> Preparer::take() {
  const std::lock_guard lock(mutex_);
  JOBBIE_CHECK(result_.has_value());
  auto result = std::move(*result_);
  result_.reset();
  wanted_.reset();
  return result;
}

}  // namespace jobbie::log
