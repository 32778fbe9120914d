// Texts that others wrote, for terminals: nothing in them moves the cursor, changes what is typed,
// hides, or turns the order of what stands beside it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace jobbie::base {

/// Whether a terminal acts upon it or shows it in a way that can deceive: control characters (also
/// U+0080 to U+009F, which some take for the beginning of a sequence), invisible ones that format
/// (zero width, direction of writing, tags), and separators of lines and paragraphs.
[[nodiscard]] bool is_unsafe_to_show(std::uint32_t code_point);

enum class Lines : std::uint8_t {
  one,   ///< ends of lines and tabs become spaces
  many,  ///< they stay
};

/// Unsafe characters as `\u202e`, bytes that are no UTF-8 as `\xff`.
[[nodiscard]] std::string printable(std::string_view text, Lines lines = Lines::one);

/// The same JSON value, with unsafe characters in its strings as JSON escapes them.
[[nodiscard]] std::string printable_json(std::string_view json);

}  // namespace jobbie::base
