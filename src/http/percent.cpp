// Decoding that refuses what it cannot read, since a guess would name another resource.
#include "http/percent.hpp"

#include <algorithm>

#include "http/characters.hpp"

namespace jobbie::http {

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

std::optional<std::vector<std::pair<std::string, std::string>>> query_parameters(
    std::string_view query) {
  const auto decoded = [](std::string_view text) {
    std::string spaced(text);
    std::ranges::replace(spaced, '+', ' ');
    return percent_decode(spaced);
  };
  std::vector<std::pair<std::string, std::string>> parameters;
  while (!query.empty()) {
    const std::size_t mark = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, mark);
    query.remove_prefix(std::min(mark + 1, query.size()));
    if (part.empty()) continue;
    if (parameters.size() == kMaxParameters) return std::nullopt;
    const std::size_t equals = std::min(part.find('='), part.size());
    auto name = decoded(part.substr(0, equals));
    auto value = decoded(part.substr(std::min(equals + 1, part.size())));
    if (!name || !value) return std::nullopt;
    parameters.emplace_back(std::move(*name), std::move(*value));
  }
  return parameters;
}

}  // namespace jobbie::http
