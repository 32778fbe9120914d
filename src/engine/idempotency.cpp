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

std::optional<Refusal> Core::room_for_idempotent(base::KeyId scope) const {
  if (idempotency.size() >= model::limits::kIdempotencyKeys)
    return refuse(Refused::limit_reached, "idempotency_key",
                  "too many idempotency keys are remembered; try again later");
  if (caller.is_nil() || idempotency.count_of(scope) < meta.max_idempotency_keys_per_key)
    return std::nullopt;
  return refuse(Refused::limit_reached, "idempotency_key",
                "too many idempotency keys of this API key are remembered; try again later");
}

std::optional<Reply> Core::replay_idempotent(const command::Idempotency& given) {
  if (given.key.empty()) return std::nullopt;
  const auto stands = [this](const model::IdempotencyRecord* record) {
    return record != nullptr && record->expires_at > meta.now;
  };
  const auto reply_in = [](const model::IdempotencyRecord& record) {
    auto reply = command::decode_reply(record.reply.view());
    JOBBIE_CHECK(reply.has_value());  // records from outside are decoded when they are loaded
    return *std::move(reply);
  };
  const auto* found = idempotency.find({given.scope, given.key.view()});
  if (!stands(found)) {
    // A request from before keys had scopes may be repeated after it. Of what others asked for then
    // only the same body learns anything.
    const auto* old =
        given.scope.is_nil() ? nullptr : idempotency.find({base::KeyId{}, given.key.view()});
    if (stands(old) && old->fingerprint == given.fingerprint) return reply_in(*old);
    return found == nullptr ? room_for_idempotent(given.scope) : std::nullopt;
  }
  if (found->fingerprint != given.fingerprint)
    return refuse(Refused::idempotency_mismatch, "idempotency_key",
                  "the key was used with another body");
  return reply_in(*found);
}

void Core::remember_idempotent(const command::Idempotency& given, const Reply& reply) {
  if (given.key.empty()) return;
  std::string bytes;
  command::encode(reply, bytes);
  model::IdempotencyRecord record{.key = given.key,
                                  .fingerprint = given.fingerprint,
                                  .expires_at = meta.now + model::limits::kIdempotencyPeriod,
                                  .reply = Blob(bytes),
                                  .scope = given.scope};
  forget_idempotent({given.scope, given.key.view()});
  add_idempotent(std::move(record));
  new_idempotency.emplace_back(given.scope, given.key);
}

void Core::add_idempotent(model::IdempotencyRecord record) {
  idempotency_digest += idempotency_share(record);
  idempotency.add(std::move(record));
}

void Core::forget_idempotent(const IdempotencyName& name) {
  const auto* found = idempotency.find(name);
  if (found == nullptr) return;
  idempotency_digest -= idempotency_share(*found);
  const Blob key = found->key;  // `name` may be in the record
  const auto scope = found->scope;
  changes.removed(command::RemovedIdempotency{.key = key, .scope = scope});
  idempotency.erase({scope, key.view()});
}

void Core::expire_idempotency() {
  for (std::size_t budget = options.timers_per_tick; budget > 0; --budget) {
    const auto* first = idempotency.first();
    if (first == nullptr || first->expires_at > meta.now) return;
    forget_idempotent(name_of(*first));
  }
}

}  // namespace jobbie::engine
