// What a principal may do: the one place that decides it, whatever face a request comes through.
//
// A face turns the credentials of a request into a principal (enter), reads the request, and has
// the call judged before the node hears of it (authorise), which also writes the audit record. What
// is named by its id is judged where its queue is known: jobs and schedules of commands by the
// engine, by the grant that the call carries; what a question found by may_see(), when the answer
// is written. To a key that is not for it, such a thing does not exist.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>
#include <vector>

#include "base/blob.hpp"
#include "base/id.hpp"
#include "call/call.hpp"
#include "call/keys.hpp"
#include "call/principal.hpp"
#include "model/access.hpp"

namespace jobbie::call {

/// Who may ask for something. There is no default: whoever declares an endpoint says it.
class Access {
 public:
  /// Everybody; no key is looked at.
  static constexpr Access open() { return {Need::nothing, 0, model::Scope::admin}; }
  static constexpr Access any_key() { return {Need::key, 0, model::Scope::admin}; }
  static constexpr Access scope(model::Scope scope) {
    return {Need::scope, model::scope_bit(scope), scope};
  }
  /// `other` does as well, without managing anything: it is not kept in the audit log.
  static constexpr Access scope_or(model::Scope scope, model::Scope other) {
    return {Need::scope, model::scope_bit(scope) | model::scope_bit(other), scope};
  }
  /// No key opens it.
  static constexpr Access node_only() { return {Need::node, 0, model::Scope::admin}; }

  [[nodiscard]] constexpr bool is_open() const { return need_ == Need::nothing; }
  [[nodiscard]] constexpr bool asks_for_scope() const { return need_ == Need::scope; }
  /// The one that a refusal names.
  [[nodiscard]] constexpr model::Scope main_scope() const { return scope_; }
  [[nodiscard]] constexpr bool opens_to(const Grant& grant) const {
    if (need_ != Need::scope) return need_ != Need::node;
    return (grant.scopes & (scopes_ | model::scope_bit(model::Scope::admin))) != 0;
  }
  bool operator==(const Access&) const = default;

 private:
  enum class Need : std::uint8_t { nothing, key, scope, node };
  constexpr Access(Need need, std::uint32_t scopes, model::Scope scope)
      : need_(need), scope_(scope), scopes_(scopes) {}

  Need need_;
  model::Scope scope_;
  std::uint32_t scopes_;  ///< bits: one of them is enough
};

/// What a command of this kind, or a question, asks for, whatever endpoint it comes from.
[[nodiscard]] Access access_of(const command::Command& command);
[[nodiscard]] Access access_of(const Query& query);

/// What an endpoint declares of itself.
struct Action {
  Access access;
  std::string_view audit;  ///< its name in the audit log (`queue.pause`); empty: it is not kept
};

/// Why the gate says no.
enum class Denied : std::uint8_t {
  no_key,       ///< none was shown
  unknown_key,  ///< it is nobody's, or not any more
  no_scope,     ///< the key lacks Denial::scope
  no_queue,     ///< the key is not for all the queues that this reaches
};
struct Denial {
  Denied why = Denied::no_key;
  model::Scope scope = model::Scope::admin;
  bool operator==(const Denial&) const = default;
};

/// What a face knows of who asks.
struct Credentials {
  std::optional<std::string_view> secret;  ///< nothing: none was shown
  std::string_view client;                 ///< whom requests without a key are counted for
};

/// What the audit log tells of an action beside what the call says by itself.
struct Circumstances {
  std::string_view address;  ///< of the client, without its port
  std::string_view target;   ///< what the path names; empty: what the body does
};

/// Immutable; used by all threads.
class Gate {
 public:
  /// `board` null: there are no keys. It must outlive the gate.
  Gate(const KeyBoard* board, bool require_keys) : board_(board), require_keys_(require_keys) {}

  /// Who asks, if the key is good for the access at all. `view` is the thread's own.
  [[nodiscard]] std::expected<Principal, Denial> enter(const Access& access,
                                                       const Credentials& shown,
                                                       KeyView& view) const;

  /// Judges everything that the call names. If nothing comes back, the call carries the principal
  /// and, if it changes something that is audited, who wants it.
  [[nodiscard]] static std::optional<Denial> authorise(const Principal& principal,
                                                       const Action& action,
                                                       const Circumstances& circumstances,
                                                       Call& call);

  /// Whether events may be watched with this filter of queues, a name or a glob. Without one the
  /// stream has what the principal may see; with one, that must be all of it.
  [[nodiscard]] static std::optional<Denial> authorise_watch(const Principal& principal,
                                                             std::string_view queues);

 private:
  const KeyBoard* board_;
  bool require_keys_;
};

/// Whether the call changes anything. A bulk operation that is only tried out does not.
[[nodiscard]] bool is_change(const Call& call);

/// Whether the principal's key is for some queues only.
[[nodiscard]] inline bool is_restricted(const Principal& principal) {
  return principal.grant && !principal.grant->all_queues;
}

/// Whether what is in `queue` may be shown: a row of a list, what was found by an id, an event, a
/// log. What may not is left out, or answered like what does not exist.
[[nodiscard]] inline bool may_see(const Principal& principal, std::string_view queue) {
  return !principal.grant || principal.grant->allows(queue);
}

/// A bulk operation is seen by the key that began it, and by who may see all queues.
[[nodiscard]] inline bool may_see(const Principal& principal, const model::BulkRecord& bulk) {
  return !is_restricted(principal) || bulk.owner == principal.grant->key;
}

/// Of the patterns of queues that a worker listens on, those that can match a queue which the
/// principal may see.
void hide_foreign_queues(const Principal& principal, std::vector<base::Blob>& patterns);
/// Whether the principal may see every queue that the patterns can match.
[[nodiscard]] bool may_see_all(const Principal& principal, const std::vector<base::Blob>& patterns);

/// Whether the principal's key is still there. Long answers end when it is not.
[[nodiscard]] bool is_still_valid(const Principal& principal, const KeyRing& ring);
[[nodiscard]] bool is_still_valid(const Principal& principal, const KeyBoard* board);

/// Whose idempotency keys a request's are; nil: everybody's who shows no key.
[[nodiscard]] inline base::KeyId owner_of(const Principal& principal) {
  return principal.grant ? principal.grant->key : base::KeyId{};
}

/// What the principal is told of itself.
struct Permissions {
  std::uint32_t scopes = 0;
  std::vector<base::Blob> queues;
};
[[nodiscard]] Permissions permissions_of(const Principal& principal);

}  // namespace jobbie::call
