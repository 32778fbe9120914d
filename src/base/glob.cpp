// Glob matching by remembering only the last star; see glob.hpp.
#include "base/glob.hpp"

#include <cstddef>

namespace jobbie::base {

namespace {

/// `fits` says whether a sign of the pattern that is no star stands for one of `text`.
template <typename Fits>
bool match(std::string_view pattern, std::string_view text, Fits fits) {
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
    } else if (p < pattern.size() && fits(pattern[p], text[t])) {
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
  return match(pattern, text, [](char p, char t) { return p == '?' || p == t; });
}

bool glob_covers(std::string_view outer, std::string_view inner) {
  // The stars of `inner` are matched by stars alone.
  return match(outer, inner, [](char p, char t) { return (p == '?' && t != '*') || p == t; });
}

bool glob_meets(std::string_view a, std::string_view b) {
  constexpr auto kNone = std::string_view::npos;
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
