// Bookkeeping of hand-overs, and lookups in them.
#include "store/overlay.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

namespace jobbie::store {
namespace {

/// Changes forgotten under one hold of the lock.
constexpr std::size_t kForgetSlice = 512;

std::size_t bytes_of(const model::JobRecord& job) {
  std::size_t bytes = job.spec.payload.size() + job.spec.tags.size() + job.progress.size() +
                      job.checkpoint.size() + job.result.size();
  for (const auto& error : job.errors) bytes += error.error.size() + error.backtrace.size();
  return bytes;
}

std::size_t bytes_of(const command::Change& change) {
  std::size_t bytes = sizeof(command::Change);
  if (const auto* plain = std::get_if<model::PlainJob>(&change))
    return bytes + plain->payload.size();
  if (const auto* logged = std::get_if<command::LoggedLines>(&change))
    for (const auto& line : logged->lines) bytes += sizeof(line) + line.message.size();
  const auto* item = command::item_in(change);
  if (item == nullptr) return bytes;
  bytes += sizeof(command::Item);
  if (const auto* job = std::get_if<model::JobRecord>(item)) bytes += bytes_of(*job);
  return bytes;
}

std::size_t rows_of(const command::Change& change) {
  const auto* logged = std::get_if<command::LoggedLines>(&change);
  return logged == nullptr ? 1 : logged->lines.size();
}

/// Null for plain jobs.
const model::JobRecord* record_in(const command::Change& change) {
  const auto* item = command::item_in(change);
  return item == nullptr ? nullptr : std::get_if<model::JobRecord>(item);
}

model::JobRecord job_of(const command::Change& change) {
  if (const auto* record = record_in(change)) return *record;
  model::JobRecord out;
  model::fill(std::get<model::PlainJob>(change), out);
  return out;
}

/// A newer sweep that reaches at least as far makes the older one superfluous.
void add_sweep(Sweeps& sweeps, Sweep sweep) {
  std::erase_if(sweeps, [&](const Sweep& old) {
    return old.state == sweep.state && old.before <= sweep.before && old.queue == sweep.queue;
  });
  sweeps.push_back(std::move(sweep));
}

/// Null if it is not that. A plain job is in no group.
const model::JobRecord* dead_in_some_group(const command::Change* change) {
  const auto* job = change == nullptr ? nullptr : record_in(*change);
  const bool is = job != nullptr && job->state == model::State::dead && !job->spec.group.empty();
  return is ? job : nullptr;
}

}  // namespace

bool is_hidden(const Sweeps& sweeps, const model::JobRecord& job, std::uint64_t revision) {
  return std::any_of(sweeps.begin(), sweeps.end(),
                     [&](const Sweep& sweep) { return sweep.hides(job, revision); });
}

bool is_expired(const model::BatchRecord& batch, base::Instant now) {
  return batch.finished_at.ms != 0 && batch.finished_at < now - kBatchesKept;
}

void Overlay::begin(Begin begin) {
  const std::scoped_lock lock(mutex_);
  number_ = begin.number;
  now_ = begin.now;
  sweeps_ = std::make_shared<const Sweeps>(std::move(begin.sweeps));
}

void Overlay::add(std::uint64_t index, command::Changes changes) {
  auto hand_over = std::make_unique<HandOver>();
  hand_over->index = index;
  hand_over->changes = std::move(changes);
  bool has_sweep = false;
  for (const auto& change : hand_over->changes) {
    hand_over->bytes += bytes_of(change);
    hand_over->rows += rows_of(change);
    has_sweep = has_sweep || std::holds_alternative<command::SweptJobs>(change);
  }
  {
    const std::scoped_lock lock(mutex_);
    hand_over->number = ++number_;
    auto sweeps = has_sweep ? std::make_shared<Sweeps>(*sweeps_) : nullptr;
    for (const auto& change : hand_over->changes) note(*hand_over, change, sweeps.get());
    if (sweeps) sweeps_ = std::move(sweeps);
    lag_.rows += hand_over->rows;
    lag_.bytes += hand_over->bytes;
    ++lag_.batches;
    hand_overs_.push_back(std::move(hand_over));
  }
  work_.notify_one();
}

void Overlay::note(const HandOver& hand_over, const command::Change& change, Sweeps* sweeps) {
  if (const auto* job = command::job_in(change)) {
    note_job(job->sequence(), {hand_over.number, &change});
  } else if (const auto* item = command::item_in(change)) {
    if (const auto* batch = std::get_if<model::BatchRecord>(item))
      batches_[batch->id.sequence()] = {hand_over.number, batch};
    if (const auto* meta = std::get_if<model::MetaRecord>(item)) now_ = meta->now;
  } else if (const auto* removed = std::get_if<command::RemovedJob>(&change)) {
    note_job(removed->job.sequence(), {hand_over.number, nullptr});
  } else if (const auto* swept = std::get_if<command::SweptJobs>(&change)) {
    add_sweep(*sweeps, {swept->queue, swept->state, swept->before, hand_over.number});
  }
}

void Overlay::note_job(std::uint64_t seq, Entry<command::Change> entry) {
  auto& kept = jobs_[seq];
  if (const auto* dead = dead_in_some_group(kept.what))
    dead_.erase({std::string(dead->spec.group.view()), seq});
  kept = entry;
  if (const auto* dead = dead_in_some_group(entry.what))
    dead_[{std::string(dead->spec.group.view()), seq}] = dead;
}

void Overlay::forget_job(std::uint64_t number, std::uint64_t seq) {
  const auto found = jobs_.find(seq);
  if (found == jobs_.end() || found->second.number != number) return;
  if (const auto* dead = dead_in_some_group(found->second.what))
    dead_.erase({std::string(dead->spec.group.view()), seq});
  jobs_.erase(found);
}

void Overlay::forget(std::uint64_t number, const command::Change& change) {
  if (const auto* job = command::job_in(change)) {
    forget_job(number, job->sequence());
  } else if (const auto* removed = std::get_if<command::RemovedJob>(&change)) {
    forget_job(number, removed->job.sequence());
  } else if (const auto* item = command::item_in(change)) {
    const auto* batch = std::get_if<model::BatchRecord>(item);
    if (batch == nullptr) return;
    const auto found = batches_.find(batch->id.sequence());
    if (found != batches_.end() && found->second.number == number) batches_.erase(found);
  }
}

Overlay::Lag Overlay::lag() const {
  const std::scoped_lock lock(mutex_);
  return lag_;
}

std::vector<const HandOver*> Overlay::wait(std::size_t rows, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  work_.wait_for(lock, timeout, [&] { return woken_ || !hand_overs_.empty(); });
  woken_ = false;
  std::vector<const HandOver*> taken;
  std::size_t held = 0;
  for (const auto& hand_over : hand_overs_) {
    if (held >= rows) break;
    held += hand_over->rows;
    taken.push_back(hand_over.get());
  }
  return taken;
}

void Overlay::wake() {
  {
    const std::scoped_lock lock(mutex_);
    woken_ = true;
  }
  work_.notify_one();
}

void Overlay::drop(std::uint64_t number) {
  for (;;) {
    std::unique_ptr<HandOver> hand_over;
    const HandOver* front = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      if (hand_overs_.empty() || hand_overs_.front()->number > number) return;
      ++drops_;
      front = hand_overs_.front().get();
    }
    // Only this thread takes hand-overs away, so it stays at the front meanwhile.
    drop_slices(*front);
    const std::scoped_lock lock(mutex_);
    hand_over = std::move(hand_overs_.front());
    hand_overs_.pop_front();
    lag_.rows -= hand_over->rows;
    lag_.bytes -= hand_over->bytes;
    --lag_.batches;
  }
}

void Overlay::drop_slices(const HandOver& hand_over) {
  const auto& changes = hand_over.changes;
  for (std::size_t at = 0; at < changes.size(); at += kForgetSlice) {
    const std::scoped_lock lock(mutex_);
    const auto end = std::min(changes.size(), at + kForgetSlice);
    for (std::size_t i = at; i < end; ++i) forget(hand_over.number, changes[i]);
  }
}

void Overlay::swept(const Sweep& done) {
  const std::scoped_lock lock(mutex_);
  auto sweeps = std::make_shared<Sweeps>(*sweeps_);
  std::erase_if(*sweeps, [&](const Sweep& sweep) {
    return sweep.revision <= done.revision && sweep.before <= done.before &&
           sweep.state == done.state && sweep.queue == done.queue;
  });
  sweeps_ = std::move(sweeps);
  ++drops_;
}

Overlay::Found<model::JobRecord> Overlay::job(base::JobId id) const {
  const std::scoped_lock lock(mutex_);
  Found<model::JobRecord> out{.sweeps = sweeps_, .now = now_};
  const auto found = jobs_.find(id.sequence());
  if (found == jobs_.end()) return out;
  out.known = true;
  const auto& [number, change] = found->second;
  if (change == nullptr || *command::job_in(*change) != id) return out;
  if (auto job = job_of(*change); !is_hidden(*sweeps_, job, number)) out.record = std::move(job);
  return out;
}

Overlay::Found<model::BatchRecord> Overlay::batch(base::BatchId id) const {
  const std::scoped_lock lock(mutex_);
  Found<model::BatchRecord> out{.sweeps = sweeps_, .now = now_};
  const auto found = batches_.find(id.sequence());
  if (found == batches_.end()) return out;
  out.known = true;
  const auto& record = *found->second.what;
  if (record.id == id && !is_expired(record, now_)) out.record = record;
  return out;
}

std::vector<model::JobRecord> Overlay::dead_in_group(std::string_view group, std::uint64_t after,
                                                     std::uint64_t upto, std::size_t limit) const {
  const std::scoped_lock lock(mutex_);
  std::vector<model::JobRecord> out;
  for (auto it = dead_.upper_bound({std::string(group), after}); it != dead_.end(); ++it) {
    const auto& [key, job] = *it;
    if (out.size() == limit || key.first != group || key.second > upto) break;
    if (!is_hidden(*sweeps_, *job, jobs_.at(key.second).number)) out.push_back(*job);
  }
  return out;
}

std::uint64_t Overlay::drops() const {
  const std::scoped_lock lock(mutex_);
  return drops_;
}

std::vector<bool> Overlay::superseded(
    const std::vector<std::pair<model::JobRecord, std::uint64_t>>& rows) const {
  const std::scoped_lock lock(mutex_);
  std::vector<bool> out;
  out.reserve(rows.size());
  for (const auto& [job, revision] : rows)
    out.push_back(jobs_.contains(job.id.sequence()) || is_hidden(*sweeps_, job, revision));
  return out;
}

}  // namespace jobbie::store
