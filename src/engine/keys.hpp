// API keys by number. Names and secrets are looked for among all of them: there are few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "command/item.hpp"
#include "engine/change_log.hpp"
#include "model/access.hpp"

namespace jobbie::engine {

class Keys {
 public:
  /// Null: there is no such key.
  [[nodiscard]] const model::KeyRecord* find(base::KeyId id) const;
  [[nodiscard]] const model::KeyRecord* find_named(std::string_view name) const;
  /// Whether a key other than `except` has the secret of this one.
  [[nodiscard]] bool has_secret_of(const model::KeySpec& spec,
                                   const model::KeyRecord* except) const;
  /// Whether it is an admin's, and no other key is.
  [[nodiscard]] bool is_last_admin(const model::KeyRecord& key) const;
  [[nodiscard]] std::size_t size() const { return keys_.size(); }
  /// By sequence.
  [[nodiscard]] const std::map<std::uint64_t, model::KeyRecord>& all() const { return keys_; }
  /// Rises with every change of them. Not part of the state.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }

  /// Adds a key whose number must be free.
  const model::KeyRecord& add(model::KeyRecord key);
  /// Adds one that was loaded; whether its number was free.
  [[nodiscard]] bool restore(model::KeyRecord key);
  /// Removes a key that must be there.
  void remove(base::KeyId id, ChangeLog& changes);
  void drain(command::Changes& out);

 private:
  std::map<std::uint64_t, model::KeyRecord> keys_;  ///< by sequence
  std::uint64_t revision_ = 0;
  std::vector<std::uint64_t> changed_;
};

}  // namespace jobbie::engine
