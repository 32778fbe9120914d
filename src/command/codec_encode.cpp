// The encoder: walks the field lists and writes what differs from the defaults.
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "command/codec.hpp"
#include "command/fields.hpp"

namespace jobbie::command {
namespace {

/// Whether a field needs to be written. Emptiness is cheaper to see than inequality.
template <typename T>
bool differs(const T& value, const T& fresh) {
  return value != fresh;
}
bool differs(const base::Blob& value, const base::Blob&) { return !value.empty(); }
template <typename T>
bool differs(const std::vector<T>& value, const std::vector<T>&) {
  return !value.empty();
}
template <typename T>
bool differs(const std::optional<T>& value, const std::optional<T>&) {
  return value.has_value();
}

class Encoder {
 public:
  explicit Encoder(std::string& out) : writer_(out) {}

  base::ByteWriter& writer() { return writer_; }

  template <typename... Structs>
  void variant(const std::variant<Structs...>& v) {
    static_assert(sizeof...(Structs) < 256);
    writer_.u8(static_cast<std::uint8_t>(v.index()));
    std::visit([this](const auto& alternative) { this->value(alternative); }, v);
  }

 private:
  template <Listed Struct>
  void value(const Struct& v) {
    static_assert(list_is_complete<Struct>(), "a field is missing in command/*fields.hpp");
    const Struct fresh{};
    std::uint64_t mask = 0;
    for_each_field<Struct>([&](std::size_t bit, auto field) {
      mask |= static_cast<std::uint64_t>(is_set(v, fresh, field)) << bit;
    });
    writer_.var(mask);
    for_each_field<Struct>([&](std::size_t bit, auto field) {
      if (((mask >> bit) & 1) != 0) write(v, field);
    });
  }

  template <typename Struct, typename T>
  static bool is_set(const Struct& v, const Struct& fresh, T Struct::*field) {
    return differs(v.*field, fresh.*field);
  }
  template <typename Struct>
  static bool is_set(const Struct& v, const Struct& fresh, FixedField<Struct> field) {
    return v.*field.member != fresh.*field.member;
  }

  template <typename Struct, typename T>
  void write(const Struct& v, T Struct::*field) {
    // The bit alone says that a boolean is the opposite of its default.
    if constexpr (!std::is_same_v<T, bool>) value(v.*field);
  }
  template <typename Struct>
  void write(const Struct& v, FixedField<Struct> field) {
    writer_.u64(v.*field.member);
  }

  void value(std::uint32_t v) { writer_.var(v); }
  void value(std::uint64_t v) { writer_.var(v); }
  void value(std::int32_t v) { writer_.svar(v); }
  void value(std::int64_t v) { writer_.svar(v); }
  void value(base::Instant v) { writer_.instant(v); }
  void value(base::Duration v) { writer_.duration(v); }
  void value(const base::Blob& v) { writer_.blob(v); }
  void value(const std::string& v) { writer_.bytes(v); }

  template <typename Enum>
  requires std::is_enum_v<Enum>
  void value(Enum v) {
    static_assert(sizeof(Enum) == 1);
    writer_.u8(static_cast<std::uint8_t>(v));
  }
  template <typename Kind>
  void value(const base::Id<Kind>& v) {
    writer_.u64(v.ulid.high);
    writer_.u64(v.ulid.low);
  }
  template <typename T>
  void value(const std::optional<T>& v) {
    value(*v);  // only written when there is one
  }
  template <typename A, typename B>
  void value(const std::pair<A, B>& v) {
    value(v.first);
    value(v.second);
  }
  template <typename T>
  void value(const std::vector<T>& v) {
    writer_.var(v.size());
    for (const T& element : v) value(element);
  }

  base::ByteWriter writer_;
};

}  // namespace

void encode(const Entry& entry, std::string& out) {
  Encoder encoder(out);
  auto& writer = encoder.writer();
  writer.u8(entry.work == 0 ? kFormatVersion : kBoundedEntryVersion);
  writer.instant(entry.now);
  writer.u64(entry.random);
  if (entry.work != 0) writer.var(entry.work);
  writer.var(entry.commands.size());
  for (const Command& command : entry.commands) encoder.variant(command);
}

void encode(const Reply& reply, std::string& out) {
  Encoder encoder(out);
  encoder.writer().u8(kFormatVersion);
  encoder.variant(reply);
}

void encode(const Item& item, std::string& out) {
  Encoder encoder(out);
  encoder.writer().u8(kFormatVersion);
  encoder.variant(item);
}

}  // namespace jobbie::command
