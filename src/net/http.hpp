// HTTP/1.1 as a client speaks it: a request out, a head and a body in, on one connection.
//
// Nothing that a server says is believed: heads, lines and bodies have bounds, and redirects are
// answers like any other, which nobody follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/connection.hpp"
#include "net/deadline.hpp"
#include "net/error.hpp"

namespace jobbie::net {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

/// Host and Content-Length are added.
struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";  ///< path and query
  std::string host;          ///< the Host header
  HttpHeaders headers;
  std::string_view body;
};

/// The request as bytes. Refuses (bad_request) a line break or a NUL in any part of the head, which
/// would be a header, or a second request, that nobody meant to send.
[[nodiscard]] Result<std::string> to_bytes(const HttpRequest& request);

/// The most that is taken from a server; beyond it the answer is too_large.
struct HttpLimits {
  std::size_t head_bytes = std::size_t{64}
                           << 10;  ///< also of a line between chunks, and of trailers
  std::size_t body_bytes = std::size_t{256} << 20;  ///< what is read in parts may be longer
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;  ///< names in small letters
  std::string body;

  /// The first of that name; empty where there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

/// One connection and what was read from it. Requests follow one another; each answer is read to
/// its end before the next. Owned by one thread at a time.
class HttpConnection {
 public:
  explicit HttpConnection(Connection connection, HttpLimits limits = {})
      : connection_(std::move(connection)), limits_(limits) {}

  /// A failure other than bad_request may come after the server has seen all it needs to answer.
  [[nodiscard]] Result<void> send(const HttpRequest& request, const Deadline& deadline);
  /// The head of the answer; announcements (100 Continue) are passed over. May be called again
  /// after it was interrupted.
  [[nodiscard]] Result<HttpResponse> read_head(const Deadline& deadline);
  /// All of the body, into `response`.
  [[nodiscard]] Result<void> read_body(HttpResponse& response, const Deadline& deadline);
  /// Appends the next part of the body; false at its end.
  [[nodiscard]] Result<bool> read_some(std::string& out, const Deadline& deadline);

  void finish_sending() { connection_.finish_sending(); }
  /// Whether another request may be sent.
  [[nodiscard]] bool is_reusable() const {
    return keeps_alive_ && done_ && buffer_.empty() && connection_.is_quiet();
  }

 private:
  enum class Framing : std::uint8_t { length, chunked, until_close };

  Result<bool> fill(const Deadline& deadline);
  Result<std::string> read_line(const Deadline& deadline);
  Result<std::string> take_head(const Deadline& deadline);
  Result<void> next_chunk(const Deadline& deadline);
  void set_framing(const HttpResponse& response);

  Connection connection_;
  HttpLimits limits_;
  std::string buffer_;  ///< read, and not looked at yet
  Framing framing_ = Framing::length;
  std::optional<Error> unreadable_;  ///< why the body's length is not known
  std::size_t left_ = 0;             ///< of the body, or of the chunk
  std::size_t announced_ = 0;        ///< bytes of heads that were not the answer
  bool asked_for_head_ = false;      ///< the request was HEAD: no body comes, whatever is said
  bool first_chunk_ = true;
  bool done_ = true;
  bool keeps_alive_ = false;
};

}  // namespace jobbie::net
