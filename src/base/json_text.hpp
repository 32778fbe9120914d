// The characters of JSON strings: plain runs, UTF-8 and escapes. Shared by reader and writer.
//
// Everything here looks at bytes alone, never allocates, and reads nothing past `end`.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace jobbie::base::json::text {

/// How many of the eight bytes of `word` (the first in the lowest bits) come before one that ends a
/// run of plain characters: a quote, a backslash, a control character or a byte beyond ASCII. Each
/// term sets a byte's high bit where its condition holds. A borrow can set it wrongly too, but only
/// above a byte where it holds, so the lowest one is right.
inline std::size_t plain_bytes(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kHighs = 0x8080808080808080ULL;
  const auto zero_byte = [](std::uint64_t x) { return (x - kOnes) & ~x; };
  const std::uint64_t control = (word - kOnes * 0x20) & ~word;
  const std::uint64_t quote = zero_byte(word ^ (kOnes * '"'));
  const std::uint64_t backslash = zero_byte(word ^ (kOnes * '\\'));
  const std::uint64_t special = (word | control | quote | backslash) & kHighs;
  return static_cast<std::size_t>(std::countr_zero(special)) / 8;
}

/// Behind a run of plain characters, sixteen and then eight at a time; near `end` it may leave
/// some.
inline const char* skip_plain(const char* p, const char* end) {
#if defined(__SSE2__)
  while (end - p >= 16) {
    __m128i bytes;
    std::memcpy(&bytes, p, sizeof bytes);
    // Compared as signed numbers, bytes beyond ASCII are below the space like control characters.
    const __m128i low = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
    const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    const auto special =
        static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(low, _mm_or_si128(quote, backslash))));
    if (special != 0) return p + std::countr_zero(special);
    p += 16;
  }
#endif
  while (end - p >= 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, p, 8);
    const std::size_t passed = plain_bytes(eight);
    p += passed;
    if (passed != 8) break;
  }
  return p;
}

/// The length of the valid UTF-8 sequence that begins at `p`, or 0 (overlong forms, surrogates and
/// numbers past U+10FFFF are not valid).
inline std::size_t utf8_length(const char* p, const char* end) {
  const auto byte = [p](std::size_t i) { return static_cast<unsigned char>(p[i]); };
  const auto left = static_cast<std::size_t>(end - p);
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return left >= 2 && continues(1) ? 2 : 0;
  if (lead < 0xF0) {
    if (left < 3 || !continues(1) || !continues(2)) return 0;
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;
    if (lead == 0xED && byte(1) >= 0xA0) return 0;
    return 3;
  }
  if (lead > 0xF4 || left < 4 || !continues(1) || !continues(2) || !continues(3)) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) >= 0x90) return 0;
  return 4;
}

bool is_utf8(std::string_view bytes);

/// The value of four hexadecimal digits, or -1.
int hex4(const char* p, const char* end);

constexpr bool is_high_surrogate(int unit) { return unit >= 0xD800 && unit < 0xDC00; }
constexpr bool is_low_surrogate(int unit) { return unit >= 0xDC00 && unit < 0xE000; }

/// Sets `out` to the text that the inside of a valid string literal stands for.
void unescape(std::string_view inside, std::string& out);

}  // namespace jobbie::base::json::text
