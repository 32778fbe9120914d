// Writing answers with as few appends as they have parts, and without allocating.
#include "http/answer.hpp"

#include <array>
#include <charconv>
#include <ctime>

#include <fmt/format.h>

#include "http/message.hpp"

namespace jobbie::http {
namespace {

void append_number(std::string& out, std::uint64_t number) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

void append_status_line(std::string& out, int status) {
  // The two that nearly every answer has.
  if (status == 200) {
    out.append("HTTP/1.1 200 OK\r\n");
    return;
  }
  if (status == 201) {
    out.append("HTTP/1.1 201 Created\r\n");
    return;
  }
  out.append("HTTP/1.1 ");
  append_number(out, static_cast<std::uint64_t>(status));
  out.push_back(' ');
  out.append(reason_phrase(status));
  out.append("\r\n");
}

/// A header's value may quote what a client sent; it must not be able to add a line.
void append_clean(std::string& out, std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) out.push_back(c);
}

}  // namespace

void DateLine::update(std::int64_t unix_seconds) {
  if (unix_seconds == second_) return;
  second_ = unix_seconds;
  static constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed",
                                                       "Thu", "Fri", "Sat"};
  static constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t time = unix_seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  text_ = fmt::format("date: {}, {:02} {} {:04} {:02}:{:02}:{:02} GMT\r\n",
                      kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                      kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900,
                      parts.tm_hour, parts.tm_min, parts.tm_sec);
}

RequestIds::RequestIds(std::uint64_t seed) : prefix_(fmt::format("{:012x}", seed >> 16)) {}

void RequestIds::append(std::string& out, std::uint64_t serial) const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<char, 12> digits{};
  for (std::size_t i = digits.size(); i-- > 0; serial >>= 4) digits[i] = kDigits[serial & 15];
  out.append(prefix_);
  out.append(digits.data(), digits.size());
}

void append_head(std::string& out, const AnswerHead& head, const DateLine& date,
                 const RequestIds& ids) {
  append_status_line(out, head.status);
  out.append(date.text());
  if (!head.content_type.empty()) {
    out.append("content-type: ");
    out.append(head.content_type);
    out.append("\r\n");
  }
  if (head.framing == Framing::sized && !is_bodiless(head.status)) {
    out.append("content-length: ");
    append_number(out, head.body_bytes);
    out.append("\r\n");
  } else if (head.framing == Framing::chunked) {
    out.append("transfer-encoding: chunked\r\n");
  }
  // Whatever an answer quotes, no browser is to take it for a script or a page.
  out.append("x-content-type-options: nosniff\r\nx-request-id: ");
  if (head.given_id.empty())
    ids.append(out, head.serial);
  else
    out.append(head.given_id);
  out.append("\r\n");
  for (const auto& [name, value] : head.headers) {
    append_clean(out, name);
    out.append(": ");
    append_clean(out, value);
    out.append("\r\n");
  }
  if (head.says_close)
    out.append("connection: close\r\n");
  else if (head.says_keep_alive)
    out.append("connection: keep-alive\r\n");
  out.append("\r\n");
}

void append_chunk(std::string& out, std::string_view part) {
  if (part.empty()) return;
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), part.size(), 16).ptr;
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
  out.append("\r\n");
  out.append(part);
  out.append("\r\n");
}

}  // namespace jobbie::http
