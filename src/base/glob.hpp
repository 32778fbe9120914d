// Globs for queue names and keys: `*` is any run of characters, dots included, `?` is exactly one.
//
// There is no escape and no character class: the names they are matched against contain neither
// sign. Characters are bytes.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/blob.hpp"
#include "base/wide.hpp"

namespace jobbie::base {

/// Whether the whole of `text` matches, without memory. What stands before the first star and
/// behind the last is compared once; each part between two stars is searched for once, behind the
/// place where the part before it was found, and nothing is ever tried again.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

/// A pattern that many texts are matched against. One text takes O(|text|), whatever the pattern:
/// all places in the pattern where the match may stand are bits of one number.
class Glob {
 public:
  explicit Glob(std::string_view pattern);
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  /// By character: which signs of the pattern stand for it.
  using Signs = std::array<Uint128, 256>;
  static constexpr std::size_t kMostSigns = 127;  ///< that are no stars; their ends need a bit more

  [[nodiscard]] bool run(std::string_view text) const;

  std::string pattern_;
  std::size_t prefix_ = 0;      ///< signs of it before the first wildcard
  std::size_t suffix_ = 0;      ///< and behind the last one
  std::size_t signs_ = 0;       ///< that are no stars: a text has at least as many characters
  bool only_one_star_ = false;  ///< prefix and suffix say it all
  std::unique_ptr<Signs> stands_for_;  ///< null: not needed, or there are too many signs
  Uint128 stars_ = 0;                  ///< places that stay where they are, whatever comes
};

/// Whether `outer` matches everything that the pattern `inner` matches. Errs on the side of no: a
/// star of `inner` counts as covered by a star of `outer` alone.
[[nodiscard]] bool glob_covers(std::string_view outer, std::string_view inner);

/// Whether there is a text that both patterns match.
[[nodiscard]] bool glob_meets(std::string_view a, std::string_view b);

/// Whether one of `patterns` matches `text`.
[[nodiscard]] bool matches_any(const std::vector<Blob>& patterns, std::string_view text);

/// Whether `pattern` has a wildcard, that is, may match anything but itself.
[[nodiscard]] bool is_glob(std::string_view pattern);

}  // namespace jobbie::base
