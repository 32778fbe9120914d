// Counting a batch's members; see batches.hpp.
#include "engine/batches.hpp"

#include <utility>

#include "engine/footprint.hpp"
#include "engine/shrink.hpp"

namespace jobbie::engine {

void Batches::open(model::BatchRecord record) {
  open_ = record.id.sequence();
  Batch& batch = batches_[open_];
  batch.record = std::move(record);
  memory_.weigh(batch.bytes, footprint(batch.record));
  changed(batch);
}

void Batches::join() {
  Batch& batch = batches_[open_];
  ++batch.record.total;
  ++batch.record.pending;
}

void Batches::close() {
  if (batches_[open_].record.pending == 0) done_.push_back(open_);
  open_ = 0;
}

void Batches::count(base::BatchId id, bool succeeded) {
  const auto sequence = id.sequence();
  const auto found = batches_.find(sequence);
  if (found == batches_.end()) return;
  Batch& batch = found->second;
  --batch.record.pending;
  ++(succeeded ? batch.record.succeeded : batch.record.failed);
  changed(batch);
  if (batch.record.pending == 0 && open_ != sequence) done_.push_back(sequence);
}

void Batches::changed(Batch& batch) {
  if (batch.changed) return;
  batch.changed = true;
  changed_.push_back(batch.record.id.sequence());
}

std::vector<model::BatchRecord> Batches::take_done() {
  std::vector<model::BatchRecord> out;
  for (const auto sequence : done_) {
    const auto found = batches_.find(sequence);
    if (found == batches_.end()) continue;
    out.push_back(std::move(found->second.record));
    memory_.weigh(found->second.bytes, 0);
    batches_.erase(found);
  }
  done_.clear();
  return out;
}

bool Batches::restore(model::BatchRecord record) {
  const auto [entry, fresh] = batches_.try_emplace(record.id.sequence());
  if (!fresh) return false;
  entry->second.record = std::move(record);
  memory_.weigh(entry->second.bytes, footprint(entry->second.record));
  return true;
}

const model::BatchRecord* Batches::find(base::BatchId id) const {
  const auto found = batches_.find(id.sequence());
  if (found != batches_.end() && found->second.record.id == id) return &found->second.record;
  for (const auto& record : finished_)
    if (record.id == id) return &record;
  return nullptr;
}

void Batches::drain(command::Changes& out) {
  for (auto& record : std::exchange(finished_, {}))
    out.emplace_back(command::Item(std::move(record)));
  for (const auto sequence : std::exchange(changed_, {})) {
    const auto found = batches_.find(sequence);
    if (found == batches_.end()) continue;
    found->second.changed = false;
    out.emplace_back(command::Item(found->second.record));
  }
}

void Batches::shrink() { shrink_table(batches_); }

}  // namespace jobbie::engine
