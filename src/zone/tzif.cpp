// Decodes TZif files; see tzif.hpp.
#include "zone/tzif.hpp"

#include <utility>

namespace jobbie::zone {
namespace {

constexpr std::size_t kHeaderBytes = 44;
constexpr std::size_t kTypeBytes = 6;

std::unexpected<base::Error> bad(std::string message, std::size_t position) {
  return std::unexpected(base::Error{std::string(kBadTzif), std::move(message), position});
}

// The big-endian number of `size` bytes at `pos`, which the caller knows to be there.
std::uint64_t read_unsigned(std::string_view bytes, std::size_t pos, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value = value << 8U | static_cast<unsigned char>(bytes[pos + i]);
  return value;
}

struct Header {
  char version = 0;
  std::size_t isutcnt = 0;
  std::size_t isstdcnt = 0;
  std::size_t leapcnt = 0;
  std::size_t timecnt = 0;
  std::size_t typecnt = 0;
  std::size_t charcnt = 0;

  // Counts are 32 bits each, so that the sum fits 64.
  [[nodiscard]] std::size_t body_bytes(std::size_t time_bytes) const {
    return timecnt * (time_bytes + 1) + typecnt * kTypeBytes + charcnt +
           leapcnt * (time_bytes + 4) + isstdcnt + isutcnt;
  }
};

base::Result<Header> read_header(std::string_view bytes, std::size_t pos) {
  if (bytes.size() < pos || bytes.size() - pos < kHeaderBytes)
    return bad("the file is cut short", bytes.size());
  if (bytes.substr(pos, 4) != "TZif") return bad("not a TZif file", pos);
  const auto count = [&](std::size_t i) -> std::size_t {
    return read_unsigned(bytes, pos + 20 + 4 * i, 4);
  };
  return Header{.version = bytes[pos + 4],
                .isutcnt = count(0),
                .isstdcnt = count(1),
                .leapcnt = count(2),
                .timecnt = count(3),
                .typecnt = count(4),
                .charcnt = count(5)};
}

// The changes of the 64-bit part whose times begin at `pos`; the caller checked that it is all
// there.
base::Result<Tzif> read_body(std::string_view bytes, std::size_t pos, const Header& header) {
  const std::size_t indexes = pos + 8 * header.timecnt;
  const std::size_t types = indexes + header.timecnt;
  const auto offset_of_type = [&](std::size_t type) {
    return static_cast<std::int32_t>(
        static_cast<std::uint32_t>(read_unsigned(bytes, types + kTypeBytes * type, 4)));
  };
  Tzif result;
  result.base_offset_s = offset_of_type(0);
  for (std::size_t i = 0; i < header.timecnt; ++i) {
    const auto at_s = static_cast<std::int64_t>(read_unsigned(bytes, pos + 8 * i, 8));
    const auto type = static_cast<std::size_t>(static_cast<unsigned char>(bytes[indexes + i]));
    if (type >= header.typecnt) return bad("a transition has an unknown type", indexes + i);
    if (!result.changes.empty() && at_s <= result.changes.back().at_s)
      return bad("transitions do not ascend", pos + 8 * i);
    result.changes.push_back({at_s, offset_of_type(type)});
  }
  return result;
}

}  // namespace

base::Result<Tzif> decode_tzif(std::string_view bytes) {
  if (bytes.size() > kMaxTzifBytes) return bad("the file is too large", kMaxTzifBytes);
  const auto old_header = read_header(bytes, 0);
  if (!old_header) return std::unexpected(old_header.error());
  if (old_header->version < '2') return bad("version 1 files are not supported", 4);

  const std::size_t header_pos = kHeaderBytes + old_header->body_bytes(4);
  const auto header = read_header(bytes, header_pos);
  if (!header) return std::unexpected(header.error());
  if (header->typecnt == 0) return bad("the file has no local time", header_pos);
  if (header->leapcnt != 0) return bad("files with leap seconds are not supported", header_pos);
  const std::size_t body_pos = header_pos + kHeaderBytes;
  if (header->body_bytes(8) > bytes.size() - body_pos)
    return bad("the file is cut short", bytes.size());
  auto result = read_body(bytes, body_pos, *header);
  if (!result) return result;

  const std::string_view rest = bytes.substr(body_pos + header->body_bytes(8));
  const std::size_t end = rest.find('\n', 1);
  if (rest.empty() || rest[0] != '\n' || end == std::string_view::npos)
    return bad("the footer is missing", bytes.size() - rest.size());
  result->footer = rest.substr(1, end - 1);
  return result;
}

}  // namespace jobbie::zone
