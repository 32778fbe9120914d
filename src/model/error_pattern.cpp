// What makes two errors alike.
#include "model/error_pattern.hpp"

#include <algorithm>
#include <charconv>

#include "base/hash.hpp"

namespace jobbie::model {
namespace {

constexpr std::size_t kFingerprintDigits = 16;
constexpr std::size_t kUuidBytes = 36;
/// Shorter words are hexadecimal by accident.
constexpr std::size_t kLeastHex = 8;
/// Words with a digit that are this long are ids.
constexpr std::size_t kLeastId = 16;

bool is_decimal(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_decimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_word(char c) {
  return is_decimal(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_uuid(std::string_view text) {
  if (text.size() < kUuidBytes) return false;
  for (std::size_t i = 0; i < kUuidBytes; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return text.size() == kUuidBytes || !is_word(text[kUuidBytes]);
}

/// The length of a quoted string at the beginning of `text`; zero: there is none. An apostrophe
/// within a word does not begin one; the caller sees to that.
std::size_t quoted_length(std::string_view text) {
  const char quote = text.front();
  if (quote != '"' && quote != '\'' && quote != '`') return 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\n') return 0;
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      return i + 1;
    }
  }
  return 0;
}

void append_word(std::string_view word, std::string& out) {
  const bool digits = std::any_of(word.begin(), word.end(), is_decimal);
  const bool hex = word.size() >= kLeastHex && std::all_of(word.begin(), word.end(), is_hex);
  const bool prefixed = word.size() > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
  if (digits && (hex || prefixed || word.size() >= kLeastId)) {
    out.push_back('#');
    return;
  }
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (!is_decimal(word[i]))
      out.push_back(word[i]);
    else if (i == 0 || !is_decimal(word[i - 1]))
      out.push_back('#');
  }
}

}  // namespace

std::string normalise_error(std::string_view error) {
  const std::string_view text = error.substr(0, kTellingBytes);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto rest = text.substr(i);
    if (const auto length = quoted_length(rest); length > 0) {
      out.append(1, '?');
      i += length;
    } else if (is_uuid(rest)) {
      out.push_back('#');
      i += kUuidBytes;
    } else if (is_word(text[i])) {
      std::size_t end = i;
      // Within a word an apostrophe is a letter.
      while (end < text.size() &&
             (is_word(text[end]) ||
              (text[end] == '\'' && end + 1 < text.size() && is_word(text[end + 1]))))
        ++end;
      append_word(text.substr(i, end - i), out);
      i = end;
    } else {
      if (!is_space(text[i]))
        out.push_back(text[i]);
      else if (!out.empty() && out.back() != ' ')
        out.push_back(' ');
      ++i;
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::uint64_t fingerprint_of(std::string_view queue, std::string_view normalised) {
  return base::hash_combine(base::hash_bytes(queue), base::hash_bytes(normalised));
}

std::optional<std::uint64_t> parse_fingerprint(std::string_view text) {
  std::uint64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value, 16);
  if (parsed.ec != std::errc{} || parsed.ptr != end || text.size() != kFingerprintDigits)
    return std::nullopt;
  return value;
}

}  // namespace jobbie::model
