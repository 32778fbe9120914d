// Answers as bytes, and the parts of them that are made once and used often.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace jobbie::http {

/// The `date:` line, made anew when the second changes.
class DateLine {
 public:
  void update(std::int64_t unix_seconds);
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  std::int64_t second_ = -1;
  std::string text_;
};

/// Request ids of our own: a part that is random for each loop, and a count.
class RequestIds {
 public:
  explicit RequestIds(std::uint64_t seed);
  std::uint64_t next() { return ++count_; }
  void append(std::string& out, std::uint64_t serial) const;

 private:
  std::string prefix_;
  std::uint64_t count_ = 0;
};

enum class Framing : std::uint8_t {
  sized,    ///< content-length and the body
  chunked,  ///< a stream to an HTTP/1.1 client
  closed,   ///< a stream to an HTTP/1.0 client: the close ends it
};

struct AnswerHead {
  int status = 200;
  std::string_view content_type;
  std::span<const std::pair<std::string, std::string>> headers;
  std::string_view given_id;  ///< the client's request id; empty: `serial` is ours
  std::uint64_t serial = 0;
  Framing framing = Framing::sized;
  std::size_t body_bytes = 0;
  bool says_close = false;
  bool says_keep_alive = false;  ///< an HTTP/1.0 client wants to be told
};

/// Whether an answer of this status has no body and no length, whatever it was given.
constexpr bool is_bodiless(int status) { return status < 200 || status == 204 || status == 304; }

/// Everything up to and with the empty line. Characters that could end a line are left out of
/// headers.
void append_head(std::string& out, const AnswerHead& head, const DateLine& date,
                 const RequestIds& ids);
/// One chunk of a stream; nothing for an empty part, since that would end it.
void append_chunk(std::string& out, std::string_view part);

}  // namespace jobbie::http
