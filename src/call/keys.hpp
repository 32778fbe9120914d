// API keys as faces use them: a ring of grants that never changes, replaced when a key does.
//
// The node publishes a ring on the board. Each io thread holds on to the one that it saw last and
// looks for a newer one by a number alone, so that a request takes no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/blob.hpp"
#include "base/id.hpp"
#include "model/access.hpp"

namespace jobbie::call {

/// What the holder of a key may do.
struct Grant {
  base::KeyId key;
  std::string name;
  std::uint32_t scopes = 0;
  std::vector<base::Blob> queues;
  bool all_queues = false;
  std::string digest;  ///< of the secret

  /// `admin` stands for all.
  [[nodiscard]] bool has(model::Scope scope) const {
    return (scopes & (model::scope_bit(scope) | model::scope_bit(model::Scope::admin))) != 0;
  }
  [[nodiscard]] bool allows(std::string_view queue) const;
  /// Whether it allows every queue that a claim's pattern can match.
  [[nodiscard]] bool covers(std::string_view pattern) const;
  /// Whether it allows a queue that the pattern can match.
  [[nodiscard]] bool meets(std::string_view pattern) const;
};
/// Shared, because a request under way keeps its grant while the ring is replaced.
using GrantPtr = std::shared_ptr<const Grant>;

/// Immutable, and so read by all threads.
class KeyRing {
 public:
  explicit KeyRing(const std::vector<model::KeyRecord>& keys);
  /// Of the key whose secret has this digest; null: there is none.
  [[nodiscard]] GrantPtr find(std::string_view digest) const;
  /// Whether the grant's key is still there, unchanged.
  [[nodiscard]] bool holds(const Grant& grant) const;

 private:
  std::unordered_multimap<std::uint64_t, GrantPtr> by_prefix_;  ///< by the digest's first bytes
};

class KeyBoard {
 public:
  /// From the node's thread.
  void publish(std::shared_ptr<const KeyRing> ring);
  /// From any thread: rises with every ring.
  [[nodiscard]] std::uint64_t generation() const {
    return generation_.load(std::memory_order_acquire);
  }
  /// From any thread; never null.
  [[nodiscard]] std::shared_ptr<const KeyRing> current() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const KeyRing> ring_ =
      std::make_shared<const KeyRing>(std::vector<model::KeyRecord>{});
  std::atomic<std::uint64_t> generation_ = 1;
};

/// One thread's view of a board.
class KeyView {
 public:
  [[nodiscard]] const KeyRing& of(const KeyBoard& board) {
    if (const auto now = board.generation(); now != seen_) {
      ring_ = board.current();
      seen_ = now;
    }
    return *ring_;
  }

 private:
  std::shared_ptr<const KeyRing> ring_;
  std::uint64_t seen_ = 0;
};

}  // namespace jobbie::call
