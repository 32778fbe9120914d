// The decoder: the same walk over the field lists as the encoder's, believing nothing.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "command/codec.hpp"
#include "command/fields.hpp"

namespace jobbie::command {
namespace {

/// The fewest bytes that an element takes. Ids have a fixed size; anything else takes a byte at
/// least.
template <typename T>
inline constexpr std::size_t kMinBytes = 1;
template <typename Kind>
inline constexpr std::size_t kMinBytes<base::Id<Kind>> = 16;

/// Reads into values that are at their defaults. After a fault nothing more is read, and reason()
/// and position() tell of the first one.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes)
      : size_(bytes.size()),
        allowance_(kDecodeSlack + kDecodeFactor * bytes.size()),
        reader_(bytes) {}

  base::ByteReader& reader() { return reader_; }

  template <typename... Structs>
  void variant(std::variant<Structs...>& v) {
    mark();
    const auto tag = reader_.u8();
    if (!reader_.ok()) return;
    const bool known = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((tag == I && (value(v.template emplace<I>()), true)) || ...);
    }
    (std::index_sequence_for<Structs...>{});
    if (!known) fail("an unknown tag");
  }

  template <typename T>
  void value(std::vector<T>& v) {
    const auto count = reader_.count(kMinBytes<T>);
    // The count is at most the bytes left, but an empty struct takes one byte there and hundreds
    // here.
    if (count > allowance_ / sizeof(T)) return fail("more elements than is sensible");
    allowance_ -= count * sizeof(T);
    v.reserve(count);
    for (std::size_t i = 0; i < count && reader_.ok(); ++i) value(v.emplace_back());
  }

  void value(Command& v) { variant(v); }

  void positive(std::uint32_t& v) {
    mark();
    value(v);
    if (v == 0) fail("a bound of nothing");
  }

  /// Must be called once all is read: bytes left over are a fault as well.
  [[nodiscard]] bool finished() {
    mark();
    if (reader_.ok() && !reader_.at_end()) fail("bytes left over");
    return reader_.ok();
  }
  [[nodiscard]] const char* reason() const {
    return reason_ != nullptr ? reason_ : "a value that is cut off or out of range";
  }
  [[nodiscard]] std::size_t position() const { return size_ - left_; }

 private:
  void mark() {
    if (reader_.ok()) left_ = reader_.left();
  }
  void fail(const char* reason) {
    if (reader_.ok()) reason_ = reason;
    reader_.fail();
  }

  template <Listed Struct>
  void value(Struct& v) {
    mark();
    const auto mask = reader_.var();
    if ((mask >> kListedFields<Struct>) != 0) return fail("an unknown field");
    for_each_field<Struct>([&](std::size_t bit, auto field) {
      if (((mask >> bit) & 1) != 0) read(v, field);
    });
  }

  template <typename Struct, typename T>
  void read(Struct& v, T Struct::*field) {
    mark();
    if constexpr (std::is_same_v<T, bool>) {
      v.*field = !(v.*field);
    } else {
      value(v.*field);
    }
  }
  template <typename Struct>
  void read(Struct& v, FixedField<Struct> field) {
    mark();
    v.*field.member = reader_.u64();
  }

  void value(std::uint32_t& v) {
    v = static_cast<std::uint32_t>(reader_.var_at_most(std::numeric_limits<std::uint32_t>::max()));
  }
  void value(std::uint64_t& v) { v = reader_.var(); }
  void value(std::int32_t& v) {
    const auto wide = reader_.svar();
    v = static_cast<std::int32_t>(wide);
    if (v != wide) fail("a number out of range");
  }
  void value(std::int64_t& v) { v = reader_.svar(); }
  void value(base::Instant& v) { v = reader_.instant(); }
  void value(base::Duration& v) { v = reader_.duration(); }
  void value(base::Blob& v) { v = reader_.blob(); }
  void value(std::string& v) { v = reader_.text(); }

  template <typename Enum>
  requires std::is_enum_v<Enum>
  void value(Enum& v) {
    v = static_cast<Enum>(reader_.u8());
    if (v <= last_value(v)) return;
    v = Enum{};
    fail("an unknown value of an enum");
  }
  template <typename Kind>
  void value(base::Id<Kind>& v) {
    v.ulid.high = reader_.u64();
    v.ulid.low = reader_.u64();
  }
  template <typename T>
  void value(std::optional<T>& v) {
    value(v.emplace());
  }
  template <typename A, typename B>
  void value(std::pair<A, B>& v) {
    value(v.first);
    value(v.second);
  }

  std::size_t size_;
  std::size_t allowance_;
  std::size_t left_ = 0;
  const char* reason_ = nullptr;
  base::ByteReader reader_;
};

base::Error fault(std::string_view code, const Decoder& decoder) {
  return {.code = std::string(code),
          .message = fmt::format("The {} has {} at byte {}.", code.substr(code.find('_') + 1),
                                 decoder.reason(), decoder.position()),
          .position = decoder.position()};
}

/// Opens every decoding: bounds the size and reads the version.
base::Result<std::uint8_t> begin(std::string_view bytes, std::string_view corrupt,
                                 std::uint8_t latest, Decoder& decoder) {
  if (bytes.empty() || bytes.size() > kMaxEncodedBytes)
    return std::unexpected(
        base::Error{.code = std::string(corrupt),
                    .message = fmt::format("{} bytes cannot be an encoding.", bytes.size())});
  const auto version = decoder.reader().u8();
  if (version < kFormatVersion || version > latest)
    return std::unexpected(
        base::Error{.code = std::string(kUnknownVersion),
                    .message = fmt::format("Format version {} was written by another release; this "
                                           "one reads up to version {}.",
                                           version, latest)});
  return version;
}

template <typename Variant>
base::Result<Variant> decode_variant(std::string_view bytes, std::string_view corrupt) {
  Decoder decoder(bytes);
  if (auto begun = begin(bytes, corrupt, kFormatVersion, decoder); !begun)
    return std::unexpected(std::move(begun).error());
  base::Result<Variant> result;
  decoder.variant(*result);
  if (!decoder.finished()) return std::unexpected(fault(corrupt, decoder));
  return result;
}

}  // namespace

base::Result<Entry> decode_entry(std::string_view bytes) {
  Decoder decoder(bytes);
  const auto version = begin(bytes, kCorruptEntry, kBoundedEntryVersion, decoder);
  if (!version) return std::unexpected(version.error());
  base::Result<Entry> result;
  result->now = decoder.reader().instant();
  result->random = decoder.reader().u64();
  if (*version == kBoundedEntryVersion) decoder.positive(result->work);
  decoder.value(result->commands);
  if (!decoder.finished()) return std::unexpected(fault(kCorruptEntry, decoder));
  return result;
}

base::Result<Reply> decode_reply(std::string_view bytes) {
  return decode_variant<Reply>(bytes, kCorruptReply);
}

base::Result<Item> decode_item(std::string_view bytes) {
  return decode_variant<Item>(bytes, kCorruptItem);
}

}  // namespace jobbie::command
