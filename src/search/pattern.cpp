// Reading patterns, and finding one piece after the other.
#include "search/pattern.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "search/jq.hpp"
#include "search/text_finder.hpp"

namespace jobbie::search {
namespace {

constexpr auto kNotFound = std::string_view::npos;
constexpr std::size_t kWordBits = 64;
/// Comparisons that the plain search may waste before the one by bits takes over: so many, and so
/// many more for each byte that was passed.
constexpr std::uint64_t kFreeComparisons = 4096;
constexpr std::uint64_t kFreeComparisonsForEach = 4;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// How many bytes of the piece stand at `at`.
std::size_t matched_at(const Pattern::Piece& piece, std::string_view text, std::size_t at) {
  std::size_t i = 0;
  while (i < piece.bytes.size() && (piece.any[i] || piece.bytes[i] == text[at + i])) ++i;
  return i;
}

bool piece_at(const Pattern::Piece& piece, std::string_view text, std::size_t at, Budget& budget) {
  budget.spend(piece.bytes.size());
  return matched_at(piece, text, at) == piece.bytes.size();
}

/// Shift-and: a bit for each byte of the piece says whether the text up to here ends with the piece
/// up to there.
std::size_t find_by_bits(const Pattern::Piece& piece, std::string_view text, std::size_t from,
                         Budget& budget) {
  const std::size_t size = piece.bytes.size();
  const std::size_t words = (size + kWordBits - 1) / kWordBits;
  const auto bit = [](std::size_t i) { return std::uint64_t{1} << (i % kWordBits); };
  std::vector<std::uint64_t> fits(words);  // for one byte after the other, where it may stand
  for (std::size_t i = 0; i < size; ++i)
    if (piece.any[i]) fits[i / kWordBits] |= bit(i);
  fits.reserve(256 * words);
  for (std::size_t i = words; i < 256 * words; ++i) fits.push_back(fits[i - words]);
  for (std::size_t i = 0; i < size; ++i)
    fits[static_cast<unsigned char>(piece.bytes[i]) * words + i / kWordBits] |= bit(i);
  std::vector<std::uint64_t> state(words);
  for (std::size_t i = from; i < text.size(); ++i) {
    if (!budget.spend(words)) return kNotFound;
    const std::uint64_t* const fit = &fits[static_cast<unsigned char>(text[i]) * words];
    std::uint64_t carry = 1;
    for (std::size_t w = 0; w < words; ++w) {
      const std::uint64_t before = state[w];
      state[w] = (before << 1 | carry) & fit[w];
      carry = before >> (kWordBits - 1);
    }
    if ((state.back() & bit(size - 1)) != 0) return i + 1 - size;
  }
  return kNotFound;
}

std::size_t find_piece(const Pattern::Piece& piece, std::string_view text, std::size_t from,
                       Budget& budget) {
  const std::size_t size = piece.bytes.size();
  if (!piece.has_any) {
    const auto at = find_text(text.substr(from), piece.bytes, budget);
    return at == kNotFound ? kNotFound : from + at;
  }
  std::uint64_t in_vain = 0;
  for (std::size_t at = from; at + size <= text.size(); ++at) {
    const std::size_t matched = matched_at(piece, text, at);
    if (!budget.spend(matched + 1)) return kNotFound;
    if (matched == size) return at;
    in_vain += matched;
    if (in_vain > kFreeComparisons + kFreeComparisonsForEach * (at - from))
      return find_by_bits(piece, text, at + 1, budget);
  }
  return kNotFound;
}

}  // namespace

base::Result<Pattern> parse_pattern(std::string_view text) {
  constexpr std::string_view kBeyond = "*+?()[]{}|^$";
  Pattern out;
  if (text.starts_with('^')) {
    out.at_start = true;
    text.remove_prefix(1);
  }
  out.pieces.emplace_back();
  for (std::size_t i = 0; i < text.size(); ++i) {
    Pattern::Piece& piece = out.pieces.back();
    char c = text[i];
    if (c == '$' && i + 1 == text.size()) {
      out.at_end = true;
      break;
    }
    const bool any = c == '.';
    if (any && i + 1 < text.size() && text[i + 1] == '*') {
      ++i;
      out.pieces.emplace_back();
      continue;
    }
    const bool escaped = c == '\\' && i + 1 < text.size() && !is_letter_or_digit(text[i + 1]);
    if (escaped) c = text[++i];
    if (!escaped && (c == '\\' || kBeyond.find(c) != std::string_view::npos))
      return std::unexpected(base::Error{
          .code = std::string(kBadJq),
          .message = fmt::format("test knows characters, \".\", \".*\", \"^\" and \"$\", not "
                                 "\"{}\" (write \"\\\\{}\" for the character itself)",
                                 c, c),
          .position = i});
    piece.bytes.push_back(c);
    piece.any.push_back(any);
    piece.has_any = piece.has_any || any;
  }
  return out;
}

/// Each piece where it stands first: whatever follows then has the most room.
bool occurs(const Pattern& pattern, std::string_view text, Budget& budget) {
  std::size_t from = 0;
  for (std::size_t i = 0; i < pattern.pieces.size(); ++i) {
    const auto& piece = pattern.pieces[i];
    if (from + piece.bytes.size() > text.size()) return false;
    const std::size_t at_end = text.size() - piece.bytes.size();
    const bool first = i == 0 && pattern.at_start;
    if (i + 1 == pattern.pieces.size() && pattern.at_end)
      return (!first || at_end == 0) && piece_at(piece, text, at_end, budget);
    const std::size_t at = first ? (piece_at(piece, text, 0, budget) ? 0 : kNotFound)
                                 : find_piece(piece, text, from, budget);
    if (at == kNotFound) return false;
    from = at + piece.bytes.size();
  }
  return true;
}

}  // namespace jobbie::search
