// Appending to the log, reading back, cutting.
#include "log/wal.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/hash.hpp"
#include "log/wal_recovery.hpp"

namespace jobbie::log {
namespace {

/// A mark is set where this much was written since the last one.
constexpr std::uint64_t kMarkDistanceBytes = 64u << 10;
constexpr std::uint64_t kAheadBytes = 8u << 20;
/// The tail of a segment that only the core's own small records may use while the disk is full.
constexpr std::size_t kReserveBytes = 64u << 10;
/// A write buffer that has grown beyond this is given back.
constexpr std::size_t kKeptBufferBytes = 8u << 20;

}  // namespace

Wal::Wal(Disk& disk, const WalOptions& options) : disk_(disk), options_(options) {}

base::Result<std::unique_ptr<Wal>> Wal::open(Disk& disk, const WalOptions& options) {
  if (options.segment_bytes < kMinSegmentBytes || options.segment_bytes > kMaxSegmentBytes ||
      options.segment_bytes % kRecordAlignment != 0)
    return std::unexpected(base::Error{"bad_option", "segment_bytes is out of range"});
  // The constructor is private, so make_unique cannot call it.
  auto wal = std::unique_ptr<Wal>(new Wal(disk, options));
  if (auto made = disk.make_directory(options.directory); !made)
    return std::unexpected(made.error());
  auto lock = disk.lock(options.directory);
  if (!lock) return std::unexpected(lock.error());
  wal->lock_ = std::move(*lock);
  WalRecovery recovery(*wal);
  if (auto recovered = recovery.run(); !recovered) return std::unexpected(recovered.error());
  wal->preparer_ = std::make_unique<Preparer>(disk, options.directory, options.preparing);
  if (wal->fresh_)
    if (auto begun = wal->begin(); !begun) return std::unexpected(begun.error());
  if (!recovery.next_segment()) {
    wal->request_next();
  } else {
    wal->preparer_->offer(std::move(*recovery.next_segment()));
  }
  return wal;
}

/// A new log: its first record is a snapshot, of nothing unless somebody has a state.
base::Result<void> Wal::begin() {
  node_id_ = options_.node_id;
  Configured first{.configuration = options_.founders,
                   .index = std::max(options_.begin_at.index, options_.founders_index)};
  if (first.configuration.members.empty())
    first.configuration.members.push_back({.id = node_id_, .voter = true});
  first.joined = first.configuration.find(node_id_) != nullptr;
  if (auto sound = check(first.configuration); !sound) return fail(sound.error());
  const PrepareRequest request{.header = next_header(), .spare = std::nullopt};
  auto prepared = prepare_segment(disk_, options_.directory, request);
  if (!prepared) return fail(prepared.error());
  segments_.push_back({.header = prepared->header, .file = std::move(prepared->file)});
  set_configured(std::move(first));
  terms_.reset(options_.begin_at);
  hard_state_ = {.term = options_.begin_at.term, .vote = 0, .commit = options_.begin_at.index};
  return write_record({});
}

void Wal::set_configured(Configured configured) {
  configured_ = std::move(configured);
  conf_state_ = encode(configured_);
}

SegmentHeader Wal::next_header() const {
  const auto sequence = segments_.empty() ? 1 : segments_.back().header.sequence + 1;
  return {.sequence = sequence,
          .salt = base::hash_combine(base::mix64(options_.seed), sequence),
          .segment_bytes = options_.segment_bytes,
          .node_id = node_id_};
}

void Wal::request_next() {
  JOBBIE_CHECK(preparer_->idle());
  PrepareRequest request{
      .header = next_header(), .spare = std::nullopt, .leave_free = options_.leave_free_bytes};
  if (!spares_.empty()) {
    request.spare = spares_.back();
    spares_.pop_back();
  }
  preparer_->request(request);
}

void Wal::retry() {
  if (failure_ || !preparer_->done() || preparer_->wait()->has_value()) return;
  const auto failed = preparer_->take();
  // Without its directory nothing can be made; keep_files() puts it back.
  if (failed.error().code == kDiskFull || failed.error().code == kNoSuchFile) {
    request_next();
  } else {
    failure_ = failed.error();
  }
}

std::string Wal::path_of(const Segment& segment) const {
  return segment_path(options_.directory, {segment.header.sequence, SegmentKind::active});
}

std::unexpected<base::Error> Wal::fail(base::Error error) {
  if (!failure_) failure_ = std::move(error);
  return std::unexpected(*failure_);
}

std::size_t Wal::reserve_bytes() const {
  return std::min(kReserveBytes, static_cast<std::size_t>(options_.segment_bytes / 8));
}

std::size_t Wal::max_payload(std::size_t entries) const {
  const auto overhead = kSegmentHeaderBytes + kRecordHeaderBytes + kStateHeaderBytes +
                        conf_state_.size() + entries * kEntryHeaderBytes + kRecordAlignment +
                        reserve_bytes();
  const auto bytes =
      std::min<std::size_t>(options_.segment_bytes, segments_.back().header.segment_bytes);
  return overhead >= bytes ? 0 : bytes - overhead;
}

std::optional<bool> Wal::fits(std::size_t entries, std::size_t bytes, std::size_t leave) const {
  if (failure_ || bytes > max_payload(entries)) return std::nullopt;
  const auto& current = segments_.back();
  const auto needed = kRecordHeaderBytes + entries * kEntryHeaderBytes + bytes + kRecordAlignment +
                      reserve_bytes() + leave;
  return !outdated() && current.end + needed <= current.header.segment_bytes;
}

bool Wal::has_room(std::size_t entries, std::size_t bytes, std::size_t leave) const {
  if (held_back_) return false;
  const auto here = fits(entries, bytes, leave);
  if (!here || *here) return here.has_value();
  const auto* next = preparer_->wait();
  return next != nullptr && next->has_value();
}

bool Wal::expects_room(std::size_t entries, std::size_t bytes, std::size_t leave) const {
  const auto here = fits(entries, bytes, leave);
  if (!here || *here || !preparer_->done()) return here.has_value();
  return preparer_->wait()->has_value();
}

base::Result<void> Wal::append(const consensus::HardState& hard_state,
                               std::span<const consensus::EntryView> entries) {
  if (failure_) return std::unexpected(*failure_);
  hard_state_ = hard_state;
  return write_record(entries);
}

base::Result<void> Wal::configure(const consensus::HardState& hard_state, Configured configured) {
  if (failure_) return std::unexpected(*failure_);
  hard_state_ = hard_state;
  set_configured(std::move(configured));
  return write_record({}, Tell::configuration);
}

base::Result<void> Wal::reset(const consensus::HardState& hard_state, const consensus::Position& at,
                              Configured configured) {
  if (failure_) return std::unexpected(*failure_);
  hard_state_ = hard_state;
  set_configured(std::move(configured));
  terms_.reset(at);
  end_reading();
  for (auto& segment : segments_) {
    segment.marks.clear();
    segment.max_index = 0;
  }
  if (auto written = write_record({}, Tell::reset); !written) return written;
  while (segments_.size() > 1)
    if (auto retired = retire_oldest(); !retired) return fail(retired.error());
  retry();
  return {};
}

base::Result<void> Wal::roll() {
  const auto* next = preparer_->wait();
  if (next == nullptr) return fail({std::string(kDiskFull), "the log has no next segment"});
  auto prepared = preparer_->take();
  if (!prepared) return fail(prepared.error());
  end_reading();
  segments_.push_back({.header = prepared->header, .file = std::move(prepared->file)});
  if (segments_.size() > kOpenSegments) close_if_old(segments_.size() - kOpenSegments - 1);
  return {};
}

base::Result<File*> Wal::file_of(Segment& segment) const {
  if (!segment.file) {
    auto file = disk_.open(path_of(segment), OpenMode::existing);
    if (!file) return std::unexpected(file.error());
    segment.file = *std::move(file);
  }
  return segment.file.get();
}

void Wal::close_if_old(std::size_t segment) {
  if (segment + kOpenSegments < segments_.size()) segments_[segment].file.reset();
}

void Wal::end_reading() {
  if (!reading_) return;
  const auto segment = reading_->segment;
  reading_.reset();
  // The next one may have been looked at ahead.
  close_if_old(segment);
  close_if_old(segment + 1);
}

base::Result<void> Wal::write_record(std::span<const consensus::EntryView> entries, Tell tell) {
  RecordContent content{
      .number = next_number_, .hard_state = hard_state_, .state = {}, .entries = entries};
  const StateView state{terms_.last(), conf_state_, tell == Tell::reset};
  const auto first_in = [](const Segment& segment) { return segment.end == kSegmentHeaderBytes; };
  if (tell != Tell::nothing || first_in(segments_.back())) content.state = state;
  bool rolled = false;
  if (outdated() ||
      segments_.back().end + record_bytes(content) > segments_.back().header.segment_bytes) {
    if (auto done = roll(); !done) return done;
    rolled = true;
    content.state = state;
  }
  auto& segment = segments_.back();
  const auto offset = segment.end;
  const auto bytes = record_bytes(content);
  if (offset + bytes > segment.header.segment_bytes)
    return fail({"record_too_large", "a record is larger than a segment"});
  encode_record({segment.header, offset}, content, buffer_);
  auto written = options_.test.ack_before_sync ? segment.file->write_at(offset, buffer_)
                                               : segment.file->append_durably(offset, buffer_);
  if (!written) return fail(written.error());

  ++next_number_;
  segment.end = offset + bytes;
  if (!entries.empty()) forget_marks_from(entries.front().index);
  for (const auto& entry : entries) note_entry(segment, {entry.index, entry.term}, offset);
  if (buffer_.capacity() > kKeptBufferBytes) std::string().swap(buffer_);
  if (rolled) request_next();
  return {};
}

void Wal::note_entry(Segment& segment, const consensus::Position& at, std::uint64_t record_offset) {
  terms_.append(at);
  segment.max_index = std::max(segment.max_index, at.index);
  if (segment.marks.empty() || segment.marks.back().offset + kMarkDistanceBytes <= record_offset)
    segment.marks.push_back({at.index, record_offset});
}

void Wal::forget_marks_from(std::uint64_t index) {
  for (auto segment = segments_.rbegin(); segment != segments_.rend(); ++segment) {
    auto& marks = segment->marks;
    while (!marks.empty() && marks.back().index >= index) marks.pop_back();
    if (!marks.empty()) return;
  }
}

Wal::Reading Wal::begin_reading(std::uint64_t index) {
  if (reading_ && reading_->index == index) return *std::exchange(reading_, std::nullopt);
  end_reading();
  // The last mark at or before the entry; its record or a later one has it.
  Reading found{.segment = segments_.size(), .offset = 0, .index = index, .ahead = 0, .reader = {}};
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    for (const auto& mark : segments_[i].marks) {
      if (mark.index > index) break;
      found.segment = i;
      found.offset = mark.offset;
    }
  }
  return found;
}

/// Records are written past the cache. Whoever waits for the disk here has everybody else wait.
void Wal::look_ahead(Reading& reading) {
  if (reading.offset + kAheadBytes / 2 < reading.ahead) return;
  const auto& segment = segments_[reading.segment];
  const auto from = std::max(reading.ahead, reading.offset);
  reading.ahead = reading.offset + kAheadBytes;
  segment.file->will_read(from, reading.ahead - from);
  if (reading.ahead <= segment.end || reading.segment + 1 == segments_.size()) return;
  if (const auto next = file_of(segments_[reading.segment + 1])) (*next)->will_read(0, kAheadBytes);
}

base::Result<void> Wal::keep(Reading reading) {
  reading.reader->forget_from(segments_[reading.segment].end);
  reading_ = std::move(reading);
  return {};
}

base::Result<void> Wal::read(const consensus::FetchRange& range, const consensus::EntrySink& sink) {
  auto at = begin_reading(range.low);
  std::uint64_t bytes = 0;
  for (; at.segment < segments_.size(); ++at.segment, at.offset = kSegmentHeaderBytes) {
    auto& segment = segments_[at.segment];
    if (!at.reader) {
      const auto file = file_of(segment);
      if (!file) return std::unexpected(file.error());
      at.reader.emplace(**file, segment.header);
    }
    while (at.offset < segment.end) {
      look_ahead(at);
      const auto record = at.reader->read(at.offset);
      if (!record) return std::unexpected(record.error());
      if (!*record) return std::unexpected(damaged(path_of(segment), at.offset));
      EntryReader entries(**record);
      while (const auto entry = entries.next()) {
        // An entry that was overwritten later has another term than the one that counts.
        if (entry->index != at.index || entry->term != terms_.term(at.index)) continue;
        bytes += entry->data.size() + kEntryHeaderBytes;
        if (bytes > range.max_bytes && at.index > range.low) return keep(std::move(at));
        sink(*entry);
        if (++at.index == range.high) return keep(std::move(at));
      }
      at.offset = (*record)->end;
    }
    at.reader.reset();
    at.ahead = 0;
    close_if_old(at.segment);
  }
  if (at.index > range.low) return {};
  return std::unexpected(base::Error{"corrupt_log", "the log lacks an entry that it should have"});
}

base::Result<void> Wal::cut(std::uint64_t index) {
  if (failure_) return std::unexpected(*failure_);
  JOBBIE_CHECK(index <= terms_.last().index);
  terms_.cut(index);
  while (segments_.size() > 1 && segments_.front().max_index <= index)
    if (auto retired = retire_oldest(); !retired) return fail(retired.error());
  retry();
  return {};
}

base::Result<void> Wal::retire_oldest() {
  end_reading();
  const auto sequence = segments_.front().header.sequence;
  const auto path = path_of(segments_.front());
  segments_.pop_front();
  const bool kept = spares_.size() < kMaxSpares;
  auto retired =
      kept ? disk_.rename(path, segment_path(options_.directory, {sequence, SegmentKind::spare}))
           : disk_.remove(path);
  // Somebody else has removed what nobody needs any more.
  if (!retired && retired.error().code == kNoSuchFile) return {};
  if (retired && kept) spares_.push_back(sequence);
  return retired;
}

}  // namespace jobbie::log
