// Names of methods and statuses, and looking up headers.
#include "http/message.hpp"

#include <algorithm>
#include <array>

namespace jobbie::http {
namespace {

constexpr std::array<std::string_view, kMethods> kMethodNames = {
    "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", ""};

struct Reason {
  int status;
  std::string_view phrase;
};
/// In the order of the codes.
constexpr auto kReasons = std::to_array<Reason>({
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {207, "Multi-Status"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
});

constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string_view method_name(Method method) {
  return kMethodNames[static_cast<std::size_t>(method)];
}

Method method_from(std::string_view text) {
  for (std::size_t i = 0; i + 1 < kMethodNames.size(); ++i)
    if (text == kMethodNames[i]) return static_cast<Method>(i);
  return Method::other;
}

std::string_view Request::header(std::string_view lower_case_name) const {
  for (const Header& header : headers)
    if (header.name == lower_case_name) return header.value;
  return {};
}

std::string_view Request::content_type() const {
  const std::string_view value = header("content-type");
  return trim(value.substr(0, value.find(';')));
}

std::string_view reason_phrase(int status) {
  const auto found = std::ranges::lower_bound(kReasons, status, {}, &Reason::status);
  return found != kReasons.end() && found->status == status ? found->phrase : "Unknown";
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_case(x) == lower_case(y); });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace jobbie::http
