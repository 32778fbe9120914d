// Looking up grants.
#include "call/keys.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/digest.hpp"
#include "base/glob.hpp"

namespace jobbie::call {
namespace {

std::uint64_t prefix_of(std::string_view digest) {
  std::uint64_t out = 0;
  std::memcpy(&out, digest.data(), std::min(digest.size(), sizeof(out)));
  return out;
}

}  // namespace

bool Grant::allows(std::string_view queue) const {
  return all_queues || base::matches_any(queues, queue);
}

bool Grant::covers(std::string_view pattern) const {
  return all_queues || std::any_of(queues.begin(), queues.end(), [&](const base::Blob& mine) {
           return base::glob_covers(mine.view(), pattern);
         });
}

bool Grant::meets(std::string_view pattern) const {
  return all_queues || std::any_of(queues.begin(), queues.end(), [&](const base::Blob& mine) {
           return base::glob_meets(mine.view(), pattern);
         });
}

KeyRing::KeyRing(const std::vector<model::KeyRecord>& keys) {
  for (const auto& key : keys) {
    const auto& spec = key.spec;
    const bool all = std::any_of(spec.queues.begin(), spec.queues.end(),
                                 [](const base::Blob& glob) { return glob.view() == "*"; });
    by_prefix_.emplace(
        prefix_of(spec.digest.view()),
        std::make_shared<const Grant>(Grant{.key = key.id,
                                            .name = std::string(spec.name.view()),
                                            .scopes = spec.scopes,
                                            .queues = spec.queues,
                                            .all_queues = all,
                                            .digest = std::string(spec.digest.view())}));
  }
}

GrantPtr KeyRing::find(std::string_view digest) const {
  const auto [begin, end] = by_prefix_.equal_range(prefix_of(digest));
  for (auto it = begin; it != end; ++it)
    if (base::constant_time_equal(it->second->digest, digest)) return it->second;
  return nullptr;
}

bool KeyRing::holds(const Grant& grant) const {
  const auto found = find(grant.digest);
  return found != nullptr && found->key == grant.key;
}

void KeyBoard::publish(std::shared_ptr<const KeyRing> ring) {
  const std::lock_guard lock(mutex_);
  ring_ = std::move(ring);
  generation_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<const KeyRing> KeyBoard::current() const {
  const std::lock_guard lock(mutex_);
  return ring_;
}

}  // namespace jobbie::call
