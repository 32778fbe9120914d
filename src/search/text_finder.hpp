// One text, looked for in many.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "search/budget.hpp"

namespace jobbie::search {

/// Where `wanted` first stands in `text`; npos: nowhere, or the budget is over. Takes time
/// O(|text| + |wanted|) and no memory, whatever the two are.
[[nodiscard]] std::size_t find_text(std::string_view text, std::string_view wanted, Budget& budget);

/// Two bytes of the text that are rare in JSON are looked for, sixteen places at a time; only where
/// both stand is the rest compared. Nothing is prepared for each text that is searched, which for
/// texts of a few hundred bytes would cost more than the search.
class TextFinder {
 public:
  explicit TextFinder(std::string wanted);

  /// Whether `text` contains the wanted text; the empty one is everywhere. As find_text().
  [[nodiscard]] bool in(std::string_view text, Budget& budget) const;
  [[nodiscard]] const std::string& wanted() const { return wanted_; }

 private:
  std::string wanted_;
  std::size_t near_ = 0;  ///< where the two bytes stand in it, near_ <= far_
  std::size_t far_ = 0;
};

}  // namespace jobbie::search
