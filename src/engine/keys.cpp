// API keys by number; see keys.hpp.
#include "engine/keys.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace jobbie::engine {
namespace {

bool is_admin(const model::KeyRecord& key) {
  return (key.spec.scopes & model::scope_bit(model::Scope::admin)) != 0;
}

}  // namespace

const model::KeyRecord* Keys::find(base::KeyId id) const {
  const auto found = keys_.find(id.sequence());
  return found == keys_.end() || found->second.id != id ? nullptr : &found->second;
}

const model::KeyRecord* Keys::find_named(std::string_view name) const {
  for (const auto& [sequence, key] : keys_)
    if (key.spec.name.view() == name) return &key;
  return nullptr;
}

bool Keys::has_secret_of(const model::KeySpec& spec, const model::KeyRecord* except) const {
  return std::any_of(keys_.begin(), keys_.end(), [&](const auto& entry) {
    return &entry.second != except && entry.second.spec.digest == spec.digest;
  });
}

bool Keys::is_last_admin(const model::KeyRecord& key) const {
  return is_admin(key) && std::count_if(keys_.begin(), keys_.end(), [](const auto& entry) {
                            return is_admin(entry.second);
                          }) == 1;
}

const model::KeyRecord& Keys::add(model::KeyRecord key) {
  const auto sequence = key.id.sequence();
  const auto [entry, fresh] = keys_.emplace(sequence, std::move(key));
  JOBBIE_CHECK(fresh);
  changed_.push_back(sequence);
  ++revision_;
  return entry->second;
}

bool Keys::restore(model::KeyRecord key) {
  const auto sequence = key.id.sequence();
  return keys_.emplace(sequence, std::move(key)).second;
}

void Keys::remove(base::KeyId id, ChangeLog& changes) {
  JOBBIE_CHECK(keys_.erase(id.sequence()) == 1);
  changes.removed(command::RemovedKey{id});
  ++revision_;
}

void Keys::drain(command::Changes& out) {
  for (const auto sequence : std::exchange(changed_, {}))
    if (const auto found = keys_.find(sequence); found != keys_.end())
      out.emplace_back(command::Item(found->second));
}

}  // namespace jobbie::engine
