// Globs for queue names and keys: `*` is any run of characters, dots included, `?` is exactly one.
//
// There is no escape and no character class: the names they are matched against contain neither
// sign. Characters are bytes.
#pragma once

#include <string_view>

namespace jobbie::base {

/// Whether the whole of `text` matches. Takes time O(|pattern| · |text|) at worst and no memory.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

/// Whether `pattern` has a wildcard, that is, may match anything but itself.
[[nodiscard]] bool is_glob(std::string_view pattern);

}  // namespace jobbie::base
