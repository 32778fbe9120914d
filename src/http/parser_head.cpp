// What the lines of a request's head mean, and which of them are refused.
#include <algorithm>
#include <limits>

#include "http/characters.hpp"
#include "http/parser.hpp"

namespace jobbie::http {
namespace {

/// A length with more digits is taken for the largest there is: it is refused as too large.
constexpr std::size_t kMaxLengthDigits = 18;

constexpr bool is_decimal(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool Parser::take_request_line(std::span<const char> data, std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    fail(400, "bad_request_line", "a request line is METHOD TARGET VERSION");
    return false;
  }
  method_text_ = {static_cast<std::uint32_t>(line_at_), static_cast<std::uint32_t>(first)};
  return take_method(line.substr(0, first)) && take_version(line.substr(last + 1)) &&
         take_target(data, line.substr(first + 1, last - first - 1));
}

bool Parser::take_method(std::string_view text) {
  const bool token = std::ranges::all_of(text, [](char c) { return token_lower(c) != 0; });
  if (text.empty() || text.size() > kMaxMethodBytes || !token) {
    fail(400, "bad_method", "the method is not a token");
    return false;
  }
  method_ = method_from(text);
  return true;
}

bool Parser::take_version(std::string_view text) {
  if (text == "HTTP/1.1") return true;
  if (text == "HTTP/1.0") {
    old_version_ = true;
    keep_alive_ = false;
    return true;
  }
  const bool known_form = text.size() == 8 && text.starts_with("HTTP/") && is_decimal(text[5]) &&
                          text[6] == '.' && is_decimal(text[7]);
  if (known_form)
    fail(505, "version_not_supported", "this server speaks HTTP/1.1");
  else
    fail(400, "bad_request_line", "the version is not HTTP/1.1");
  return false;
}

bool Parser::take_target(std::span<const char> data, std::string_view text) {
  if (text.size() > target_bytes_) {
    fail(414, "uri_too_long", "the request target is too long");
    return false;
  }
  if (text.empty() || !is_target(text)) {
    fail(400, "bad_target", "the request target has characters that must be percent-encoded");
    return false;
  }
  const auto slice = [data](std::string_view part) {
    return Slice{static_cast<std::uint32_t>(part.data() - data.data()),
                 static_cast<std::uint32_t>(part.size())};
  };
  target_ = slice(text);
  if (text == "*" && method_ == Method::options) {
    path_ = target_;
    return true;
  }
  // A client of a proxy sends the whole URL, and every server must take it.
  if (text.size() > 7 && equal_ignoring_case(text.substr(0, 7), "http://")) {
    const std::size_t end = std::min(text.find_first_of("/?", 7), text.size());
    if (end == 7 || !is_host(text.substr(7, end - 7))) {
      fail(400, "bad_target", "the request target has no valid host");
      return false;
    }
    text.remove_prefix(end);
  } else if (text.front() != '/') {
    fail(400, "bad_target", "the request target must begin with a slash");
    return false;
  }
  const std::size_t mark = text.find('?');
  path_ = slice(text.substr(0, mark));
  if (mark != std::string_view::npos) query_ = slice(text.substr(mark + 1));
  return true;
}

/// Takes the line [line_at_, line_end_) apart, and puts its name into lower case.
bool Parser::take_header(std::span<char> data, Field& field) {
  std::size_t colon = line_at_;
  for (; colon < line_end_; ++colon) {
    const char lower = token_lower(data[colon]);
    if (lower == 0) break;
    data[colon] = lower;
  }
  if (colon == line_end_ || data[colon] != ':' || colon == line_at_) {
    const bool folded = data[line_at_] == ' ' || data[line_at_] == '\t';
    if (folded)
      fail(400, "folded_header", "a header must not be continued on the next line");
    else
      fail(400, "bad_header", "a header is a token, a colon right behind it, and a value");
    return false;
  }
  const std::string_view value =
      trim(std::string_view(data.data() + colon + 1, line_end_ - colon - 1));
  if (!is_field_value(value)) {
    fail(400, "bad_header", "a header's value has control characters in it");
    return false;
  }
  field.name = {static_cast<std::uint32_t>(line_at_), static_cast<std::uint32_t>(colon - line_at_)};
  field.value = {static_cast<std::uint32_t>(value.data() - data.data()),
                 static_cast<std::uint32_t>(value.size())};
  return true;
}

bool Parser::known_header(std::string_view name, std::string_view value) {
  switch (name.size()) {
    case 4:
      if (name != "host") return true;
      if (has_host_ || !is_host(value)) {
        fail(400, "bad_host", "a request has exactly one Host header, with a valid name");
        return false;
      }
      has_host_ = true;
      return true;
    case 6:
      if (name != "expect") return true;
      if (!equal_ignoring_case(value, "100-continue")) {
        fail(417, "expectation_failed", "only 100-continue can be expected");
        return false;
      }
      expects_continue_ = true;
      return true;
    case 10:
      if (name == "connection") take_connection(value);
      return true;
    case 14:
      return name != "content-length" || take_length(value);
    case 16:
      if (name != "content-encoding" || equal_ignoring_case(value, "identity")) return true;
      fail(415, "content_encoding_not_supported", "a body is sent as it is, not compressed");
      return false;
    case 17:
      return name != "transfer-encoding" || take_coding(value);
    default:
      return true;
  }
}

bool Parser::take_length(std::string_view value) {
  std::size_t length = 0;
  const bool digits = !value.empty() && std::ranges::all_of(value, is_decimal);
  if (!digits) {
    fail(400, "bad_length", "Content-Length is not a number");
    return false;
  }
  if (value.size() > kMaxLengthDigits) {
    // Half of the largest, so that adding the head's size to it stays a number.
    length = std::numeric_limits<std::size_t>::max() / 2;
  } else {
    for (const char c : value) length = length * 10 + static_cast<std::size_t>(c - '0');
  }
  // Also if they are equal: whoever stands before us may have taken another one.
  if (has_length_) {
    fail(400, "bad_length", "the request has two lengths");
    return false;
  }
  has_length_ = true;
  body_bytes_ = length;
  return true;
}

bool Parser::take_coding(std::string_view value) {
  if (chunked_) {
    fail(400, "bad_transfer_encoding", "the request has two transfer codings");
    return false;
  }
  if (!equal_ignoring_case(value, "chunked")) {
    fail(501, "transfer_encoding_not_supported", "the only transfer coding here is chunked");
    return false;
  }
  chunked_ = true;
  return true;
}

void Parser::take_connection(std::string_view value) {
  while (!value.empty()) {
    const std::size_t comma = value.find(',');
    const std::string_view word = trim(value.substr(0, comma));
    if (equal_ignoring_case(word, "close")) says_close_ = true;
    if (equal_ignoring_case(word, "keep-alive")) says_keep_alive_ = true;
    value = comma == std::string_view::npos ? std::string_view() : value.substr(comma + 1);
  }
}

Parser::Step Parser::end_of_head() {
  if (chunked_ && has_length_)
    return fail(400, "length_and_chunks", "a body has a length or chunks, not both");
  if (chunked_ && old_version_)
    return fail(400, "bad_transfer_encoding", "HTTP/1.0 has no transfer codings");
  if (!has_host_ && !old_version_)
    return fail(400, "bad_host", "a request has exactly one Host header, with a valid name");
  keep_alive_ = old_version_ ? says_keep_alive_ && !says_close_ : !says_close_;
  if (old_version_) expects_continue_ = false;
  body_at_ = at_;
  if (!chunked_ && body_bytes_ == 0) {
    expects_continue_ = false;
    stage_ = Stage::done;
    return Step::complete;
  }
  stage_ = chunked_ ? Stage::chunk_size : Stage::sized;
  return Step::head;
}

}  // namespace jobbie::http
