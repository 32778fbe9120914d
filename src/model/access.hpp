// Who may do what, and what was done: API keys and the audit log, as values.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/blob.hpp"
#include "base/id.hpp"
#include "base/time.hpp"

namespace jobbie::model {

using base::Blob;
using base::Instant;
using base::KeyId;

/// What a key is good for. Values are part of the format: append only.
enum class Scope : std::uint8_t {
  produce = 0,  ///< enqueue
  work = 1,     ///< fetch, ack, fail, heartbeat, logs
  manage = 2,   ///< queues, groups, jobs, schedules, workers
  admin = 3,    ///< keys, audit log, webhooks; and everything else
};
inline constexpr std::array<std::string_view, 4> kScopeNames = {"produce", "work", "manage",
                                                                "admin"};

constexpr std::uint32_t scope_bit(Scope scope) { return 1U << static_cast<unsigned>(scope); }
inline constexpr std::uint32_t kAllScopes = (1U << kScopeNames.size()) - 1;

/// The secret itself is nowhere: its bearer shows it, and its digest is compared.
struct KeySpec {
  Blob name;                 ///< unique
  std::uint32_t scopes = 0;  ///< bits of Scope
  std::vector<Blob> queues;  ///< names or globs
  Blob digest;               ///< SHA-256 of the secret, 32 bytes
  Blob last_four;            ///< of the secret's characters, for people who look for one of many
  bool operator==(const KeySpec&) const = default;
};

struct KeyRecord {
  KeyId id;  ///< its time is that of the key's creation
  KeySpec spec;
  bool operator==(const KeyRecord&) const = default;
};

/// One action of somebody who manages, as the audit log keeps it.
struct AuditRecord {
  Instant at;
  Blob key;   ///< the key's id; empty: none was asked for
  Blob name;  ///< the key's name, or who acted instead
  Blob address;
  Blob action;   ///< `queue.pause`
  Blob target;   ///< what was acted on, by its name or id
  Blob outcome;  ///< `ok`, or the code of the refusal
  bool operator==(const AuditRecord&) const = default;
};

}  // namespace jobbie::model
