// Glob matching by remembering only the last star; see glob.hpp.
#include "base/glob.hpp"

#include <cstddef>

namespace jobbie::base {

namespace {

/// With `patterns` set, `text` is a pattern too, and its stars are matched by stars alone.
template <bool patterns>
bool match(std::string_view pattern, std::string_view text) {
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
    } else if (p < pattern.size() &&
               ((pattern[p] == '?' && !(patterns && text[t] == '*')) || pattern[p] == text[t])) {
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

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
  return match<false>(pattern, text);
}

bool glob_covers(std::string_view outer, std::string_view inner) {
  return match<true>(outer, inner);
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
