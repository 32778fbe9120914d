// What nodes of a cluster say to one another beside the log's own messages, and its bytes.
//
// Whatever is decoded here comes from an authenticated peer, perhaps of another version: nothing in
// it is trusted to be whole. docs/formats/cluster.md describes the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "call/call.hpp"
#include "command/command.hpp"
#include "command/reply.hpp"
#include "log/configuration.hpp"

namespace jobbie::cluster {

/// Kinds of frames. Numbers are never used again.
enum class Kind : std::uint8_t {
  log = 1,      ///< a message of the Raft core
  forward = 2,  ///< a call for the leader
  reply = 3,    ///< what came of it
  cancel = 4,   ///< nobody waits for it any more
  join = 5,     ///< a node without a log wants to be taken in
  welcome = 6,  ///< the configuration, for a newcomer or somebody who was removed
  found = 7,    ///< the founders of a new cluster
  founded = 8,  ///< one of them has begun its log
  invite = 9,   ///< a node without a log is asked to join
  manage = 10,  ///< a change of the cluster that somebody wants
  managed = 11,
  time = 12,       ///< the leader's log time, in milliseconds
  reckoning = 13,  ///< what a node without a leader takes the log time to be; others may ignore it
};

constexpr std::uint8_t wire(Kind kind) { return static_cast<std::uint8_t>(kind); }

/// A call on its way to the leader. Its number is the sender's own.
struct Forwarded {
  std::uint64_t number = 0;
  base::Duration wait;
  std::string key_digest;  ///< of the caller's key; empty: everything is allowed
  std::vector<command::Command> commands;
  std::optional<command::RecordAction> audit;
};

struct Replied {
  std::uint64_t number = 0;
  call::Trouble trouble = call::Trouble::none;
  std::uint64_t index = 0;  ///< a state at this place in the log shows what was done
  std::vector<command::Reply> replies;
};

struct Managed {
  std::uint64_t number = 0;
  call::ClusterAnswer answer;
};

/// Commands are not copied: the call keeps them until it is known that they arrived.
[[nodiscard]] std::string encode_forward(std::uint64_t number, const call::Call& call,
                                         base::Duration wait);
[[nodiscard]] std::string encode_reply(std::uint64_t number, std::uint64_t index,
                                       const call::Call& call);
[[nodiscard]] std::string encode_number(std::uint64_t number);
[[nodiscard]] std::string encode_member(const log::Member& member);
/// The configuration that a newcomer begins with, and the entry from which on it holds.
struct Welcome {
  std::uint64_t index = 0;
  log::Configuration configuration;
};
[[nodiscard]] std::string encode(const Welcome& welcome);
[[nodiscard]] std::string encode_manage(std::uint64_t number, const call::ClusterChange& change);
[[nodiscard]] std::string encode(const Managed& managed);

// The error's code is `bad_frame`.
[[nodiscard]] base::Result<Forwarded> decode_forward(std::string_view bytes);
[[nodiscard]] base::Result<Replied> decode_reply(std::string_view bytes);
[[nodiscard]] base::Result<std::uint64_t> decode_number(std::string_view bytes);
[[nodiscard]] base::Result<log::Member> decode_member(std::string_view bytes);
[[nodiscard]] base::Result<Welcome> decode_welcome(std::string_view bytes);
[[nodiscard]] base::Result<std::pair<std::uint64_t, call::ClusterChange>> decode_manage(
    std::string_view bytes);
[[nodiscard]] base::Result<Managed> decode_managed(std::string_view bytes);

}  // namespace jobbie::cluster
