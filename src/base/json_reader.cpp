// The reader's scanning. Open arrays and objects of a value that is passed over are one bit each in
// a 64-bit word, so nothing recurses.
#include "base/json_reader.hpp"

#include "base/json_text.hpp"

namespace jobbie::base::json {

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::none:
      break;
    case Kind::object:
      return "an object";
    case Kind::array:
      return "an array";
    case Kind::string:
      return "a string";
    case Kind::number:
      return "a number";
    case Kind::boolean:
      return "true or false";
    case Kind::null:
      return "null";
  }
  return "nothing";
}

const char* to_string(Fault fault) {
  switch (fault) {
    case Fault::none:
      break;
    case Fault::ends_early:
      return "the text ends within a value";
    case Fault::unexpected:
      return "unexpected character";
    case Fault::control_character:
      return "control character in a string";
    case Fault::bad_escape:
      return "bad escape in a string";
    case Fault::bad_utf8:
      return "the text is not UTF-8";
    case Fault::bad_number:
      return "malformed number";
    case Fault::too_deep:
      return "values nest more than 64 levels deep";
    case Fault::trailing:
      return "something follows the value";
  }
  return "no fault";
}

/// The arrays and objects that are open; bit 0 tells whether the innermost is an object.
struct Reader::Nesting {
  std::uint64_t objects = 0;
  int depth = 0;

  void open(bool object) {
    objects = (objects << 1) | (object ? 1U : 0U);
    ++depth;
  }
  void close() {
    objects >>= 1;
    --depth;
  }
  [[nodiscard]] bool in_object() const { return (objects & 1) != 0; }
  static_assert(kMaxDepth <= 64, "one bit for each level");
};

bool Reader::fail(Fault fault) {
  if (fault_ == Fault::none) fault_ = fault;
  end_ = p_;  // whatever is asked next finds the end
  return false;
}

Kind Reader::peek() {
  space();
  if (p_ == end_) return Kind::none;
  switch (*p_) {
    case '{':
      return Kind::object;
    case '[':
      return Kind::array;
    case '"':
      return Kind::string;
    case 't':
    case 'f':
      return Kind::boolean;
    case 'n':
      return Kind::null;
    default:
      return *p_ == '-' || (*p_ >= '0' && *p_ <= '9') ? Kind::number : Kind::none;
  }
}

bool Reader::literal(std::string_view& inside, bool& escaped) {
  if (!expect('"')) return false;
  const char* const start = p_;
  escaped = false;
  while (true) {
    p_ = text::skip_plain(p_, end_);
    if (p_ == end_) return fail(Fault::ends_early);
    const auto c = static_cast<unsigned char>(*p_);
    if (c == '"') {
      inside = {start, static_cast<std::size_t>(p_ - start)};
      ++p_;
      return true;
    }
    if (c < 0x20) return fail(Fault::control_character);
    if (c == '\\') {
      escaped = true;
      if (!escape()) return false;
    } else {
      const std::size_t length = text::utf8_length(p_, end_);
      if (length == 0) return fail(Fault::bad_utf8);
      p_ += length;
    }
  }
}

bool Reader::escape() {
  const char* const start = p_++;
  const auto bad = [&] {
    if (p_ != end_) p_ = start;
    return fail(p_ == end_ ? Fault::ends_early : Fault::bad_escape);
  };
  if (p_ == end_) return bad();
  if (*p_ != 'u') {
    if (std::string_view("\"\\/bfnrt").find(*p_) == std::string_view::npos) return bad();
    ++p_;
    return true;
  }
  ++p_;
  const int unit = text::hex4(p_, end_);
  if (unit < 0 || text::is_low_surrogate(unit)) return bad();
  p_ += 4;
  if (!text::is_high_surrogate(unit)) return true;
  if (end_ - p_ < 2 || p_[0] != '\\' || p_[1] != 'u') return bad();
  if (!text::is_low_surrogate(text::hex4(p_ + 2, end_))) return bad();
  p_ += 6;
  return true;
}

bool Reader::digits() {
  if (p_ == end_ || *p_ < '0' || *p_ > '9') return false;
  do {
    ++p_;
  } while (p_ != end_ && *p_ >= '0' && *p_ <= '9');
  return true;
}

bool Reader::pass_number() {
  const auto bad = [this] { return fail(p_ == end_ ? Fault::ends_early : Fault::bad_number); };
  take('-');
  if (!take('0') && !digits()) return bad();
  if (take('.') && !digits()) return bad();
  if (take('e') || take('E')) {
    if (!take('+')) take('-');
    if (!digits()) return bad();
  }
  // "01" and "1x" are no numbers followed by something else to the person who wrote them.
  if (p_ != end_ && *p_ >= '0' && *p_ <= '9') return fail(Fault::bad_number);
  return true;
}

bool Reader::word(std::string_view expected) {
  for (const char c : expected) {
    if (!take(c)) return unexpected();
  }
  return true;
}

bool Reader::scalar() {
  std::string_view inside;
  bool escaped = false;
  switch (peek()) {
    case Kind::string:
      return literal(inside, escaped);
    case Kind::number:
      return pass_number();
    case Kind::boolean:
      return word(*p_ == 't' ? "true" : "false");
    case Kind::null:
      return word("null");
    default:
      return unexpected();
  }
}

/// Passes the brackets that close behind a value, and the comma (and name) that leads to the next
/// one. Afterwards either everything is closed or a value must follow.
bool Reader::after_value(Nesting& nesting) {
  while (nesting.depth > 0) {
    space();
    if (take(',')) {
      if (!nesting.in_object()) return true;
      space();
      std::string_view inside;
      bool escaped = false;
      if (!literal(inside, escaped)) return false;
      space();
      return expect(':');
    }
    if (!expect(nesting.in_object() ? '}' : ']')) return false;
    nesting.close();
  }
  return true;
}

bool Reader::pass_value() {
  Nesting nesting;
  do {
    space();
    const bool object = p_ != end_ && *p_ == '{';
    if (object || (p_ != end_ && *p_ == '[')) {
      if (depth_ + nesting.depth == max_depth_) return fail(Fault::too_deep);
      ++p_;
      nesting.open(object);
      space();
      if (!take(object ? '}' : ']')) {
        if (!object) continue;
        std::string_view inside;
        bool escaped = false;
        if (!literal(inside, escaped)) return false;
        space();
        if (!expect(':')) return false;
        continue;
      }
      nesting.close();
    } else if (!scalar()) {
      return false;
    }
    if (!after_value(nesting)) return false;
  } while (nesting.depth > 0);
  return true;
}

bool Reader::value(std::string_view& raw) {
  space();
  const char* const start = p_;
  if (!pass_value()) return false;
  raw = {start, static_cast<std::size_t>(p_ - start)};
  first_ = false;
  return true;
}

bool Reader::string(std::string_view& out) {
  space();
  bool escaped = false;
  if (!literal(out, escaped)) return false;
  if (escaped) {
    text::unescape(out, text_);
    out = text_;
  }
  first_ = false;
  return true;
}

bool Reader::number(std::string_view& raw) {
  if (peek() != Kind::number) return unexpected();
  return value(raw);
}

bool Reader::boolean(bool& out) {
  if (peek() != Kind::boolean) return unexpected();
  out = *p_ == 't';
  first_ = false;
  return word(out ? "true" : "false");
}

bool Reader::null() {
  space();
  first_ = false;
  return word("null");
}

bool Reader::open(char bracket) {
  space();
  if (p_ == end_ || *p_ != bracket) return unexpected();
  if (depth_ == max_depth_) return fail(Fault::too_deep);
  ++p_;
  ++depth_;
  first_ = true;
  return true;
}

bool Reader::begin_object() { return open('{'); }
bool Reader::begin_array() { return open('['); }

bool Reader::next_member(std::string_view& name) {
  space();
  if (take('}')) {
    --depth_;
    first_ = false;
    return false;
  }
  if (!first_) {
    if (!expect(',')) return false;
    space();
  }
  first_ = false;
  name_position_ = position();
  bool escaped = false;
  if (!literal(name, escaped)) return false;
  if (escaped) {
    text::unescape(name, name_);
    name = name_;
  }
  space();
  return expect(':');
}

bool Reader::next_element() {
  space();
  if (take(']')) {
    --depth_;
    first_ = false;
    return false;
  }
  if (!first_ && !expect(',')) return false;
  first_ = false;
  return !failed();
}

bool Reader::finish() {
  if (failed()) return false;
  space();
  return p_ == end_ || fail(Fault::trailing);
}

}  // namespace jobbie::base::json
