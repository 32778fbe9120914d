// Bytes as a stranger on the cluster's port may send them, chosen by the first one: as a listener's
// or a dialler's other side, as frames in pieces, or as one of the messages inside. Each decoder
// ends in an error or in a value that encodes to the same bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "peer/address.hpp"
#include "peer/frame_reader.hpp"
#include "peer/handshake.hpp"
#include "peer/wire.hpp"

namespace {

using namespace jobbie;

template <typename T>
void check_stable(std::string_view bytes, base::Result<T> (*decode)(std::string_view)) {
  const auto value = decode(bytes);
  if (!value) return;
  std::string again;
  peer::encode(*value, again);
  JOBBIE_CHECK(again == bytes);
}

/// Another version's preface is not looked at behind the version.
void check_preface(std::string_view bytes) {
  const auto preface = peer::decode_preface(bytes);
  if (preface && preface->version == peer::kVersion) check_stable(bytes, peer::decode_preface);
}

/// Feeds in pieces of at most `piece` bytes.
template <typename Take>
void feed(peer::FrameReader& reader, std::string_view bytes, std::size_t piece, Take take) {
  while (!bytes.empty()) {
    const auto space = reader.space();
    JOBBIE_CHECK(!space.empty());
    const std::size_t some = std::min({space.size(), bytes.size(), piece});
    bytes.copy(space.data(), some);
    reader.filled(some);
    bytes.remove_prefix(some);
    if (!take()) return;
  }
}

void check_frames(std::string_view bytes, std::size_t piece) {
  constexpr std::size_t kLongest = 1000;
  peer::FrameReader reader(kLongest);
  peer::Seal none;
  std::string again;
  feed(reader, bytes, piece, [&] {
    for (;;) {
      const auto frame = reader.next(none);
      if (!frame) return false;
      if (!*frame) return true;
      JOBBIE_CHECK((*frame)->payload.size() <= kLongest);
      peer::Seal().seal((*frame)->kind, (*frame)->payload, again);
    }
  });
  JOBBIE_CHECK(bytes.starts_with(again));
}

/// A stranger without the secret never gets to the end, and is told no more than a preface and a
/// proof.
void check_handshake(std::string_view bytes, peer::Role role, bool sealed) {
  peer::Handshake handshake({.role = role,
                             .secret = {1},
                             .self = {.hello = {.node_id = 1, .name = "n"}, .instance = 1},
                             .sealed = sealed});
  peer::FrameReader reader(peer::kMaxEarlyFrame);
  std::string out;
  JOBBIE_CHECK(handshake.advance(reader, out).has_value());
  feed(reader, bytes, 64, [&] {
    const auto done = handshake.advance(reader, out);
    JOBBIE_CHECK(!done || !*done);
    return done.has_value();
  });
  JOBBIE_CHECK(out.size() <= peer::kPrefaceBytes + peer::kProofBytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 8) {
    case 0:
      check_stable(bytes, peer::decode_greeting);
      break;
    case 1:
      check_stable(bytes, peer::decode_verdict);
      break;
    case 2:
      check_stable(bytes, peer::decode_snapshot_begin);
      break;
    case 3:
      check_preface(bytes);
      break;
    case 4:
      check_handshake(bytes, peer::Role::listener, data[0] < 128);
      break;
    case 5:
      check_handshake(bytes, peer::Role::dialler, data[0] < 128);
      break;
    case 6:
      static_cast<void>(peer::parse_address(bytes));
      break;
    default:
      check_frames(bytes, data[0]);
  }
  return 0;
}
