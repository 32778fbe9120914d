// Which name was meant.
#include "face/fields.hpp"

#include <algorithm>

namespace jobbie::face {
namespace {

constexpr std::size_t kLongestTypo = 48;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// How many characters must be inserted, removed or replaced to get from one to the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::array<std::size_t, kLongestTypo + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view typo, std::span<const std::string_view> names) {
  if (typo.empty() || typo.size() > kLongestTypo) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(typo.size() / 3, 1) + 1;
  for (const auto name : names) {
    if (name.size() > kLongestTypo) continue;
    const std::size_t distance = edit_distance(typo, name);
    if (distance < best_distance && distance < name.size()) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace jobbie::face
