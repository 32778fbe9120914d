// Files of the log that were removed or replaced while they are open: what is in them is written
// anew under their names, so that the next start finds what was acknowledged.
#include <algorithm>
#include <utility>

#include "base/write_out.hpp"
#include "log/wal.hpp"

namespace jobbie::log {
namespace {

base::Result<void> copy_content(File& from, File& to, std::uint64_t bytes) {
  if (auto reserved = to.reserve(bytes); !reserved) return reserved;
  std::string piece(std::min<std::uint64_t>(bytes, base::kWriteOutBytes), '\0');
  for (std::uint64_t at = 0; at < bytes; at += piece.size()) {
    const auto got = from.read_at(at, piece);
    if (!got) return std::unexpected(got.error());
    if (auto written = to.write_at(at, std::string_view(piece).substr(0, *got)); !written)
      return written;
  }
  return to.sync();
}

}  // namespace

base::Result<bool> Wal::keep_files() {
  if (failure_) return std::unexpected(*failure_);
  bool missed = false;
  if (!lock_->stands_at(options_.directory)) {
    missed = true;
    if (auto made = disk_.make_directory(options_.directory); !made)
      return std::unexpected(made.error());
    auto lock = disk_.lock(options_.directory);
    if (!lock) return std::unexpected(lock.error());
    lock_ = std::move(*lock);
    spares_.clear();
  }
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    auto& segment = segments_[i];
    const bool was_open = segment.file != nullptr;
    // One that is gone and that nobody has open cannot be brought back.
    const auto file = file_of(segment);
    if (!file) return std::unexpected(file.error());
    const bool stands = (*file)->stands_at(path_of(segment));
    if (!was_open) close_if_old(i);
    if (stands) continue;
    missed = true;
    if (auto written = write_anew(segment); !written) return std::unexpected(written.error());
  }
  if (!preparer_->done() || !preparer_->wait()->has_value()) return missed;
  const auto& next = **preparer_->wait();
  if (next.file->stands_at(
          segment_path(options_.directory, {next.header.sequence, SegmentKind::active})))
    return missed;
  static_cast<void>(preparer_->take());  // nothing is in it yet
  request_next();
  return true;
}

base::Result<void> Wal::write_anew(Segment& segment) {
  const SegmentName unfinished{segment.header.sequence, SegmentKind::unfinished};
  const auto path = segment_path(options_.directory, unfinished);
  auto file = disk_.open(path, OpenMode::create);
  if (!file) return std::unexpected(file.error());
  if (auto copied = copy_content(*segment.file, **file, segment.header.segment_bytes); !copied) {
    // Gives the space back; should that fail too, the next start does it.
    static_cast<void>(disk_.remove(path).has_value());
    return copied;
  }
  if (auto renamed = disk_.rename(path, path_of(segment)); !renamed) return renamed;
  if (auto synced = disk_.sync_directory(options_.directory); !synced) return synced;
  reading_.reset();  // it reads from the file of before
  segment.file = std::move(*file);
  return {};
}

}  // namespace jobbie::log
