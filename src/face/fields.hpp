// The members that an object in a request may have: found by one probe, suggested by nearness.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace jobbie::face {

/// The name in `names` that `typo` was most likely meant to be, or nothing.
[[nodiscard]] std::string_view nearest_name(std::string_view typo,
                                            std::span<const std::string_view> names);

/// A constant table. The order of the names is the order of the enum that the caller switches over.
template <std::size_t N>
class Fields {
  static_assert(N <= 64, "members seen are kept as bits of a word");

 public:
  consteval explicit Fields(const std::array<std::string_view, N>& names) : names_(names) {
    for (std::size_t i = 0; i < N; ++i) {
      std::size_t slot = hash(names[i]);
      while (slots_[slot] != 0) slot = (slot + 1) % kSlots;
      slots_[slot] = static_cast<std::uint8_t>(i + 1);
    }
  }

  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const {
    if (name.empty()) return std::nullopt;
    for (std::size_t slot = hash(name); slots_[slot] != 0; slot = (slot + 1) % kSlots) {
      const std::size_t i = slots_[slot] - std::size_t{1};
      if (names_[i] == name) return i;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::string_view name(std::size_t i) const { return names_[i]; }
  [[nodiscard]] std::span<const std::string_view> names() const { return names_; }

 private:
  static constexpr std::size_t kSlots = 256;  // mostly empty, so that the search ends at once

  /// Of a name that is not empty.
  static constexpr std::size_t hash(std::string_view name) {
    const auto byte = [&name](std::size_t i) {
      return std::size_t{static_cast<unsigned char>(name[i])};
    };
    return (name.size() * 37 + byte(0) * 7 + byte(name.size() - 1) * 13 + byte(name.size() / 2)) %
           kSlots;
  }

  std::array<std::string_view, N> names_;
  std::array<std::uint8_t, kSlots> slots_{};
};

}  // namespace jobbie::face
