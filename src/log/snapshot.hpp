// The message with which a leader announces a state to a follower that cannot be helped with
// entries. The core of the sender makes it; the core of the receiver never sees it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "consensus/core.hpp"
#include "log/configuration.hpp"

namespace jobbie::log {

struct SnapshotMessage {
  std::uint64_t from = 0;  ///< the leader
  std::uint64_t to = 0;
  std::uint64_t term = 0;  ///< the leader's
  consensus::Position at;  ///< the entry after which the state is
  Configured configured;   ///< there
};

/// `malformed` if it is no such message.
[[nodiscard]] base::Result<SnapshotMessage> read_snapshot_message(std::string_view bytes);

}  // namespace jobbie::log
