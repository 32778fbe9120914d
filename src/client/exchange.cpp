// The reading half of HTTP/1.1, with bounds on everything.
#include "client/exchange.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace jobbie::client {
namespace {

constexpr std::size_t kReadSize = std::size_t{64} << 10;

std::unexpected<Error> broken(std::string message) {
  return std::unexpected(Error{.failure = Failure::broken, .message = std::move(message)});
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <typename T>
bool read_number(std::string_view text, T& out, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string_view Response::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

/// Reads more into the buffer; false when the peer has ended.
Result<bool> Exchange::fill(const Patience& patience) {
  std::array<char, kReadSize> part;
  const auto got = socket_.read(part, patience);
  if (!got) return std::unexpected(got.error());
  buffer_.append(part.data(), *got);
  answered_ = answered_ || *got > 0;
  return *got > 0;
}

Result<std::string> Exchange::line(const Patience& patience) {
  std::size_t seen = 0;
  while (true) {
    const auto end = buffer_.find('\n', seen);
    if (end != std::string::npos) {
      std::string text = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      if (text.ends_with('\r')) text.pop_back();
      return text;
    }
    seen = buffer_.size();
    if (seen > kMaxHead) return broken("the answer's head is too long");
    const auto more = fill(patience);
    if (!more) return std::unexpected(more.error());
    if (!*more) return broken("the server closed the connection");
  }
}

Result<Response> Exchange::read_head(const Patience& patience, bool answers_head) {
  answered_ = !buffer_.empty();
  reusable_ = false;
  Response response;
  do {  // 100 Continue and its like come before the answer
    const auto status = line(patience);
    if (!status) return std::unexpected(status.error());
    if (!status->starts_with("HTTP/1.") || status->size() < 12 ||
        !read_number(std::string_view(*status).substr(9, 3), response.status))
      return broken("the answer is not HTTP; is this the address of a Jobbie server?");
    reusable_ = (*status)[7] == '1';
    response.headers.clear();
    std::size_t bytes = 0;
    while (true) {
      const auto text = line(patience);
      if (!text) return std::unexpected(text.error());
      if (text->empty()) break;
      bytes += text->size();
      const auto colon = text->find(':');
      if (colon == std::string::npos || bytes > kMaxHead)
        return broken("the answer's head is malformed");
      response.headers.emplace_back(lower(std::string_view(*text).substr(0, colon)),
                                    trim(std::string_view(*text).substr(colon + 1)));
    }
  } while (response.status < 200);
  if (lower(response.header("connection")) == "close") reusable_ = false;
  if (auto set = set_framing(response); !set) return std::unexpected(set.error());
  if (answers_head || response.status == 204 || response.status == 304) done_ = true;
  return response;
}

Result<void> Exchange::set_framing(const Response& response) {
  done_ = false;
  const auto coding = lower(response.header("transfer-encoding"));
  const auto length = response.header("content-length");
  if (coding == "chunked") {
    framing_ = Framing::chunked;
    left_ = 0;
    first_chunk_ = true;
  } else if (!coding.empty()) {
    return broken("the answer has an encoding that was not asked for: " + coding);
  } else if (!length.empty()) {
    framing_ = Framing::length;
    if (!read_number(length, left_)) return broken("the answer's length is malformed");
    done_ = left_ == 0;
  } else {
    framing_ = Framing::until_close;
    reusable_ = false;
  }
  return {};
}

Result<void> Exchange::next_chunk(const Patience& patience) {
  if (!first_chunk_) {
    const auto end = line(patience);
    if (!end) return std::unexpected(end.error());
  }
  first_chunk_ = false;
  auto size = line(patience);
  if (!size) return std::unexpected(size.error());
  const auto digits = trim(std::string_view(*size).substr(0, size->find(';')));
  if (!read_number(digits, left_, 16) || left_ > kMaxBody)
    return broken("a part of the answer is malformed");
  if (left_ > 0) return {};
  while (true) {  // trailers, which nobody asked for
    const auto trailer = line(patience);
    if (!trailer) return std::unexpected(trailer.error());
    if (trailer->empty()) break;
  }
  done_ = true;
  return {};
}

Result<bool> Exchange::read_some(std::string& out, const Patience& patience) {
  if (done_) return false;
  if (framing_ == Framing::chunked && left_ == 0) {
    if (auto next = next_chunk(patience); !next) return std::unexpected(next.error());
    if (done_) return false;
  }
  if (buffer_.empty()) {
    const auto more = fill(patience);
    if (!more) return std::unexpected(more.error());
    if (!*more) {
      if (framing_ != Framing::until_close) return broken("the server closed the connection");
      done_ = true;
      return false;
    }
  }
  const std::size_t wanted = framing_ == Framing::until_close ? buffer_.size() : left_;
  const std::size_t taken = std::min(buffer_.size(), wanted);
  out.append(buffer_, 0, taken);
  buffer_.erase(0, taken);
  if (framing_ != Framing::until_close) left_ -= taken;
  if (framing_ == Framing::length && left_ == 0) done_ = true;
  return true;
}

Result<void> Exchange::read_body(Response& response, const Patience& patience) {
  if (framing_ == Framing::length && left_ > kMaxBody) return broken("the answer is too large");
  while (true) {
    const auto more = read_some(response.body, patience);
    if (!more) return std::unexpected(more.error());
    if (!*more) return {};
    if (response.body.size() > kMaxBody) return broken("the answer is too large");
  }
}

}  // namespace jobbie::client
