// Globs for queue names and keys: `*` is any run of characters, dots included, `?` is exactly one.
//
// There is no escape and no character class: the names they are matched against contain neither
// sign. Characters are bytes.
#pragma once

#include <string_view>
#include <vector>

#include "base/blob.hpp"

namespace jobbie::base {

/// Whether the whole of `text` matches. Takes time O(|pattern| · |text|) at worst and no memory.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

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
