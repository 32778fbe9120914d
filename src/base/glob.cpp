// Glob matching; see glob.hpp.
#include "base/glob.hpp"

#include <algorithm>
#include <cstddef>

namespace jobbie::base {

namespace {

constexpr auto kNone = std::string_view::npos;

bool fits(char sign, char c) { return sign == '?' || sign == c; }

/// Where `part`, which has no stars, is found first.
std::size_t find_part(std::string_view part, std::string_view text) {
  if (part.find('?') == kNone) return text.find(part);
  for (std::size_t at = 0; at + part.size() <= text.size(); ++at)
    if (std::equal(part.begin(), part.end(), text.begin() + static_cast<std::ptrdiff_t>(at), fits))
      return at;
  return kNone;
}

/// `stands_for` says whether a sign of the pattern that is no star stands for one of `text`.
template <typename StandsFor>
bool match(std::string_view pattern, std::string_view text, StandsFor stands_for) {
  std::size_t p = 0;
  std::size_t t = 0;
  // Where to go on when a character fails: behind the last star, having it swallow one more. An
  // earlier star need not be tried again: whatever it could swallow, the last one can too.
  std::size_t after_star = std::string_view::npos;
  std::size_t swallowed_to = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      swallowed_to = t;
    } else if (p < pattern.size() && stands_for(pattern[p], text[t])) {
      ++p;
      ++t;
    } else if (after_star != std::string_view::npos) {
      p = after_star;
      t = ++swallowed_to;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// Whether two signs that are no stars have a character in common.
bool meet(char a, char b) { return a == b || a == '?' || b == '?'; }

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
  while (!pattern.empty() && pattern.front() != '*') {
    if (text.empty() || !fits(pattern.front(), text.front())) return false;
    pattern.remove_prefix(1);
    text.remove_prefix(1);
  }
  if (pattern.empty()) return text.empty();
  while (pattern.back() != '*') {
    if (text.empty() || !fits(pattern.back(), text.back())) return false;
    pattern.remove_suffix(1);
    text.remove_suffix(1);
  }
  while (!pattern.empty()) {
    pattern.remove_prefix(1);  // a star
    const auto part = pattern.substr(0, pattern.find('*'));
    pattern.remove_prefix(std::min(part.size(), pattern.size()));
    const auto found = find_part(part, text);
    if (found == kNone) return false;
    text.remove_prefix(found + part.size());
  }
  return true;
}

Glob::Glob(std::string_view pattern) : pattern_(pattern) {
  const std::string_view own = pattern_;
  prefix_ = std::min(own.find_first_of("*?"), own.size());
  if (const auto last = own.find_last_of("*?"); last != kNone) suffix_ = own.size() - last - 1;
  const auto stars = static_cast<std::size_t>(std::count(own.begin(), own.end(), '*'));
  signs_ = own.size() - stars;
  only_one_star_ = stars == 1 && prefix_ + suffix_ == signs_;
  if (only_one_star_ || signs_ > kMostSigns) return;
  stands_for_ = std::make_unique<Signs>();
  Uint128 sign = 1;
  for (const char c : own) {
    if (c == '*') {
      stars_ |= sign;
      continue;
    }
    for (std::size_t other = 0; other < stands_for_->size(); ++other)
      if (c == '?' || other == static_cast<unsigned char>(c)) (*stands_for_)[other] |= sign;
    sign <<= 1;
  }
}

bool Glob::matches(std::string_view text) const {
  const std::string_view own = pattern_;
  if (text.size() < signs_ || !text.starts_with(own.substr(0, prefix_)) ||
      !text.ends_with(own.substr(own.size() - suffix_)))
    return false;
  if (only_one_star_) return true;
  return stands_for_ ? run(text) : glob_match(pattern_, text);
}

/// A bit is a place in the pattern that what was read so far may have led to.
bool Glob::run(std::string_view text) const {
  Uint128 places = 1;
  for (const char c : text) {
    places = ((places & (*stands_for_)[static_cast<unsigned char>(c)]) << 1) | (places & stars_);
    if (places == 0) return false;
  }
  return ((places >> signs_) & 1) != 0;
}

bool glob_covers(std::string_view outer, std::string_view inner) {
  // The stars of `inner` are matched by stars alone.
  return match(outer, inner, [](char p, char t) { return (p == '?' && t != '*') || p == t; });
}

bool glob_meets(std::string_view a, std::string_view b) {
  if (a.find('*') == kNone) return match(b, a, meet);
  if (b.find('*') == kNone) return match(a, b, meet);
  // What is between its first star and its last may stand anywhere in the other's stars.
  for (std::size_t i = 0; a[i] != '*' && b[i] != '*'; ++i)
    if (!meet(a[i], b[i])) return false;
  for (std::size_t i = 1; a[a.size() - i] != '*' && b[b.size() - i] != '*'; ++i)
    if (!meet(a[a.size() - i], b[b.size() - i])) return false;
  return true;
}

bool matches_any(const std::vector<Blob>& patterns, std::string_view text) {
  for (const Blob& pattern : patterns)
    if (glob_match(pattern.view(), text)) return true;
  return false;
}

bool is_glob(std::string_view pattern) {
  return pattern.find_first_of("*?") != std::string_view::npos;
}

}  // namespace jobbie::base
