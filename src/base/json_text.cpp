// UTF-8 and escapes; the parts that are not worth inlining.
#include "base/json_text.hpp"

namespace jobbie::base::json::text {
namespace {

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

}  // namespace

bool is_utf8(std::string_view bytes) {
  const char* p = bytes.data();
  const char* const end = p + bytes.size();
  while (p != end) {
    const std::size_t length = utf8_length(p, end);
    if (length == 0) return false;
    p += length;
  }
  return true;
}

int hex4(const char* p, const char* end) {
  if (end - p < 4) return -1;
  int value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = p[i];
    int digit = 0;
    if (c >= '0' && c <= '9')
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

void unescape(std::string_view inside, std::string& out) {
  constexpr std::string_view kKinds = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  out.clear();
  const char* p = inside.data();
  const char* const end = p + inside.size();
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
}

}  // namespace jobbie::base::json::text
