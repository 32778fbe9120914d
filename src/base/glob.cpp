// Glob matching by remembering only the last star; see glob.hpp.
#include "base/glob.hpp"

#include <cstddef>

namespace jobbie::base {

bool glob_match(std::string_view pattern, std::string_view text) {
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
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
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

bool is_glob(std::string_view pattern) {
  return pattern.find_first_of("*?") != std::string_view::npos;
}

}  // namespace jobbie::base
