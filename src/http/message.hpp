// Requests and answers as a handler sees them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jobbie::http {

enum class Method : std::uint8_t { get, post, put, del, patch, head, options, other };
inline constexpr std::size_t kMethods = 8;

/// `GET` and so on; empty for `other`.
std::string_view method_name(Method method);
Method method_from(std::string_view text);

struct Header {
  std::string_view name;  ///< in lower case
  std::string_view value;
};

/// All views point into the connection's buffer: they hold until `handle()` returns, no longer.
struct Request {
  Method method = Method::other;
  bool keep_alive = true;
  std::string_view method_text;
  std::string_view target;  ///< as sent
  std::string_view path;    ///< begins with `/`, still percent-encoded; `*` for `OPTIONS *`
  std::string_view query;   ///< without the `?`, still encoded
  std::string_view body;
  std::span<const Header> headers;
  std::string_view request_id;  ///< the client's, or one of ours; the answer carries it
  std::string_view remote;      ///< the client's address and port
  std::string_view client;      ///< its address, or its network, as limits count it

  /// The value of the first header of that name, or nothing.
  [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
  /// The media type without its parameters, as sent.
  [[nodiscard]] std::string_view content_type() const;
};

/// Serialised within `send()`, so `content_type` has to live no longer than that.
struct Response {
  int status = 200;
  std::string_view content_type;  ///< empty: no such header
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

/// "Not Found" and so on; "Unknown" for codes that have no name.
std::string_view reason_phrase(int status);

/// Equal but for the case of ASCII letters.
bool equal_ignoring_case(std::string_view a, std::string_view b);
/// Without spaces and tabs at both ends.
std::string_view trim(std::string_view text);

}  // namespace jobbie::http
