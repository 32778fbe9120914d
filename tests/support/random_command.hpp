// Random commands, entries, replies and items for property tests: any value that the types can
// hold, sensible or not.
//
// Everything follows from the seed, so a test that prints its seed can be run again. The fields
// come from the codec's own lists; that these are complete is checked when the codec is compiled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "command/fields.hpp"

namespace jobbie::testing {

class RandomCommand {
 public:
  explicit RandomCommand(std::uint64_t seed) : engine_(seed) {}

  command::Command command() { return any<command::Command>(); }
  command::Reply reply() { return any<command::Reply>(); }
  command::Item item() { return any<command::Item>(); }

  command::Entry entry() {
    command::Entry entry;
    fill(entry.now);
    entry.random = engine_();
    fill(entry.commands);
    return entry;
  }

  /// A number in [0, bound).
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  bool chance(unsigned percent) { return below(100) < percent; }

  /// Text of any bytes, more often short than long; sometimes JSON.
  std::string text() {
    static constexpr std::array<std::string_view, 6> kFixed = {
        "", "emails.send", R"({"tenant":"a"})", "*", "tags.tenant", "0 4 * * *"};
    if (chance(40)) return std::string(kFixed[below(kFixed.size())]);
    std::string bytes(chance(5) ? below(3000) : below(12), '\0');
    for (char& c : bytes) c = static_cast<char>(engine_());
    return bytes;
  }

 private:
  template <typename T>
  T any() {
    T value{};
    fill(value);
    return value;
  }

  template <command::Listed Struct>
  void fill(Struct& value) {
    // Different shares of set fields, so that nearly empty and nearly full structs both occur.
    const auto percent = static_cast<unsigned>(below(101));
    command::for_each_field<Struct>([&](std::size_t, auto field) {
      if (chance(percent)) fill_field(value, field);
    });
  }
  template <typename Struct, typename T>
  void fill_field(Struct& value, T Struct::*field) {
    fill(value.*field);
  }
  template <typename Struct>
  void fill_field(Struct& value, command::FixedField<Struct> field) {
    value.*field.member = engine_();
  }

  void fill(bool& value) { value = chance(50); }
  template <typename Int>
  requires std::is_integral_v<Int>
  void fill(Int& value) {
    using Limits = std::numeric_limits<Int>;
    switch (below(5)) {
      case 0:
        value = Limits::max();
        break;
      case 1:
        value = Limits::min();
        break;
      case 2:
        value = static_cast<Int>(engine_());
        break;
      default:
        value = static_cast<Int>(below(300));
    }
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void fill(Enum& value) {
    value = static_cast<Enum>(below(static_cast<std::uint64_t>(command::last_value(value)) + 1));
  }
  void fill(base::Instant& value) { fill(value.ms); }
  void fill(base::Duration& value) { fill(value.ms); }
  void fill(base::Blob& value) { value = base::Blob(text()); }
  void fill(std::string& value) { value = text(); }
  template <typename Kind>
  void fill(base::Id<Kind>& value) {
    fill(value.ulid.high);
    fill(value.ulid.low);
  }
  template <typename T>
  void fill(std::optional<T>& value) {
    if (chance(70)) fill(value.emplace());
  }
  template <typename A, typename B>
  void fill(std::pair<A, B>& value) {
    fill(value.first);
    fill(value.second);
  }
  template <typename T>
  void fill(std::vector<T>& value) {
    value.resize(chance(3) ? below(40) : below(4));
    for (T& element : value) fill(element);
  }
  template <typename... Structs>
  void fill(std::variant<Structs...>& value) {
    const auto wanted = below(sizeof...(Structs));
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((wanted == I ? fill(value.template emplace<I>()) : void()), ...);
    }
    (std::index_sequence_for<Structs...>{});
  }

  std::mt19937_64 engine_;
};

}  // namespace jobbie::testing
