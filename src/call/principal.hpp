// Who asks: the holder of a key, somebody who did not have to show one, or the node itself.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "call/keys.hpp"

namespace jobbie::call {

/// Every request carries one. A default one is the node itself. What it may do is decided in
/// call/gate.hpp and nowhere else; the engine judges jobs and schedules that are named by their ids
/// by the same grant.
struct Principal {
  /// Of the key that was shown; null: everything is allowed.
  GrantPtr grant;
  /// What questions to the database are shared out by: a number made of the key or, without one, of
  /// the client's address. Zero: the node itself.
  std::uint64_t caller = 0;

  static Principal holder_of(GrantPtr grant) {
    const auto id = grant->key.ulid;
    return {.grant = std::move(grant), .caller = not_the_node(base::hash_combine(id.high, id.low))};
  }
  static Principal anonymous(std::string_view address) {
    return {.grant = nullptr, .caller = not_the_node(base::hash_bytes(address))};
  }

 private:
  static std::uint64_t not_the_node(std::uint64_t hash) { return hash == 0 ? 1 : hash; }
};

}  // namespace jobbie::call
