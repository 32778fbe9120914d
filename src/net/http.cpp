// Writing requests, and reading answers with bounds on everything.
#include "net/http.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace jobbie::net {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;
/// `HTTP/1.1 200`
constexpr std::size_t kShortestStatusLine = 12;

std::unexpected<Error> unusable(Failure failure, std::string message) {
  return std::unexpected(Error{.failure = failure, .message = std::move(message)});
}

std::string small_letters(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <typename T>
bool is_number(std::string_view text, T& out, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc{} && end == text.data() + text.size();
}

bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

/// Whether the list in a header has this token.
bool has_token(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    if (small_letters(trimmed(list.substr(0, comma))) == token) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

/// Takes the next line off `text`, without its end.
std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  auto line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Result<HttpResponse> parse_head(std::string_view text) {
  HttpResponse response;
  const auto status = take_line(text);
  if (!status.starts_with("HTTP/1.") || status.size() < kShortestStatusLine || status[8] != ' ' ||
      !is_number(status.substr(9, 3), response.status) || response.status < 100)
    return unusable(Failure::not_http, "the answer is not HTTP");
  while (!text.empty()) {
    const auto line = take_line(text);
    if (line.empty()) break;
    const bool continues = line.front() == ' ' || line.front() == '\t';
    if (continues && !response.headers.empty()) {
      response.headers.back().second.append(" ").append(trimmed(line));
      continue;
    }
    const auto colon = line.find(':');
    if (continues || colon == std::string_view::npos || colon == 0)
      return unusable(Failure::malformed, "the answer's head is malformed");
    response.headers.emplace_back(small_letters(line.substr(0, colon)),
                                  trimmed(line.substr(colon + 1)));
  }
  return response;
}

}  // namespace

std::string_view HttpResponse::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

Result<std::string> to_bytes(const HttpRequest& request) {
  bool sound = is_one_line(request.method) && is_one_line(request.target) &&
               is_one_line(request.host) && !request.target.empty();
  std::string out =
      request.method + " " + request.target + " HTTP/1.1\r\nHost: " + request.host + "\r\n";
  for (const auto& [name, value] : request.headers) {
    sound = sound && is_one_line(name) && is_one_line(value) && !name.empty();
    out += name + ": " + value + "\r\n";
  }
  if (!sound)
    return unusable(Failure::bad_request,
                    "a header, or the target, has a character that HTTP does not carry");
  if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD"))
    out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  out += "\r\n";
  out += request.body;
  return out;
}

Result<void> HttpConnection::send(const HttpRequest& request, const Deadline& deadline) {
  const auto bytes = to_bytes(request);
  if (!bytes) return std::unexpected(bytes.error());
  asked_for_head_ = request.method == "HEAD";
  announced_ = 0;
  keeps_alive_ = false;  // until an answer says so
  return connection_.write(*bytes, deadline);
}

/// Reads more into the buffer; false when the peer has ended.
Result<bool> HttpConnection::fill(const Deadline& deadline) {
  std::array<char, kReadBytes> part;
  const auto got = connection_.read(part, deadline);
  if (!got) return std::unexpected(got.error());
  buffer_.append(part.data(), *got);
  return *got > 0;
}

/// A head with the empty line at its end. Until all of it is here nothing is taken, so that an
/// interrupted reading can be taken up again.
Result<std::string> HttpConnection::take_head(const Deadline& deadline) {
  std::size_t line = 0;  // where the line begins that has no end yet
  while (true) {
    for (auto end = buffer_.find('\n', line); end != std::string::npos;
         end = buffer_.find('\n', line)) {
      const bool is_empty = end == line || (end == line + 1 && buffer_[line] == '\r');
      line = end + 1;
      if (!is_empty) continue;
      if (line > limits_.head_bytes - announced_) break;
      std::string head = buffer_.substr(0, line);
      buffer_.erase(0, line);
      return head;
    }
    // What is not HTTP may have no lines at all, and is better told by its name.
    if (buffer_.size() > limits_.head_bytes - announced_)
      return buffer_.starts_with("HTTP/1.")
                 ? unusable(Failure::too_large, "the answer's head is too long")
                 : unusable(Failure::not_http, "the answer is not HTTP");
    const auto more = fill(deadline);
    if (!more) return std::unexpected(more.error());
    if (!*more) return unusable(Failure::closed, "the server closed the connection");
  }
}

Result<HttpResponse> HttpConnection::read_head(const Deadline& deadline) {
  while (true) {
    const auto head = take_head(deadline);
    if (!head) return std::unexpected(head.error());
    auto response = parse_head(*head);
    if (!response) return response;
    // Nobody asks for another protocol.
    if (response->status == 101)
      return unusable(Failure::malformed, "the server changes to another protocol");
    if (response->status < 200) {
      announced_ = std::min(announced_ + head->size(), limits_.head_bytes);
      continue;
    }
    keeps_alive_ = head->starts_with("HTTP/1.1");
    for (const auto& [name, value] : response->headers)
      if (name == "connection" && has_token(value, "close")) keeps_alive_ = false;
    set_framing(*response);
    return response;
  }
}

/// How long the body is. If that cannot be told it is the body's reader who learns of it: a caller
/// that wants the status alone has it.
void HttpConnection::set_framing(const HttpResponse& response) {
  const auto give_up = [this](std::string message) {
    unreadable_ = Error{.failure = Failure::malformed, .message = std::move(message)};
    keeps_alive_ = false;
  };
  unreadable_.reset();
  left_ = 0;
  done_ = asked_for_head_ || response.status == 204 || response.status == 304;
  if (done_) return;
  const auto coding = small_letters(response.header("transfer-encoding"));
  const auto length = response.header("content-length");
  for (const auto& [name, value] : response.headers)
    if (name == "content-length" && value != length) return give_up("the answer has two lengths");
  if (coding == "chunked") {
    framing_ = Framing::chunked;
    first_chunk_ = true;
    // Whoever sends both is not to be trusted with what comes behind.
    if (!length.empty()) keeps_alive_ = false;
  } else if (!coding.empty()) {
    give_up("the answer has an encoding that was not asked for: " + coding);
  } else if (!length.empty()) {
    framing_ = Framing::length;
    if (!is_number(length, left_)) return give_up("the answer's length is malformed");
    done_ = left_ == 0;
  } else {
    framing_ = Framing::until_close;
    keeps_alive_ = false;
  }
}

/// One of the lines around chunks.
Result<std::string> HttpConnection::read_line(const Deadline& deadline) {
  std::size_t seen = 0;
  while (true) {
    const auto end = buffer_.find('\n', seen);
    if (std::min(end, buffer_.size()) > limits_.head_bytes)
      return unusable(Failure::malformed, "a line of the answer is too long");
    if (end != std::string::npos) {
      std::string text = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      if (text.ends_with('\r')) text.pop_back();
      return text;
    }
    seen = buffer_.size();
    const auto more = fill(deadline);
    if (!more) return std::unexpected(more.error());
    if (!*more) return unusable(Failure::closed, "the server closed the connection");
  }
}

Result<void> HttpConnection::next_chunk(const Deadline& deadline) {
  const auto wrong = [] {
    return unusable(Failure::malformed, "a part of the answer is malformed");
  };
  if (!std::exchange(first_chunk_, false)) {
    const auto end = read_line(deadline);
    if (!end) return std::unexpected(end.error());
    if (!end->empty()) return wrong();
  }
  const auto size = read_line(deadline);
  if (!size) return std::unexpected(size.error());
  const auto digits = trimmed(std::string_view(*size).substr(0, size->find(';')));
  if (!is_number(digits, left_, 16)) return wrong();
  if (left_ > limits_.body_bytes)
    return unusable(Failure::too_large, "a part of the answer is too large");
  if (left_ > 0) return {};
  std::size_t bytes = 0;
  while (true) {  // trailers, which nobody asked for
    const auto trailer = read_line(deadline);
    if (!trailer) return std::unexpected(trailer.error());
    if (trailer->empty()) break;
    bytes += trailer->size();
    if (bytes > limits_.head_bytes) return wrong();
  }
  done_ = true;
  return {};
}

Result<bool> HttpConnection::read_some(std::string& out, const Deadline& deadline) {
  if (done_) return false;
  if (unreadable_) return std::unexpected(*unreadable_);
  if (framing_ == Framing::chunked && left_ == 0) {
    if (auto next = next_chunk(deadline); !next) {
      unreadable_ = next.error();
      return std::unexpected(std::move(next.error()));
    }
    if (done_) return false;
  }
  if (buffer_.empty()) {
    const auto more = fill(deadline);
    if (!more) return std::unexpected(more.error());
    if (!*more) {
      if (framing_ != Framing::until_close)
        return unusable(Failure::closed, "the server closed the connection");
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

Result<void> HttpConnection::read_body(HttpResponse& response, const Deadline& deadline) {
  const auto too_large = [] { return unusable(Failure::too_large, "the answer is too large"); };
  if (!done_ && !unreadable_ && framing_ == Framing::length && left_ > limits_.body_bytes)
    return too_large();
  while (true) {
    const auto more = read_some(response.body, deadline);
    if (!more) return std::unexpected(more.error());
    if (!*more) return {};
    if (response.body.size() > limits_.body_bytes) return too_large();
  }
}

}  // namespace jobbie::net
