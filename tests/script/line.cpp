// Cutting lines into words and options.
#include "script/line.hpp"

#include <charconv>

#include <fmt/format.h>

#include "base/duration.hpp"

namespace jobbie::script {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t'; }

bool is_key(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (!((c >= 'a' && c <= 'z') || c == '_')) return false;
  }
  return true;
}

/// Where the token that begins at `from` ends: at a blank outside of quotes, braces and brackets.
std::size_t token_end(std::string_view text, std::size_t from) {
  int depth = 0;
  bool quoted = false;
  std::size_t i = from;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (is_space(c) && depth <= 0) {
      break;
    }
  }
  return std::min(i, text.size());
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// The text inside quotes, with \" \\ \n \xHH resolved.
std::string unquote(std::string_view inner) {
  std::string out;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != '\\' || i + 1 == inner.size()) {
      out.push_back(inner[i]);
    } else if (inner[i + 1] == 'x' && i + 3 < inner.size()) {
      out.push_back(static_cast<char>(hex_digit(inner[i + 2]) * 16 + hex_digit(inner[i + 3])));
      i += 3;
    } else {
      ++i;
      out.push_back(inner[i] == 'n' ? '\n' : inner[i]);
    }
  }
  return out;
}

/// The text itself, out of its quotes if it has any.
std::string plain(const std::string& value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return value;
  return unquote(std::string_view(value).substr(1, value.size() - 2));
}

/// `<x*129>` stands for x repeated 129 times: how scripts write values that are too long.
std::string expand(const std::string& value) {
  if (value.size() < 5 || value.front() != '<' || value.back() != '>') return value;
  const auto star = value.rfind('*');
  if (star == std::string::npos) return value;
  const std::string part = value.substr(1, star - 1);
  const auto times = std::stoul(value.substr(star + 1));
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += part;
  return out;
}

}  // namespace

std::vector<std::string> split_commas(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto comma = text.find(',');
    out.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return out;
}

Line::Line(int number_, std::string_view text) : number(number_) {
  indented = !text.empty() && is_space(text.front());
  std::size_t at = 0;
  while (at < text.size()) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    const auto end = token_end(text, at);
    const std::string token(text.substr(at, end - at));
    at = end;
    const auto equals = token.find('=');
    if (words.empty() && options_.empty() && token == "+") {
      joined = true;
    } else if (equals != std::string::npos && is_key(token.substr(0, equals))) {
      if (!options_.emplace(token.substr(0, equals), expand(token.substr(equals + 1))).second)
        fail("option given twice: " + token);
    } else {
      words.push_back(plain(expand(token)));
    }
  }
}

void Line::fail(const std::string& message) const { throw ScriptError(number, message); }

const std::string& Line::word(std::size_t i, const char* what) const {
  if (i >= words.size()) fail(fmt::format("missing: {}", what));
  return words[i];
}

void Line::expect_all_read(std::size_t most_words) const {
  for (const auto& [key, value] : options_) {
    if (!read_.contains(key)) fail("unknown option: " + key);
  }
  for (std::size_t i = most_words; i < words.size(); ++i) {
    if (!read_.contains(words[i])) fail("one word too many: " + words[i]);
  }
}

bool Line::has(const std::string& key) const {
  read_.insert(key);
  return options_.contains(key);
}

std::string Line::text(const std::string& key, std::string_view fallback) const {
  if (!has(key)) return std::string(fallback);
  return plain(options_.at(key));
}

base::Blob Line::text_blob(const std::string& key) const { return base::Blob(text(key)); }

base::Blob Line::json_blob(const std::string& key) const {
  return has(key) ? base::Blob(options_.at(key)) : base::Blob();
}

std::vector<std::string> Line::list(const std::string& key) const {
  return split_commas(text(key));
}

std::vector<base::Blob> Line::blobs(const std::string& key) const {
  std::vector<base::Blob> out;
  for (const auto& part : list(key)) out.emplace_back(part == "\"\"" ? "" : part);
  return out;
}

bool Line::flag(const std::string& key, bool fallback) const {
  read_.insert(key);
  for (const auto& bare : words) {
    if (bare == key) return true;
  }
  if (!has(key)) return fallback;
  const auto value = text(key);
  if (value != "true" && value != "false") fail(key + " wants true or false");
  return value == "true";
}

base::Duration Line::duration(const std::string& key, base::Duration fallback) const {
  return has(key) ? to_duration(text(key)) : fallback;
}

std::optional<base::Duration> Line::maybe_duration(const std::string& key) const {
  if (!has(key)) return std::nullopt;
  return to_duration(text(key));
}

base::Duration Line::to_duration(const std::string& value) const {
  if (value.starts_with("ms:"))  // the raw number, also one that no caller could write
    return {to_number(value.substr(3), std::numeric_limits<std::int64_t>::min(),
                      std::numeric_limits<std::int64_t>::max())};
  const auto parsed = base::parse_duration(value);
  if (!parsed) fail(fmt::format("not a duration: {}", value));
  return *parsed;
}

std::int64_t Line::to_number(const std::string& value, std::int64_t least,
                             std::uint64_t most) const {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (error != std::errc{} || end != value.data() + value.size() || out < least ||
      (out > 0 && static_cast<std::uint64_t>(out) > most))
    fail(fmt::format("not a number that fits: {}", value));
  return out;
}

}  // namespace jobbie::script
