// Percent-encoding in paths and queries.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jobbie::http {

/// The bytes that `text` stands for. Nothing if an escape is cut off, not hexadecimal, or a NUL.
std::optional<std::string> percent_decode(std::string_view text);

/// A query's parameters in their order, decoded (`+` is a space). Nothing if one of them cannot be
/// decoded, or if there are more than kMaxParameters.
std::optional<std::vector<std::pair<std::string, std::string>>> query_parameters(
    std::string_view query);

inline constexpr std::size_t kMaxParameters = 64;

}  // namespace jobbie::http
