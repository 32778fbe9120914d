// Idempotency keys with their digest; see idempotency.hpp.
#include "engine/idempotency.hpp"

#include <string>

#include "base/hash.hpp"
#include "command/codec.hpp"

namespace jobbie::engine {
namespace {

std::uint64_t share_of(const model::IdempotencyRecord& record) {
  std::string bytes;
  command::encode(command::Item(record), bytes);
  return base::hash_bytes(bytes);
}

}  // namespace

Instant Idempotency::next_expiry() const {
  const auto* first = table_.first();
  return first == nullptr ? base::kNever : first->expires_at;
}

void Idempotency::add(model::IdempotencyRecord record) {
  digest_ += share_of(record);
  table_.add(std::move(record));
}

void Idempotency::forget(const IdempotencyName& name, ChangeLog& changes) {
  const auto* found = table_.find(name);
  if (found == nullptr) return;
  digest_ -= share_of(*found);
  const Blob key = found->key;  // `name` may be in the record
  const auto scope = found->scope;
  changes.removed(command::RemovedIdempotency{.key = key, .scope = scope});
  table_.erase({scope, key.view()});
}

void Idempotency::remember(model::IdempotencyRecord record, ChangeLog& changes) {
  forget(name_of(record), changes);
  new_.emplace_back(record.scope, record.key);
  add(std::move(record));
}

bool Idempotency::restore(model::IdempotencyRecord record) {
  if (table_.find(name_of(record)) != nullptr) return false;
  add(std::move(record));
  return true;
}

void Idempotency::expire(Instant now, std::size_t budget, ChangeLog& changes) {
  for (; budget > 0 && next_expiry() <= now; --budget) forget(name_of(*table_.first()), changes);
}

bool Idempotency::is_intact() const {
  std::uint64_t digest = 0;
  table_.for_each([&](const model::IdempotencyRecord& record) { digest += share_of(record); });
  return digest == digest_ && table_.audit();
}

void Idempotency::drain(command::Changes& out) {
  for (const auto& [scope, key] : std::exchange(new_, {}))
    if (const auto* found = table_.find({scope, key.view()}))
      out.emplace_back(command::Item(*found));
}

}  // namespace jobbie::engine
