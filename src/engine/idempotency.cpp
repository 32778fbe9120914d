// Idempotency keys: the first answer, kept for a day.
#include "base/check.hpp"
#include "base/hash.hpp"
#include "command/codec.hpp"
#include "engine/core.hpp"

namespace jobbie::engine {

std::uint64_t idempotency_share(const model::IdempotencyRecord& record) {
  std::string bytes;
  command::encode(command::Item(record), bytes);
  return base::hash_bytes(bytes);
}

std::optional<Reply> Core::replay_idempotent(const command::Idempotency& given) {
  if (given.key.empty()) return std::nullopt;
  const auto found = idempotency.find(given.key.view());
  if (found == idempotency.end() || found->second.expires_at <= meta.now) {
    if (found == idempotency.end() && idempotency.size() >= model::limits::kIdempotencyKeys)
      return refuse(Refused::limit_reached, "idempotency_key",
                    "too many idempotency keys are remembered; try again later");
    return std::nullopt;
  }
  if (found->second.fingerprint != given.fingerprint)
    return refuse(Refused::idempotency_mismatch, "idempotency_key",
                  "the key was used with another body");
  auto reply = command::decode_reply(found->second.reply.view());
  JOBBIE_CHECK(reply.has_value());  // records from outside are decoded when they are loaded
  return *std::move(reply);
}

void Core::remember_idempotent(const command::Idempotency& given, const Reply& reply) {
  if (given.key.empty()) return;
  std::string bytes;
  command::encode(reply, bytes);
  model::IdempotencyRecord record{.key = given.key,
                                  .fingerprint = given.fingerprint,
                                  .expires_at = meta.now + model::limits::kIdempotencyPeriod,
                                  .reply = Blob(bytes)};
  forget_idempotent(given.key.view());
  add_idempotent(std::move(record));
  new_idempotency.emplace_back(given.key.view());
}

void Core::add_idempotent(model::IdempotencyRecord record) {
  idempotency_digest += idempotency_share(record);
  idempotency_times.emplace(record.expires_at, record.key.view());
  idempotency.insert_or_assign(std::string(record.key.view()), std::move(record));
}

void Core::forget_idempotent(std::string_view key) {
  const auto found = idempotency.find(key);
  if (found == idempotency.end()) return;
  idempotency_digest -= idempotency_share(found->second);
  idempotency_times.erase({found->second.expires_at, found->first});
  removals.emplace_back(command::RemovedIdempotency{found->second.key});
  idempotency.erase(found);
}

void Core::expire_idempotency() {
  for (std::size_t budget = options.timers_per_tick; budget > 0; --budget) {
    if (idempotency_times.empty() || idempotency_times.begin()->first > meta.now) return;
    forget_idempotent(std::string(idempotency_times.begin()->second));
  }
}

}  // namespace jobbie::engine
