// Failures that are alike, told by their text without what differs from one to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace jobbie::model {

/// Bytes of an error that tell it from others; what follows is not looked at.
inline constexpr std::size_t kTellingBytes = 512;

/// The text with numbers, hexadecimal, ids and quoted strings replaced and white space made one.
[[nodiscard]] std::string normalise_error(std::string_view error);

/// The same for failures of one queue that are alike, in every version.
[[nodiscard]] std::uint64_t fingerprint_of(std::string_view queue, std::string_view normalised);
/// As callers write it: 16 hexadecimal digits.
[[nodiscard]] std::optional<std::uint64_t> parse_fingerprint(std::string_view text);

}  // namespace jobbie::model
