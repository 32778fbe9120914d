// One text, looked for in many.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace jobbie::search {

/// Two bytes of the text that are rare in JSON are looked for, sixteen places at a time; only where
/// both stand is the rest compared. Nothing is prepared for each text that is searched, which for
/// texts of a few hundred bytes would cost more than the search.
class TextFinder {
 public:
  explicit TextFinder(std::string wanted);

  /// Whether `text` contains the wanted text; the empty one is everywhere.
  [[nodiscard]] bool in(std::string_view text) const;
  [[nodiscard]] const std::string& wanted() const { return wanted_; }

 private:
  std::string wanted_;
  std::size_t near_ = 0;  ///< where the two bytes stand in it, near_ <= far_
  std::size_t far_ = 0;
};

}  // namespace jobbie::search
