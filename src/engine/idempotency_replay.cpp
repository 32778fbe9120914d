// A request that comes again with its idempotency key gets the first answer, for a day.
#include "base/check.hpp"
#include "command/codec.hpp"
#include "engine/core.hpp"

namespace jobbie::engine {

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
  idempotency.remember(std::move(record), changes);
}

}  // namespace jobbie::engine
