// Which characters HTTP allows where (RFC 9110, 9112, 3986), as tables that are made at compile
// time.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace jobbie::http {

/// For each byte its lower-case form if it may stand in a token (a header's name, a method), else
/// 0.
inline constexpr std::array<char, 256> kTokenLower = [] {
  std::array<char, 256> table{};
  for (int c = 0; c < 256; ++c) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
        (c < 128 && c > 32 &&
         std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos);
    const auto at = static_cast<std::size_t>(c);
    if (upper) table[at] = static_cast<char>(c - 'A' + 'a');
    if (plain) table[at] = static_cast<char>(c);
  }
  return table;
}();

constexpr char token_lower(char c) { return kTokenLower[static_cast<unsigned char>(c)]; }

/// The value of a hexadecimal digit, or -1.
constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Whether every byte may stand in a header's value: anything but control characters, tab excepted.
inline bool is_field_value(std::string_view text) {
  // Eight bytes at a time: a byte below 0x20 or equal to 0x7F sets its high bit. A borrow may set a
  // high bit wrongly, but only above a byte that is one, so a clean word is never taken for a bad
  // one and the reverse is settled by the slow look.
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kHighs = 0x8080808080808080ULL;
  const char* p = text.data();
  const char* const end = p + text.size();
  const auto plain = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7F) || byte == '\t';
  };
  for (; end - p >= 8; p += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, sizeof word);
    const std::uint64_t control = (word - kOnes * 0x20) & ~word;
    const std::uint64_t del = word ^ (kOnes * 0x7F);
    if (((control | ((del - kOnes) & ~del)) & kHighs) == 0) continue;
    for (int i = 0; i < 8; ++i)
      if (!plain(p[i])) return false;
  }
  for (; p != end; ++p)
    if (!plain(*p)) return false;
  return true;
}

/// Whether every byte may stand in a request target: printable ASCII without `#`, which never
/// leaves a client, and without what only an attempt at something else has in it.
inline bool is_target(std::string_view text) {
  for (const char c : text)
    if (c <= ' ' || c >= 0x7F || c == '#' || c == '"' || c == '<' || c == '>' || c == '\\')
      return false;
  return true;
}

/// Whether `text` can be the value of Host: an authority without user information.
inline bool is_host(std::string_view text) {
  for (const char c : text) {
    const bool fine = hex_value(c) >= 0 || (c >= 'g' && c <= 'z') || (c >= 'G' && c <= 'Z') ||
                      std::string_view(".-_:[]~%!$&'()*+,;=").find(c) != std::string_view::npos;
    if (!fine) return false;
  }
  return true;
}

}  // namespace jobbie::http
