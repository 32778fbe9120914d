// Chains of equal hashes, and the order of expiry.
#include "engine/idempotency_table.hpp"

#include <utility>

#include "base/check.hpp"

namespace jobbie::engine {

bool IdempotencyTable::ByExpiry::operator()(std::uint32_t a, std::uint32_t b) const {
  const auto& left = (*entries)[a].record;
  const auto& right = (*entries)[b].record;
  if (left.expires_at != right.expires_at) return left.expires_at < right.expires_at;
  if (left.scope != right.scope) return left.scope < right.scope;
  return left.key.view() < right.key.view();
}

std::uint64_t IdempotencyTable::hash_of(const IdempotencyName& name) const {
  const auto seed = seed_ ^ name.scope.ulid.high ^ (name.scope.ulid.low * 0x9e3779b97f4a7c15ULL);
  const std::uint64_t hash = base::hash_bytes(name.key, seed) >> 16;
  return hash == 0 ? 1 : hash;  // 0 is the index's empty mark
}

std::uint32_t IdempotencyTable::slot_of(const IdempotencyName& name) const {
  const auto is_other = [&](const model::IdempotencyRecord& record) {
    return record.scope != name.scope || record.key.view() != name.key;
  };
  std::uint32_t slot = index_.find(hash_of(name));
  while (slot != 0 && is_other(entries_[slot].record)) slot = entries_[slot].next;
  return slot;
}

const model::IdempotencyRecord* IdempotencyTable::find(const IdempotencyName& name) const {
  const auto slot = slot_of(name);
  return slot == 0 ? nullptr : &entries_[slot].record;
}

void IdempotencyTable::add(model::IdempotencyRecord record) {
  const auto hash = hash_of(name_of(record));
  bytes_ += footprint(record);
  if (!record.scope.is_nil()) ++by_scope_[record.scope];
  const auto slot = entries_.allocate(std::move(record), index_.find(hash));
  index_.set(hash, slot);
  const bool added = by_expiry_.insert(slot).second;
  JOBBIE_CHECK(added);
}

void IdempotencyTable::erase(const IdempotencyName& name) {
  const auto slot = slot_of(name);
  JOBBIE_CHECK(slot != 0);
  const auto hash = hash_of(name);
  const auto next = entries_[slot].next;
  if (const auto head = index_.find(hash); head != slot) {
    auto before = head;
    while (entries_[before].next != slot) before = entries_[before].next;
    entries_[before].next = next;
  } else if (next != 0) {
    index_.set(hash, next);
  } else {
    index_.erase(hash);
  }
  by_expiry_.erase(slot);
  const auto counted = by_scope_.find(entries_[slot].record.scope);
  if (counted != by_scope_.end() && --counted->second == 0) by_scope_.erase(counted);
  bytes_ -= footprint(entries_[slot].record);
  entries_.release(slot);
}

std::uint64_t IdempotencyTable::count_of(base::KeyId scope) const {
  const auto found = by_scope_.find(scope);
  return found == by_scope_.end() ? 0 : found->second;
}

const model::IdempotencyRecord* IdempotencyTable::first() const {
  return by_expiry_.empty() ? nullptr : &entries_[*by_expiry_.begin()].record;
}

bool IdempotencyTable::audit() const {
  std::uint64_t bytes = 0;
  bool found = true;
  std::unordered_map<base::KeyId, std::uint64_t> counts;
  entries_.for_each_live([&](std::uint32_t slot, const Entry& entry) {
    bytes += footprint(entry.record);
    if (!entry.record.scope.is_nil()) ++counts[entry.record.scope];
    found = found && slot_of(name_of(entry.record)) == slot && by_expiry_.contains(slot);
  });
  return found && bytes == bytes_ && by_expiry_.size() == entries_.size() && counts == by_scope_;
}

}  // namespace jobbie::engine
