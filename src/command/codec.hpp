// The binary form of entries, replies and items: what the log, the peers, the idempotency table and
// checkpoints hold. docs/formats/log-entry.md describes it byte by byte.
//
// The first byte is the format's version. Every struct is a bitmask of the fields that differ from
// their defaults and then only those, so a plain job costs a few bytes beside its payload. The
// fields of each struct are listed once, in command/fields.hpp, for both directions.
//
// Encoding appends and always gives the same bytes for equal values. Decoding trusts nothing: an
// unknown version, tag, field or enum value, a boolean or number out of range, a length beyond what
// is left and bytes left over are errors. Every decoded value encodes to bytes that decode to an
// equal value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "command/command.hpp"
#include "command/item.hpp"
#include "command/reply.hpp"

namespace jobbie::command {

inline constexpr std::uint8_t kFormatVersion = 1;
/// Of entries that bound their work; all others are written as version 1.
inline constexpr std::uint8_t kBoundedEntryVersion = 2;

/// Longer input is refused unread.
inline constexpr std::size_t kMaxEncodedBytes = std::size_t{1} << 30;

/// What elements of sequences may take in memory once decoded: kDecodeSlack and kDecodeFactor times
/// the input's size. No valid entry comes near it; it keeps a few forged bytes from becoming
/// gigabytes of empty jobs.
inline constexpr std::size_t kDecodeSlack = std::size_t{64} << 20;
inline constexpr std::size_t kDecodeFactor = 64;

// The codes of the errors. `position` is the offset of the value that could not be read.
inline constexpr std::string_view kUnknownVersion = "unknown_version";
inline constexpr std::string_view kCorruptEntry = "corrupt_entry";
inline constexpr std::string_view kCorruptReply = "corrupt_reply";
inline constexpr std::string_view kCorruptItem = "corrupt_item";

void encode(const Entry& entry, std::string& out);
void encode(const Reply& reply, std::string& out);
void encode(const Item& item, std::string& out);

[[nodiscard]] base::Result<Entry> decode_entry(std::string_view bytes);
[[nodiscard]] base::Result<Reply> decode_reply(std::string_view bytes);
[[nodiscard]] base::Result<Item> decode_item(std::string_view bytes);

}  // namespace jobbie::command
