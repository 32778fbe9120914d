// Recovery, in the order in which it happens.
#include "log/wal_recovery.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "consensus/message.hpp"

namespace jobbie::log {

base::Error damaged(const std::string& path, std::uint64_t offset) {
  return {
      "corrupt_log",
      fmt::format("The log is damaged: {} at byte {}. Records after it are sound, so this is no "
                  "interrupted write, and starting would lose acknowledged work. Restore the "
                  "data directory from a backup, or, in a cluster, wipe this node and let it "
                  "join again under a new id.",
                  path, offset),
      static_cast<std::size_t>(offset)};
}

base::Result<void> WalRecovery::run() {
  if (auto looked = look_around(); !looked) return looked;
  for (const auto sequence : active_)
    if (auto opened = open_segment(sequence); !opened) return opened;
  if (auto walked = walk(); !walked) return walked;
  if (!wal_.fresh_)
    if (auto rewritten = rewrite_last_record(); !rewritten) return rewritten;
  return clean_up();
}

base::Result<void> WalRecovery::look_around() {
  const auto names = wal_.disk_.list(wal_.options_.directory);
  if (!names) return std::unexpected(names.error());
  for (const auto& text : *names) {
    const auto name = parse_segment_name(text);
    if (!name) continue;
    if (name->kind != SegmentKind::active) {
      other_.push_back(*name);
      continue;
    }
    // Names sort by sequence. Old segments go one by one, so behind a gap there is only what a
    // crash kept from going.
    if (!active_.empty() && name->sequence != active_.back() + 1) {
      left_over_.insert(left_over_.end(), active_.begin(), active_.end());
      active_.clear();
    }
    active_.push_back(name->sequence);
  }
  return {};
}

base::Result<void> WalRecovery::open_segment(std::uint64_t sequence) {
  const auto path = segment_path(wal_.options_.directory, {sequence, SegmentKind::active});
  auto file = wal_.disk_.open(path, OpenMode::existing);
  if (!file) return std::unexpected(file.error());
  std::string bytes(kSegmentHeaderBytes, '\0');
  const auto got = (*file)->read_at(0, bytes);
  if (!got) return std::unexpected(got.error());
  bytes.resize(*got);
  auto header = decode_segment_header(bytes);
  if (!header) {
    auto error = header.error();
    error.message =
        fmt::format("{}: {}. Restore the data directory from a backup.", path, error.message);
    return std::unexpected(error);
  }
  const auto size = (*file)->size();
  if (!size) return std::unexpected(size.error());
  if (header->sequence != sequence || *size != header->segment_bytes)
    return std::unexpected(damaged(path, *size));
  if (found_.empty()) wal_.node_id_ = header->node_id;
  if (header->node_id != wal_.node_id_)
    return std::unexpected(
        base::Error{"wrong_node", fmt::format("{} belongs to node {}, and the log to node {}", path,
                                              header->node_id, wal_.node_id_)});
  found_.push_back({.header = *header, .file = nullptr});
  return {};
}

base::Result<void> WalRecovery::walk() {
  std::size_t used = 0;
  while (used < found_.size()) {
    const auto continued = walk_segment(found_[used]);
    if (!continued) return std::unexpected(continued.error());
    found_[used].file.reset();
    if (!*continued) break;
    ++used;
  }
  wal_.fresh_ = used == 0;
  if (found_.empty()) return {};
  if (used == 0 && found_.front().header.sequence != 1)
    return std::unexpected(damaged(wal_.path_of(found_.front()), kSegmentHeaderBytes));
  if (auto alone = check_nothing_follows(used == 0 ? 0 : used - 1); !alone) return alone;
  for (std::size_t i = 0; i < used; ++i) wal_.segments_.push_back(std::move(found_[i]));
  if (used > 0)
    if (const auto last = wal_.file_of(wal_.segments_.back()); !last)
      return std::unexpected(last.error());
  // A first segment without a record is a new log that did not come to be, perhaps of another node:
  // it is begun from the start. One without a record behind others was made ready ahead.
  for (auto i = used; i < found_.size(); ++i) {
    if (i == used && used > 0 && found_[i].header.version == kSegmentVersion) {
      if (const auto file = wal_.file_of(found_[i]); !file) return std::unexpected(file.error());
      next_segment_ = PreparedSegment{found_[i].header, std::move(found_[i].file)};
    } else {
      left_over_.push_back(found_[i].header.sequence);
    }
  }
  wal_.next_number_ = expected_.value_or(1);
  return {};
}

base::Result<bool> WalRecovery::walk_segment(Wal::Segment& segment) {
  const auto verify = wal_.options_.test.accept_torn ? Verify::header_only : Verify::everything;
  const auto file = wal_.file_of(segment);
  if (!file) return std::unexpected(file.error());
  SegmentReader reader(**file, segment.header, verify);
  bool any = false;
  while (true) {
    const auto record = reader.read(segment.end);
    if (!record) return std::unexpected(record.error());
    if (!*record || (expected_ && (*record)->number != *expected_)) return any;
    const bool may_have_state = !any || segment.header.version != kFirstSegmentVersion;
    const bool has_state = (*record)->state.has_value();
    if (has_state ? !may_have_state : !any)
      return std::unexpected(damaged(wal_.path_of(segment), segment.end));
    if (auto accepted = accept(segment, **record, segment.end); !accepted)
      return std::unexpected(accepted.error());
    last_offset_ = segment.end;
    segment.end = (*record)->end;
    expected_ = (*record)->number + 1;
    any = true;
  }
}

base::Result<void> WalRecovery::accept(Wal::Segment& segment, const RecordView& record,
                                       std::uint64_t offset) {
  const auto unsound = [&] { return std::unexpected(damaged(wal_.path_of(segment), offset)); };
  auto& terms = wal_.terms_;
  if (record.state && !accept_state(segment, *record.state)) return unsound();
  std::uint32_t count = 0;
  EntryReader entries(record);
  while (const auto entry = entries.next()) {
    const auto next = terms.last().index + 1;
    const bool first = count++ == 0;
    if (entry->index == 0 || entry->index > next) return unsound();
    if (!first && entry->index != next) return unsound();
    if (entry->index <= terms.base().index) {
      // A tail was replaced from a place on that segments before this one had. They were cut, so
      // the entry is applied and not needed: the log begins behind it.
      forget_entries({entry->index, entry->term});
      continue;
    }
    if (entry->term < *terms.term(entry->index - 1)) return unsound();
    if (first) {
      // The marks of all segments so far are still in found_.
      for (auto& earlier : found_)
        std::erase_if(earlier.marks,
                      [&](const Wal::Mark& mark) { return mark.index >= entry->index; });
    }
    wal_.note_entry(segment, {entry->index, entry->term}, offset);
  }
  if (!entries.sound() || count != record.entry_count) return unsound();
  wal_.hard_state_ = record.hard_state;
  return {};
}

bool WalRecovery::accept_state(const Wal::Segment& segment, const StateView& state) {
  auto& terms = wal_.terms_;
  if (!expected_ || state.reset) {
    forget_entries(state.base);
  } else if (state.base != terms.last()) {
    return false;
  }
  if (state.conf_state.size() > kMaxConfStateBytes) return false;
  auto configured = segment.header.version == kFirstSegmentVersion
                        ? configured_by_core(state)
                        : decode_configured(state.conf_state);
  if (!configured) return false;
  wal_.set_configured(*std::move(configured));
  return true;
}

/// The log begins behind `base`.
void WalRecovery::forget_entries(const consensus::Position& base) {
  wal_.terms_.reset(base);
  for (auto& earlier : found_) {
    earlier.marks.clear();
    earlier.max_index = 0;
  }
}

/// Version 1 told the core's configuration: of ids, all of them voters.
base::Result<Configured> WalRecovery::configured_by_core(const StateView& state) const {
  Configured configured{.configuration = {}, .index = state.base.index};
  auto& members = configured.configuration.members;
  consensus::Fields fields(state.conf_state);
  while (fields.next()) {
    if (fields.field() != 1) continue;
    base::ByteReader packed(fields.bytes());
    while (packed.ok() && !packed.at_end() && members.size() < kMaxMembers)
      members.push_back({.id = packed.var(), .voter = true});
  }
  if (auto sound = check(configured.configuration); !sound || !fields.ok())
    return std::unexpected(base::Error{"corrupt_log", "no configuration"});
  configured.joined = configured.configuration.find(wal_.node_id_) != nullptr;
  return configured;
}

base::Result<void> WalRecovery::check_nothing_follows(std::size_t last) {
  for (auto i = last; i < found_.size(); ++i) {
    const auto file = wal_.file_of(found_[i]);
    if (!file) return std::unexpected(file.error());
    SegmentReader reader(**file, found_[i].header);
    const auto later = reader.find(found_[i].end, expected_.value_or(1));
    if (!later) return std::unexpected(later.error());
    if (*later) return std::unexpected(damaged(wal_.path_of(found_[last]), found_[last].end));
    found_[i].file.reset();
  }
  return {};
}

/// The last record may be in the system's cache alone: the process that wrote it may have died
/// before its sync, or of a failed one, after which the system calls the pages clean. Writing it
/// again and syncing makes it as durable as the rest.
base::Result<void> WalRecovery::rewrite_last_record() {
  auto& segment = wal_.segments_.back();
  std::string bytes(static_cast<std::size_t>(segment.end - last_offset_), '\0');
  const auto got = segment.file->read_at(last_offset_, bytes);
  if (!got) return std::unexpected(got.error());
  if (auto written = segment.file->write_at(last_offset_, bytes); !written) return written;
  return segment.file->sync();
}

base::Result<void> WalRecovery::clean_up() {
  const auto& directory = wal_.options_.directory;
  for (const auto sequence : left_over_) {
    const auto path = segment_path(directory, {sequence, SegmentKind::active});
    if (auto removed = wal_.disk_.remove(path); !removed) return removed;
  }
  for (const auto& name : other_) {
    if (name.kind == SegmentKind::spare && wal_.spares_.size() < kMaxSpares) {
      wal_.spares_.push_back(name.sequence);
      continue;
    }
    if (auto removed = wal_.disk_.remove(segment_path(directory, name)); !removed) return removed;
  }
  return {};
}

}  // namespace jobbie::log
