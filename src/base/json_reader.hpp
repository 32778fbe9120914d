// A pull reader of JSON text: one pass, no tree, every byte checked (RFC 8259, UTF-8, depth).
//
// The caller asks for what it expects and gets views into the text; values that it only carries
// (payloads, results) are passed over as raw slices, byte for byte. Strings are copied only where
// they contain escapes. An escaped lone surrogate ("\ud800") is refused, although the grammar would
// let it pass: it stands for no character, and clients in most languages could not read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace jobbie::base::json {

enum class Kind : std::uint8_t { none, object, array, string, number, boolean, null };
/// "an object", "a string": for sentences.
const char* to_string(Kind kind);

enum class Fault : std::uint8_t {
  none,
  ends_early,         ///< the text ends within a value
  unexpected,         ///< a byte that cannot stand here
  control_character,  ///< in a string, unescaped
  bad_escape,
  bad_utf8,
  bad_number,
  too_deep,
  trailing,  ///< something follows the value
};
/// A sentence without its full stop.
const char* to_string(Fault fault);

/// A value of one thread; the text must outlive it. Every method either passes what it names or
/// gives false; after the first false of a reading method failed() is true, the fault and its
/// position stay, and every further read is false too.
///
///     reader.begin_object();
///     std::string_view name;
///     while (reader.next_member(name)) { ... one value is read or passed over ... }
///     if (reader.failed()) ...
class Reader {
 public:
  explicit Reader(std::string_view text, int max_depth = kMaxDepth)
      : begin_(text.data()), p_(begin_), end_(begin_ + text.size()), max_depth_(max_depth) {}

  /// What kind of value comes next, without reading it; `none` at the end and before a byte that
  /// begins no value.
  [[nodiscard]] Kind peek();

  /// Any value; `raw` is its text without space around it.
  [[nodiscard]] bool value(std::string_view& raw);
  /// A string, escapes resolved. The view holds until the next string is read.
  [[nodiscard]] bool string(std::string_view& text);
  /// A number's text.
  [[nodiscard]] bool number(std::string_view& raw);
  [[nodiscard]] bool boolean(bool& value);
  [[nodiscard]] bool null();

  [[nodiscard]] bool begin_object();
  /// Reads a member's name and the colon. False at the object's end, which is read then, and after
  /// a fault. The name holds until the next name is read.
  [[nodiscard]] bool next_member(std::string_view& name);
  [[nodiscard]] bool begin_array();
  /// Whether another element comes. False at the array's end, which is read then, and after a
  /// fault.
  [[nodiscard]] bool next_element();

  /// Whether nothing but space is left.
  [[nodiscard]] bool finish();

  [[nodiscard]] bool failed() const { return fault_ != Fault::none; }
  [[nodiscard]] Fault fault() const { return fault_; }
  /// Offset of the next byte, or of the one at fault.
  [[nodiscard]] std::size_t position() const { return static_cast<std::size_t>(p_ - begin_); }
  /// Offset of the opening quote of the latest member's name.
  [[nodiscard]] std::size_t name_position() const { return name_position_; }

 private:
  void space() {
    while (p_ != end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
  }
  bool take(char c) {
    if (p_ == end_ || *p_ != c) return false;
    ++p_;
    return true;
  }
  bool fail(Fault fault);
  /// The byte here is not what must stand here.
  bool unexpected() { return fail(p_ == end_ ? Fault::ends_early : Fault::unexpected); }
  bool expect(char c) { return take(c) || unexpected(); }

  bool open(char bracket);
  /// Passes the literal; `inside` lies between its quotes.
  bool literal(std::string_view& inside, bool& escaped);
  bool escape();
  bool digits();
  bool pass_number();
  bool word(std::string_view expected);
  bool scalar();
  struct Nesting;
  bool after_value(Nesting& nesting);
  bool pass_value();

  const char* begin_;
  const char* p_;
  const char* end_;
  int max_depth_;
  int depth_ = 0;
  Fault fault_ = Fault::none;
  bool first_ = false;  ///< the innermost array or object has just been opened
  std::size_t name_position_ = 0;
  std::string name_;  ///< of names and strings with escapes
  std::string text_;
};

}  // namespace jobbie::base::json
