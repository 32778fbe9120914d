// The regular expressions of `test`: without choice and repetition, so that they cannot run long.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "search/budget.hpp"

namespace jobbie::search {

/// `^`, `$`, `.`, `.*` and characters.
struct Pattern {
  struct Piece {
    std::string bytes;
    std::vector<bool> any;  ///< which of the bytes stand for any character
    bool has_any = false;   ///< at least one does
  };
  std::vector<Piece> pieces;  ///< parted by `.*`
  bool at_start = false;
  bool at_end = false;
};

/// The pattern that `text` stands for; an error at the byte that is beyond the subset.
[[nodiscard]] base::Result<Pattern> parse_pattern(std::string_view text);

/// Whether it occurs in `text`; any answer where the budget is over. Takes time O(|pattern| +
/// |text|), and for pieces with `.` O(|piece| / 64) for each byte of the text at worst.
[[nodiscard]] bool occurs(const Pattern& pattern, std::string_view text, Budget& budget);

}  // namespace jobbie::search
