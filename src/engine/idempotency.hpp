// Idempotency keys: the first answer to each, kept until it expires.
//
// Every record counts in the digest, and one that is new is drained once. What the keys mean is in
// idempotency_replay.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "command/item.hpp"
#include "engine/change_log.hpp"
#include "engine/idempotency_table.hpp"
#include "engine/job.hpp"
#include "model/records.hpp"

namespace jobbie::engine {

class Idempotency {
 public:
  explicit Idempotency(std::uint64_t hash_seed) : table_(hash_seed) {}
  Idempotency(const Idempotency&) = delete;
  Idempotency& operator=(const Idempotency&) = delete;

  /// Also one that has expired and was not forgotten yet; null: there is none.
  [[nodiscard]] const model::IdempotencyRecord* find(const IdempotencyName& name) const {
    return table_.find(name);
  }
  [[nodiscard]] std::size_t size() const { return table_.size(); }
  /// How many the scope has; of the nil scope none are counted.
  [[nodiscard]] std::uint64_t count_of(base::KeyId scope) const { return table_.count_of(scope); }
  /// When the first of them expires; base::kNever: none does.
  [[nodiscard]] Instant next_expiry() const;
  /// Calls `use(record)` for each in order of expiry.
  template <typename Use>
  void for_each(Use&& use) const {
    table_.for_each(std::forward<Use>(use));
  }

  /// Keeps a record in place of an earlier one of its name.
  void remember(model::IdempotencyRecord record, ChangeLog& changes);
  /// Adds a record that was loaded; whether there was none of its name.
  [[nodiscard]] bool restore(model::IdempotencyRecord record);
  /// Forgets what has expired, the earliest first, and no more than `budget`.
  void expire(Instant now, std::size_t budget, ChangeLog& changes);

  /// What the records take, about.
  [[nodiscard]] std::uint64_t bytes() const { return table_.bytes(); }
  /// Their share of the state hash.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }
  /// Whether order, index, account and digest agree with a recount.
  [[nodiscard]] bool is_intact() const;
  void drain(command::Changes& out);

 private:
  void add(model::IdempotencyRecord record);
  void forget(const IdempotencyName& name, ChangeLog& changes);

  IdempotencyTable table_;
  std::uint64_t digest_ = 0;
  std::vector<std::pair<base::KeyId, Blob>> new_;  ///< scope and key
};

}  // namespace jobbie::engine
