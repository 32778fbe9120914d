// The body of a request, read member by member into values, with the first problem kept.
//
// One pass over the bytes. Every read is a bool: false ends the reading, and problem() tells why,
// naming the field by its full path. JSON null means "not given" unless a member says otherwise.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/blob.hpp"
#include "base/json_reader.hpp"
#include "base/time.hpp"
#include "face/fields.hpp"
#include "face/problem.hpp"

namespace jobbie::face {

/// A value of one thread; the text must outlive it.
class Body {
 public:
  explicit Body(std::string_view text) : text_(text), reader_(text) {}
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  /// Reads an object whose members are among `fields`; `read(i)` must read the value of the i-th.
  /// Bits of `nulls` mark members for which null is a value.
  template <std::size_t N, typename Read>
  [[nodiscard]] bool object(const Fields<N>& fields, Read&& read, std::uint64_t nulls = 0);

  /// Reads an array, calling `read(position)` for each element; more than `max` are refused.
  template <typename Read>
  [[nodiscard]] bool array(std::size_t max, Read&& read);

  [[nodiscard]] bool text(base::Blob& out);
  /// The view holds until the next string is read.
  [[nodiscard]] bool text(std::string_view& out);
  [[nodiscard]] bool texts(std::vector<base::Blob>& out, std::size_t max);
  /// Any JSON value, byte for byte; longer than `max_bytes` is a 413.
  [[nodiscard]] bool json(base::Blob& out, std::size_t max_bytes);
  /// The same, but one that is too long is left out, and told in `too_long`: the reading goes on.
  [[nodiscard]] bool json(base::Blob& out, std::size_t max_bytes, std::optional<Problem>& too_long);
  /// A number of seconds, or text with units.
  [[nodiscard]] bool duration(base::Duration& out);
  /// The same where none at all would mean that there is no limit: that is said with null.
  [[nodiscard]] bool positive_duration(base::Duration& out);
  [[nodiscard]] bool instant(base::Instant& out);
  [[nodiscard]] bool boolean(bool& out);
  [[nodiscard]] bool integer(std::int64_t& out, std::int64_t min, std::int64_t max);
  template <typename Integer>
  [[nodiscard]] bool integer(Integer& out) {
    std::int64_t wide = 0;
    if (!integer(wide, std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max()))
      return false;
    out = static_cast<Integer>(wide);
    return true;
  }
  /// A share 0…1 as a number, in millionths.
  [[nodiscard]] bool share(std::uint32_t& out);
  /// One of `names`; the enum counts them from zero.
  template <typename Enum>
  [[nodiscard]] bool choice(Enum& out, std::span<const std::string_view> names) {
    std::size_t i = 0;
    if (!choice_index(i, names)) return false;
    out = static_cast<Enum>(i);
    return true;
  }

  /// Nothing may follow the body's value.
  [[nodiscard]] bool finish() { return reader_.finish(); }

  [[nodiscard]] base::json::Reader& reader() { return reader_; }
  /// The text from `position` to where the reader is.
  [[nodiscard]] std::string_view since(std::size_t position) const {
    return text_.substr(position, reader_.position() - position);
  }

  /// Where the reading is, for the names in problems: at the top, in the object `list`, at
  /// `list[position]`, at `list.key`. The views must live while the reading is there.
  void at_top() { list_ = {}; }
  void at_member(std::string_view list) { at_item(list, kNoPosition); }
  void at_item(std::string_view list, std::size_t position) {
    list_ = list;
    key_ = {};
    position_ = position;
  }
  void at_key(std::string_view list, std::string_view key) {
    list_ = list;
    key_ = key;
  }
  void at_field(std::string_view name) { field_ = name; }

  /// The full name of the field that is being read.
  [[nodiscard]] std::string here() const { return path(field_); }

  /// All give false.
  bool refuse(Problem problem);
  /// `invalid`; "{field} {rest}." is the detail.
  bool refuse_value(std::string_view rest, int status = 422);
  bool refuse_missing(std::string_view field);
  /// The value is of another kind than `expected`; a fault of the JSON goes before that.
  bool refuse_kind(std::string_view expected);

  /// The problem that ended the reading.
  [[nodiscard]] Problem problem() const;

 private:
  static constexpr auto kNoPosition = std::numeric_limits<std::size_t>::max();

  [[nodiscard]] bool choice_index(std::size_t& out, std::span<const std::string_view> names);
  bool refuse_duration(const base::Error& error);
  bool refuse_unknown(std::string_view name, std::span<const std::string_view> names);
  bool refuse_duplicate();
  bool refuse_count(std::size_t max);
  [[nodiscard]] bool is_null() { return reader_.peek() == base::json::Kind::null; }
  [[nodiscard]] std::string path(std::string_view field) const;
  [[nodiscard]] Problem syntax_problem() const;

  std::string_view text_;
  base::json::Reader reader_;
  std::string_view list_;  ///< empty: at the top
  std::string_view key_;
  std::size_t position_ = 0;
  std::string_view field_;
  std::optional<Problem> problem_;  ///< empty, and the reader failed: bad JSON
};

template <std::size_t N, typename Read>
bool Body::object(const Fields<N>& fields, Read&& read, std::uint64_t nulls) {
  if (reader_.peek() != base::json::Kind::object) return refuse_kind("an object");
  if (!reader_.begin_object()) return false;
  const std::string_view outer = field_;
  std::uint64_t seen = 0;
  std::string_view name;
  while (reader_.next_member(name)) {
    const auto i = fields.find(name);
    if (!i) return refuse_unknown(name, fields.names());
    field_ = fields.name(*i);
    const std::uint64_t bit = std::uint64_t{1} << *i;
    if ((seen & bit) != 0) return refuse_duplicate();
    seen |= bit;
    if ((nulls & bit) == 0 && is_null()) {
      if (!reader_.null()) return false;
    } else if (!read(*i)) {
      return false;
    }
  }
  field_ = outer;
  return !reader_.failed();
}

template <typename Read>
bool Body::array(std::size_t max, Read&& read) {
  if (reader_.peek() != base::json::Kind::array) return refuse_kind("an array");
  if (!reader_.begin_array()) return false;
  const std::string_view outer = field_;
  for (std::size_t i = 0; reader_.next_element(); ++i) {
    if (i == max) return refuse_count(max);
    if (!read(i)) return false;
    field_ = outer;
  }
  return !reader_.failed();
}

}  // namespace jobbie::face
