// The way through a request, stage by stage: lines of the head, then the body by length or by
// chunks. What the lines of the head mean is in parser_head.cpp.
#include "http/parser.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "http/characters.hpp"

namespace jobbie::http {
namespace {

/// Hexadecimal digits of a chunk's size; more could not be a length we would take.
constexpr std::size_t kMaxChunkDigits = 15;

}  // namespace

Parser::Step Parser::fail(int status, std::string_view code, std::string_view detail) {
  fault_ = {.status = status, .code = code, .detail = detail};
  stage_ = Stage::failed;
  return Step::bad;
}

Parser::Step Parser::next(Stage stage) {
  stage_ = stage;
  advanced_ = true;
  return Step::more;
}

void Parser::reset() {
  // The fields keep their old bytes; `field_count_` says how many of them count.
  stage_ = Stage::request_line;
  at_ = scanned_ = line_at_ = line_end_ = 0;
  leading_lines_ = chunk_left_ = trailer_bytes_ = 0;
  fault_ = {};
  method_ = Method::other;
  old_version_ = says_close_ = says_keep_alive_ = expects_continue_ = false;
  keep_alive_ = true;
  has_host_ = has_length_ = chunked_ = false;
  method_text_ = target_ = path_ = query_ = {};
  body_at_ = body_bytes_ = field_count_ = 0;
}

Parser::Step Parser::feed(std::span<char> data) {
  JOBBIE_CHECK(data.size() >= at_);
  while (true) {
    advanced_ = false;
    Step step = Step::more;
    switch (stage_) {
      case Stage::request_line:
        step = request_line(data);
        break;
      case Stage::header_lines:
        step = header_line(data);
        break;
      case Stage::sized:
        step = sized_body(data);
        break;
      case Stage::chunk_size:
        step = chunk_size(data);
        break;
      case Stage::chunk_data:
        step = chunk_data(data);
        break;
      case Stage::chunk_end:
        step = chunk_end(data);
        break;
      case Stage::trailers:
        step = trailer_line(data);
        break;
      case Stage::done:
        return Step::complete;
      case Stage::failed:
        return Step::bad;
    }
    if (step != Step::more || !advanced_) return step;
  }
}

/// Looks for the line that begins at `at_`. If it is there, it is [line_at_, line_end_) and `at_`
/// stands behind it. Whether it is too long does not depend on whether its end has come.
Parser::Line Parser::next_line(std::span<const char> data, std::size_t at_most) {
  const char* const begin = data.data();
  const char* feed = nullptr;
  if (scanned_ < data.size())
    feed = static_cast<const char*>(std::memchr(begin + scanned_, '\n', data.size() - scanned_));
  const std::size_t end = feed != nullptr ? static_cast<std::size_t>(feed - begin) : data.size();
  if (end - at_ > at_most) return Line::too_long;
  scanned_ = end;
  if (feed == nullptr) return Line::missing;
  if (end == at_ || begin[end - 1] != '\r') return Line::bad;
  line_at_ = at_;
  line_end_ = end - 1;
  at_ = scanned_ = end + 1;
  return Line::found;
}

Parser::Step Parser::request_line(std::span<char> data) {
  if (data.size() == at_) return Step::more;
  // What is not HTTP at all, such as a TLS greeting, shows in its first byte and need not be
  // awaited.
  if (data[at_] != '\r' && token_lower(data[at_]) == 0)
    return fail(400, "bad_request_line", "this does not begin like an HTTP request");
  switch (next_line(data, target_bytes_ + kMaxMethodBytes + sizeof "HTTP/1.1")) {
    case Line::missing:
      return Step::more;
    case Line::too_long:
      return fail(414, "uri_too_long", "the request line is too long");
    case Line::bad:
      return fail(400, "bad_line_end", "a line must end in CR LF");
    case Line::found:
      break;
  }
  if (line_at_ == line_end_) {
    if (++leading_lines_ > kMaxLeadingLines)
      return fail(400, "bad_request_line", "too many empty lines before the request line");
    return next(Stage::request_line);
  }
  const std::string_view line(data.data() + line_at_, line_end_ - line_at_);
  if (!take_request_line(data, line)) return Step::bad;
  return next(Stage::header_lines);
}

Parser::Step Parser::header_line(std::span<char> data) {
  switch (next_line(data, header_bytes_ > at_ ? header_bytes_ - at_ : 0)) {
    case Line::missing:
      return Step::more;
    case Line::too_long:
      return fail(431, "headers_too_large", "the headers are too large");
    case Line::bad:
      return fail(400, "bad_line_end", "a line must end in CR LF");
    case Line::found:
      break;
  }
  if (line_at_ == line_end_) return end_of_head();
  if (field_count_ == kMaxHeaders)
    return fail(431, "too_many_headers", "the request has too many headers");
  Field& field = fields_[field_count_];
  if (!take_header(data, field)) return Step::bad;
  ++field_count_;
  const std::string_view name(data.data() + field.name.at, field.name.size);
  const std::string_view value(data.data() + field.value.at, field.value.size);
  if (!known_header(name, value)) return Step::bad;
  return next(Stage::header_lines);
}

Parser::Step Parser::sized_body(std::span<const char> data) {
  if (body_bytes_ > body_limit_)
    return fail(413, "body_too_large", "the body is larger than this server takes");
  if (data.size() - body_at_ < body_bytes_) return Step::more;
  at_ = body_at_ + body_bytes_;
  stage_ = Stage::done;
  return Step::complete;
}

Parser::Step Parser::chunk_size(std::span<const char> data) {
  switch (next_line(data, kMaxChunkLineBytes)) {
    case Line::missing:
      return Step::more;
    case Line::too_long:
      return fail(400, "bad_chunk", "the line with a chunk's size is too long");
    case Line::bad:
      return fail(400, "bad_line_end", "a line must end in CR LF");
    case Line::found:
      break;
  }
  const std::string_view line(data.data() + line_at_, line_end_ - line_at_);
  std::size_t size = 0;
  std::size_t digits = 0;
  for (; digits < line.size() && hex_value(line[digits]) >= 0; ++digits) {
    if (digits == kMaxChunkDigits) return fail(400, "bad_chunk", "a chunk's size is absurd");
    size = size * 16 + static_cast<std::size_t>(hex_value(line[digits]));
  }
  const std::string_view rest = trim(line.substr(digits));
  if (digits == 0 || (!rest.empty() && rest.front() != ';') || !is_field_value(rest))
    return fail(400, "bad_chunk", "a chunk's size is not a hexadecimal number");
  if (size == 0) return next(Stage::trailers);
  if (size > body_limit_ || body_bytes_ > body_limit_ - size)
    return fail(413, "body_too_large", "the body is larger than this server takes");
  chunk_left_ = size;
  return next(Stage::chunk_data);
}

/// Moves what has come of a chunk down to the end of the body.
Parser::Step Parser::chunk_data(std::span<char> data) {
  const std::size_t here = std::min(chunk_left_, data.size() - at_);
  if (here > 0) std::memmove(data.data() + body_at_ + body_bytes_, data.data() + at_, here);
  body_bytes_ += here;
  at_ += here;
  scanned_ = at_;
  chunk_left_ -= here;
  return chunk_left_ == 0 ? next(Stage::chunk_end) : Step::more;
}

Parser::Step Parser::chunk_end(std::span<const char> data) {
  if (data.size() - at_ < 2) return Step::more;
  if (data[at_] != '\r' || data[at_ + 1] != '\n')
    return fail(400, "bad_chunk", "a chunk is longer than its size says");
  at_ += 2;
  scanned_ = at_;
  return next(Stage::chunk_size);
}

/// Trailers are looked at for their form and then forgotten.
Parser::Step Parser::trailer_line(std::span<char> data) {
  switch (next_line(data, kMaxTrailerBytes - trailer_bytes_)) {
    case Line::missing:
      return Step::more;
    case Line::too_long:
      return fail(431, "headers_too_large", "the trailers are too large");
    case Line::bad:
      return fail(400, "bad_line_end", "a line must end in CR LF");
    case Line::found:
      break;
  }
  if (line_at_ == line_end_) {
    stage_ = Stage::done;
    return Step::complete;
  }
  trailer_bytes_ += line_end_ - line_at_;
  Field ignored;
  if (!take_header(data, ignored)) return Step::bad;
  return next(Stage::trailers);
}

std::size_t Parser::compact(std::span<char> data) {
  const bool chunks = in_body() && stage_ != Stage::sized;
  const std::size_t kept = body_at_ + body_bytes_;
  if (!chunks || at_ == kept) return data.size();
  const std::size_t left_over = at_ - kept;
  std::memmove(data.data() + kept, data.data() + at_, data.size() - at_);
  at_ -= left_over;
  scanned_ -= left_over;
  return data.size() - left_over;
}

void Parser::view(std::span<const char> data, HeaderViews& headers, Request& request) const {
  const auto text = [data](Slice slice) {
    return std::string_view(data.data() + slice.at, slice.size);
  };
  request.method = method_;
  request.keep_alive = keep_alive_;
  request.method_text = text(method_text_);
  request.target = text(target_);
  request.path = path_.size == 0 ? std::string_view("/") : text(path_);
  request.query = text(query_);
  request.body = stage_ == Stage::done ? std::string_view(data.data() + body_at_, body_bytes_)
                                       : std::string_view();
  for (std::size_t i = 0; i < field_count_; ++i)
    headers[i] = {.name = text(fields_[i].name), .value = text(fields_[i].value)};
  request.headers = std::span<const Header>(headers.data(), field_count_);
}

}  // namespace jobbie::http
