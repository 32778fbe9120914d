// A validating scanner over JSON text, and the few operations that are built on it.
//
// One pass, no tree, no recursion: open arrays and objects are one bit each in a 64-bit word. An
// escaped lone surrogate ("\ud800") is refused, although RFC 8259's grammar would let it pass: it
// stands for no character, and clients in most languages could not read the job that carries it.
#include "base/json.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace jobbie::base::json {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// How many of the eight bytes of `word` (the first in the lowest bits) come before one that ends a
/// run of plain characters: a quote, a backslash, a control character or a byte beyond ASCII. Each
/// term sets a byte's high bit where its condition holds. A borrow can set it wrongly too, but only
/// above a byte where it holds, so the lowest one is right.
std::size_t plain_bytes(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kHighs = 0x8080808080808080ULL;
  const auto zero_byte = [](std::uint64_t x) { return (x - kOnes) & ~x; };
  const std::uint64_t control = (word - kOnes * 0x20) & ~word;
  const std::uint64_t quote = zero_byte(word ^ (kOnes * '"'));
  const std::uint64_t backslash = zero_byte(word ^ (kOnes * '\\'));
  const std::uint64_t special = (word | control | quote | backslash) & kHighs;
  return static_cast<std::size_t>(std::countr_zero(special)) / 8;
}

/// The length of the valid UTF-8 sequence that begins at `p`, or 0 (overlong forms, surrogates and
/// numbers past U+10FFFF are not valid).
std::size_t utf8_length(const char* p, const char* end) {
  const auto byte = [p](std::size_t i) { return static_cast<unsigned char>(p[i]); };
  const auto left = static_cast<std::size_t>(end - p);
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return left >= 2 && continues(1) ? 2 : 0;
  if (lead < 0xF0) {
    if (left < 3 || !continues(1) || !continues(2)) return 0;
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;
    if (lead == 0xED && byte(1) >= 0xA0) return 0;
    return 3;
  }
  if (lead > 0xF4 || left < 4 || !continues(1) || !continues(2) || !continues(3)) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) >= 0x90) return 0;
  return 4;
}

bool is_utf8(std::string_view text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    const std::size_t length = utf8_length(p, end);
    if (length == 0) return false;
    p += length;
  }
  return true;
}

/// The value of four hexadecimal digits, or -1.
int hex4(const char* p, const char* end) {
  if (end - p < 4) return -1;
  int value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = p[i];
    int digit = 0;
    if (is_digit(c))
      digit = c - '0';
    else if (c >= 'a' && c <= 'f')
      digit = c - 'a' + 10;
    else if (c >= 'A' && c <= 'F')
      digit = c - 'A' + 10;
    else
      return -1;
    value = value * 16 + digit;
  }
  return value;
}

constexpr bool is_high_surrogate(int unit) { return unit >= 0xD800 && unit < 0xDC00; }
constexpr bool is_low_surrogate(int unit) { return unit >= 0xDC00 && unit < 0xE000; }

/// Walks over JSON text. Every method either passes what it names or gives false; after a false the
/// scanner is of no further use.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : p_(text.data()), end_(p_ + text.size()) {}

  [[nodiscard]] const char* position() const { return p_; }
  [[nodiscard]] bool at_end() const { return p_ == end_; }

  void space() {
    while (p_ != end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
  }

  bool take(char c) {
    if (p_ == end_ || *p_ != c) return false;
    ++p_;
    return true;
  }

  bool string();
  bool value(int max_depth);

  /// A member's name and the colon, with the space before the colon.
  bool name() {
    if (!string()) return false;
    space();
    return take(':');
  }

 private:
  /// The arrays and objects that are open; bit 0 tells whether the innermost is an object.
  struct Nesting {
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
  };
  static_assert(kMaxDepth <= 64, "Nesting has one bit for each level");

  /// Passes plain characters, eight at a time; near the end of the text it may leave some.
  void plain() {
    std::size_t passed = 8;
    while (passed == 8 && end_ - p_ >= 8) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, p_, 8);
      passed = plain_bytes(eight);
      p_ += passed;
    }
  }
  bool escape();
  bool number();
  bool digits() {
    if (p_ == end_ || !is_digit(*p_)) return false;
    while (p_ != end_ && is_digit(*p_)) ++p_;
    return true;
  }
  bool word(std::string_view expected) {
    if (!std::string_view(p_, static_cast<std::size_t>(end_ - p_)).starts_with(expected))
      return false;
    p_ += expected.size();
    return true;
  }
  bool scalar();
  bool after_value(Nesting& nesting);

  const char* p_;
  const char* end_;
};

bool Scanner::string() {
  if (!take('"')) return false;
  while (true) {
    plain();
    if (p_ == end_) return false;
    const auto c = static_cast<unsigned char>(*p_);
    if (c == '"') {
      ++p_;
      return true;
    }
    if (c < 0x20) return false;
    if (c == '\\') {
      if (!escape()) return false;
    } else {
      const std::size_t length = utf8_length(p_, end_);
      if (length == 0) return false;
      p_ += length;
    }
  }
}

bool Scanner::escape() {
  ++p_;
  if (p_ == end_) return false;
  const char kind = *p_++;
  if (kind != 'u') return std::string_view("\"\\/bfnrt").find(kind) != std::string_view::npos;
  const int unit = hex4(p_, end_);
  if (unit < 0 || is_low_surrogate(unit)) return false;
  p_ += 4;
  if (!is_high_surrogate(unit)) return true;
  if (!word("\\u") || !is_low_surrogate(hex4(p_, end_))) return false;
  p_ += 4;
  return true;
}

bool Scanner::number() {
  take('-');
  if (!take('0') && !digits()) return false;
  if (take('.') && !digits()) return false;
  if (take('e') || take('E')) {
    if (!take('+')) take('-');
    return digits();
  }
  return true;
}

bool Scanner::scalar() {
  if (p_ == end_) return false;
  switch (*p_) {
    case '"':
      return string();
    case 't':
      return word("true");
    case 'f':
      return word("false");
    case 'n':
      return word("null");
    default:
      return number();
  }
}

/// Passes the brackets that close behind a value, and the comma (and name) that leads to the next
/// one. Afterwards either everything is closed or a value must follow.
bool Scanner::after_value(Nesting& nesting) {
  while (nesting.depth > 0) {
    space();
    if (take(',')) {
      if (!nesting.in_object()) return true;
      space();
      return name();
    }
    if (!take(nesting.in_object() ? '}' : ']')) return false;
    nesting.close();
  }
  return true;
}

/// Any value, with at most `max_depth` levels of arrays and objects; space before it is passed too.
bool Scanner::value(int max_depth) {
  Nesting nesting;
  do {
    space();
    const bool object = take('{');
    if (object || take('[')) {
      if (nesting.depth == max_depth) return false;
      nesting.open(object);
      space();
      if (!take(object ? '}' : ']')) {
        if (object && !name()) return false;
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

/// One member of an object: views into the object's text.
struct Member {
  std::string_view name;   ///< with its quotes and escapes
  std::string_view value;  ///< without space around it
  std::string_view whole;  ///< from the name's opening quote to the value's end
};

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

/// Calls `f` for each member of the object that `text` must be; whether it was one. Faults may show
/// only after `f` was called, so the caller must drop what it gathered on false.
template <typename F>
bool for_each_member(std::string_view text, F&& f) {
  Scanner scanner(text);
  scanner.space();
  if (!scanner.take('{')) return false;
  scanner.space();
  if (!scanner.take('}')) {
    do {
      scanner.space();
      const char* const begin = scanner.position();
      if (!scanner.string()) return false;
      const std::string_view name = between(begin, scanner.position());
      scanner.space();
      if (!scanner.take(':')) return false;
      scanner.space();
      const char* const value = scanner.position();
      if (!scanner.value(kMaxDepth - 1)) return false;
      const char* const end = scanner.position();
      f(Member{.name = name, .value = between(value, end), .whole = between(begin, end)});
      scanner.space();
    } while (scanner.take(','));
    if (!scanner.take('}')) return false;
  }
  scanner.space();
  return scanner.at_end();
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto add = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  const auto add_tail = [&](std::uint32_t shift) { add(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | (code >> 6));
    add_tail(0);
  } else if (code < 0x10000) {
    add(0xE0 | (code >> 12));
    add_tail(6);
    add_tail(0);
  } else {
    add(0xF0 | (code >> 18));
    add_tail(12);
    add_tail(6);
    add_tail(0);
  }
}

/// The text that a valid string literal stands for.
std::string unescape(std::string_view literal) {
  constexpr std::string_view kKinds = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  std::string out;
  const char* p = literal.data() + 1;
  const char* const end = literal.data() + literal.size() - 1;
  while (p != end) {
    if (*p != '\\') {
      out.push_back(*p++);
      continue;
    }
    const char kind = p[1];
    p += 2;
    if (kind != 'u') {
      out.push_back(kMeanings[kKinds.find(kind)]);
      continue;
    }
    const int unit = hex4(p, end);
    p += 4;
    auto code = static_cast<std::uint32_t>(unit);
    if (is_high_surrogate(unit)) {
      const int low = hex4(p + 2, end);
      code = 0x10000 + ((code - 0xD800) << 10) + (static_cast<std::uint32_t>(low) - 0xDC00);
      p += 6;
    }
    append_utf8(out, code);
  }
  return out;
}

/// Whether a member's name stands for `key`. Names without escapes, nearly all, are not copied.
bool names(std::string_view literal, std::string_view key) {
  const std::string_view inner = literal.substr(1, literal.size() - 2);
  if (inner == key) return inner.find('\\') == std::string_view::npos;
  // Escapes only ever shorten, so a literal that is no longer than the key cannot stand for it.
  if (inner.size() <= key.size() || inner.find('\\') == std::string_view::npos) return false;
  return unescape(literal) == key;
}

}  // namespace

bool is_valid(std::string_view text) {
  Scanner scanner(text);
  if (!scanner.value(kMaxDepth)) return false;
  scanner.space();
  return scanner.at_end();
}

bool is_object(std::string_view text) {
  Scanner scanner(text);
  scanner.space();
  return scanner.take('{') && is_valid(text);
}

std::optional<std::string> member(std::string_view object, std::string_view key) {
  std::optional<std::string_view> found;
  const bool valid = for_each_member(object, [&](const Member& member) {
    if (names(member.name, key)) found = member.value;
  });
  if (!valid || !found) return std::nullopt;
  return std::string(*found);
}

std::optional<std::string> with_member(std::string_view object, std::string_view key,
                                       std::string_view value) {
  // The result must be valid too: so the key must be text, and the value one level less deep.
  Scanner scanner(value);
  if (!is_utf8(key) || !scanner.value(kMaxDepth - 1)) return std::nullopt;
  scanner.space();
  if (!scanner.at_end()) return std::nullopt;

  std::string out = "{";
  out.reserve(object.size() + key.size() + value.size() + 8);
  const auto keep = [&](const Member& member) {
    if (names(member.name, key)) return;
    out.append(member.whole).push_back(',');
  };
  if (!object.empty() && !for_each_member(object, keep)) return std::nullopt;
  out.append(quote(key)).append(":").append(value).append("}");
  return out;
}

std::string quote(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kShort = "\b\t\n\f\r\"\\";
  constexpr std::string_view kShortKinds = "btnfr\"\\";
  std::string out = "\"";
  out.reserve(text.size() + 2);
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    const std::size_t length = utf8_length(p, end);
    const auto c = static_cast<unsigned char>(*p);
    const std::size_t kind = kShort.find(*p);
    if (length == 0) {
      out.append("\xEF\xBF\xBD");  // U+FFFD: the output is UTF-8 whatever came in
    } else if (kind != std::string_view::npos) {
      out.push_back('\\');
      out.push_back(kShortKinds[kind]);
    } else if (c < 0x20) {
      out.append("\\u00");
      out.push_back(kHex[c >> 4]);
      out.push_back(kHex[c & 15]);
    } else {
      out.append(p, length);
    }
    p += length == 0 ? 1 : length;
  }
  out.push_back('"');
  return out;
}

}  // namespace jobbie::base::json
