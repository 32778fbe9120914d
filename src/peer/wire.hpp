// The bytes of a connection, without the connection: preface, hello, the head of a frame, and the
// small messages of the transport's own. docs/formats/peer.md is the same in words.
//
// Whatever is decoded here may come from a stranger: every length is bounded before it is believed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "peer/hello.hpp"

namespace jobbie::peer {

inline constexpr std::string_view kMagic = "JOBBIEPR";
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kProofBytes = 32;
inline constexpr std::size_t kPrefaceBytes = 8 + 4 + 1 + kNonceBytes;
/// A frame: length of what follows the head (u32), kind (u8); then payload and, if sealed, tag.
inline constexpr std::size_t kHeadBytes = 5;
/// Longest frame of those who have not proven yet that they belong to us.
inline constexpr std::size_t kMaxEarlyFrame = 4096;

/// What a connection is for; the one who dials says it.
enum class Purpose : std::uint8_t { frames = 0, snapshot = 1 };

/// Kinds of frames that the transport keeps to itself.
enum class OwnKind : std::uint8_t {
  hello = 240,
  refused = 241,
  ping = 242,
  pong = 243,
  snapshot_begin = 244,
  snapshot_data = 245,
  snapshot_end = 246,
  snapshot_result = 247,
};
constexpr std::uint8_t number(OwnKind kind) { return static_cast<std::uint8_t>(kind); }

/// The first bytes each way. Magic and version stay where they are in every version to come.
struct Preface {
  std::uint32_t version = kVersion;
  Purpose purpose = Purpose::frames;
  std::array<char, kNonceBytes> nonce{};
  bool operator==(const Preface&) const = default;
};
void encode(const Preface& preface, std::string& out);
/// Errors: `not_a_node`, `malformed`. Another version is no error here: nothing behind the number
/// is looked at then.
base::Result<Preface> decode_preface(std::string_view bytes);

/// A hello as it travels: with a number that tells one life of a process from another.
struct Greeting {
  Hello hello;
  std::uint64_t instance = 0;
  bool operator==(const Greeting&) const = default;
};
/// Nothing if others would take it.
base::Result<void> check(const Hello& hello);
void encode(const Greeting& greeting, std::string& out);
base::Result<Greeting> decode_greeting(std::string_view bytes);

/// A refusal, with its reason; also the answer to a snapshot (an empty code is a yes).
struct Verdict {
  std::string code;
  std::string message;
  bool operator==(const Verdict&) const = default;
};
void encode(const Verdict& verdict, std::string& out);
base::Result<Verdict> decode_verdict(std::string_view bytes);

struct SnapshotBegin {
  std::uint64_t bytes = 0;
  std::string header;
  bool operator==(const SnapshotBegin&) const = default;
};
void encode(const SnapshotBegin& begin, std::string& out);
base::Result<SnapshotBegin> decode_snapshot_begin(std::string_view bytes);

}  // namespace jobbie::peer
