// Cursors and prefixes of ids.
#include "search/filter.hpp"

#include "base/bytes.hpp"
#include "base/hash.hpp"

namespace jobbie::search {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
/// Sort and order, the key, the sequence, and a short checksum of these and the filter.
constexpr std::size_t kCheckBytes = 4;
constexpr std::size_t kCursorBytes = 1 + 8 + 8 + kCheckBytes;
constexpr std::string_view kBase32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

std::string cursor_bytes(const Request& request, const Place& place) {
  std::string bytes;
  base::ByteWriter writer(bytes);
  writer.u8(static_cast<std::uint8_t>((static_cast<unsigned>(request.sort) << 1) |
                                      static_cast<unsigned>(request.order)));
  writer.u64(static_cast<std::uint64_t>(place.key));
  writer.u64(place.sequence);
  writer.u32(static_cast<std::uint32_t>(base::hash_bytes(bytes, request.filter_hash)));
  return bytes;
}

}  // namespace

std::string write_cursor(const Request& request, const Place& place) {
  std::string out;
  for (const char c : cursor_bytes(request, place)) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(kHex[byte >> 4]);
    out.push_back(kHex[byte & 15]);
  }
  return out;
}

std::optional<Place> read_cursor(std::string_view text, const Request& request) {
  if (text.size() != 2 * kCursorBytes) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto high = kHex.find(text[i]);
    const auto low = kHex.find(text[i + 1]);
    if (high == kHex.npos || low == kHex.npos) return std::nullopt;
    bytes.push_back(static_cast<char>((high << 4) | low));
  }
  base::ByteReader reader(bytes);
  static_cast<void>(reader.u8());
  Place place{.key = static_cast<std::int64_t>(reader.u64()), .sequence = reader.u64()};
  if (cursor_bytes(request, place) != bytes || place.sequence > base::kMaxSequence)
    return std::nullopt;
  return place;
}

std::optional<IdRange> ids_beginning_with(std::string_view prefix) {
  constexpr std::string_view kKind = base::JobKind::prefix;
  if (prefix.size() < kKind.size())
    return kKind.starts_with(prefix) ? ids_beginning_with(kKind) : std::nullopt;
  if (!prefix.starts_with(kKind)) return std::nullopt;
  std::string first(prefix.substr(kKind.size()));
  if (first.size() > base::Ulid::kTextLength) return std::nullopt;
  if (!first.empty() && first.front() > '7') return std::nullopt;
  for (const char c : first)
    if (kBase32.find(c) == kBase32.npos) return std::nullopt;
  std::string last = first;
  first.resize(base::Ulid::kTextLength, '0');
  if (last.empty()) last = "7";
  last.resize(base::Ulid::kTextLength, 'Z');
  return IdRange{.first = *base::Ulid::parse(first), .last = *base::Ulid::parse(last)};
}

}  // namespace jobbie::search
