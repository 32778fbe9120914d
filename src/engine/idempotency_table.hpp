// Idempotency keys and the answers kept with them: found by scope and key, forgotten in order of
// expiry.
//
// There may be millions. Each record is held once, in a slab; the index over 48 bits of the key's
// hash grows and shrinks in small steps, so no call rehashes a table. Keys whose 48 bits are equal
// hang on one chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/hash.hpp"
#include "base/id.hpp"
#include "engine/footprint.hpp"
#include "engine/sequence_index.hpp"
#include "engine/slab.hpp"
#include "model/records.hpp"

namespace jobbie::engine {

/// What a record is found by. `scope` is the API key that the caller showed; nil: none.
struct IdempotencyName {
  base::KeyId scope;
  std::string_view key;
};
[[nodiscard]] inline IdempotencyName name_of(const model::IdempotencyRecord& record) {
  return {record.scope, record.key.view()};
}

/// Single-threaded. `seed` varies the hash; no outcome depends on it.
class IdempotencyTable {
 public:
  explicit IdempotencyTable(std::uint64_t seed) : seed_(seed) {}
  IdempotencyTable(const IdempotencyTable&) = delete;
  IdempotencyTable& operator=(const IdempotencyTable&) = delete;

  /// Null: there is no such key. Good until the record is erased.
  [[nodiscard]] const model::IdempotencyRecord* find(const IdempotencyName& name) const;
  /// Adds a record whose name must not be present.
  void add(model::IdempotencyRecord record);
  /// Removes a record that must be present.
  void erase(const IdempotencyName& name);
  /// How many the scope has; of the nil scope none are counted.
  [[nodiscard]] std::uint64_t count_of(base::KeyId scope) const;
  /// The one that expires first, by time, then by scope and key; null: there is none.
  [[nodiscard]] const model::IdempotencyRecord* first() const;
  /// Calls `f(record)` for each in order of expiry.
  template <typename F>
  void for_each(F&& f) const {
    for (const auto slot : by_expiry_) f(entries_[slot].record);
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  /// What the records take, about.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Whether order, index and account are intact; for audits.
  [[nodiscard]] bool audit() const;

 private:
  struct Entry {
    model::IdempotencyRecord record;
    std::uint32_t next = 0;  ///< on the chain of this hash
  };
  struct ByExpiry {
    const Slab<Entry>* entries = nullptr;
    bool operator()(std::uint32_t a, std::uint32_t b) const;
  };

  [[nodiscard]] std::uint64_t hash_of(const IdempotencyName& name) const;
  [[nodiscard]] std::uint32_t slot_of(const IdempotencyName& name) const;

  std::uint64_t seed_;
  std::uint64_t bytes_ = 0;
  Slab<Entry> entries_;
  ScatteredIndex index_;
  std::unordered_map<base::KeyId, std::uint64_t> by_scope_;  ///< how many
  std::set<std::uint32_t, ByExpiry> by_expiry_{ByExpiry{&entries_}};
};

}  // namespace jobbie::engine
