// An incremental HTTP/1.x request parser over a buffer that somebody else owns.
//
// It is fed the same request again and again, each time with all bytes that have come since the
// request's first one, and goes on where it stopped. It copies nothing: names are put into lower
// case and chunks are joined in place, and the request consists of views into the buffer. What it
// says depends on the bytes alone, not on how they were cut into pieces.
//
// It is strict where leniency lets two servers see two different requests in the same bytes: no
// bare line feeds, no folded lines, no space before a colon, no second length, no length beside
// chunks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "http/limits.hpp"
#include "http/message.hpp"

namespace jobbie::http {

/// Why a request is refused: the answer's status, a stable code and a sentence, all static.
struct Fault {
  int status = 0;
  std::string_view code;
  std::string_view detail;
};

using HeaderViews = std::array<Header, kMaxHeaders>;

class Parser {
 public:
  enum class Step : std::uint8_t {
    more,      ///< nothing is wrong yet, and something is missing
    head,      ///< the head is complete and a body follows; told once, then feed again
    complete,  ///< the request is complete: `view()` and `consumed()`
    bad,       ///< the request is refused: `fault()`; there is no way to go on after it
  };

  explicit Parser(const Limits& limits)
      : header_bytes_(limits.header_bytes),
        target_bytes_(limits.target_bytes),
        body_limit_(limits.body_bytes) {}

  /// `data` is everything since the request's first byte, as the last call left it, and what came
  /// since. It may lie at another address than before.
  Step feed(std::span<char> data);

  /// Ready for the next request. A body limit that was set is kept until it is set again.
  void reset();

  /// After `head`, before the next feed.
  void set_body_limit(std::size_t bytes) { body_limit_ = bytes; }

  /// After `head` or `complete`: the request (after `head` without its body). `headers` holds the
  /// views that the request refers to.
  void view(std::span<const char> data, HeaderViews& headers, Request& request) const;

  /// After `complete`: how many bytes of the data were this request.
  [[nodiscard]] std::size_t consumed() const { return at_; }
  [[nodiscard]] const Fault& fault() const { return fault_; }
  /// Whether the head is behind us.
  [[nodiscard]] bool in_body() const {
    return stage_ == Stage::sized || stage_ == Stage::chunk_size || stage_ == Stage::chunk_data ||
           stage_ == Stage::chunk_end || stage_ == Stage::trailers;
  }
  [[nodiscard]] bool old_version() const { return old_version_; }
  [[nodiscard]] bool expects_continue() const { return expects_continue_; }
  /// How many bytes the whole request has, where its head says so; else 0.
  [[nodiscard]] std::size_t announced_bytes() const {
    return stage_ == Stage::sized ? body_at_ + body_bytes_ : 0;
  }

  /// After `more`: takes out the bytes that joining chunks has left over and gives the new length.
  std::size_t compact(std::span<char> data);

 private:
  enum class Stage : std::uint8_t {
    request_line,
    header_lines,
    sized,
    chunk_size,
    chunk_data,
    chunk_end,
    trailers,
    done,
    failed,
  };
  enum class Line : std::uint8_t { missing, found, too_long, bad };
  struct Slice {
    std::uint32_t at = 0;
    std::uint32_t size = 0;
  };
  struct Field {
    Slice name;
    Slice value;
  };

  Step fail(int status, std::string_view code, std::string_view detail);
  Step next(Stage stage);

  Line next_line(std::span<const char> data, std::size_t at_most);
  Step request_line(std::span<char> data);
  Step header_line(std::span<char> data);
  bool take_request_line(std::span<const char> data, std::string_view line);
  bool take_method(std::string_view text);
  bool take_version(std::string_view text);
  bool take_target(std::span<const char> data, std::string_view text);
  bool take_header(std::span<char> data, Field& field);
  bool known_header(std::string_view name, std::string_view value);
  bool take_length(std::string_view value);
  bool take_coding(std::string_view value);
  void take_connection(std::string_view value);
  Step end_of_head();

  Step sized_body(std::span<const char> data);
  Step chunk_size(std::span<const char> data);
  Step chunk_data(std::span<char> data);
  Step chunk_end(std::span<const char> data);
  Step trailer_line(std::span<char> data);

  // Set by the limits.
  std::size_t header_bytes_;
  std::size_t target_bytes_;
  std::size_t body_limit_;

  // Where we are. All positions count from the request's first byte.
  Stage stage_ = Stage::request_line;
  bool advanced_ = false;    ///< the last step finished a stage: go on without asking for more
  std::size_t at_ = 0;       ///< everything before it is dealt with
  std::size_t scanned_ = 0;  ///< no line feed between `at_` and here
  std::size_t line_at_ = 0;  ///< the line that was found last, without its end
  std::size_t line_end_ = 0;
  std::size_t leading_lines_ = 0;
  std::size_t chunk_left_ = 0;
  std::size_t trailer_bytes_ = 0;
  Fault fault_;

  // What is known of the request.
  Method method_ = Method::other;
  bool old_version_ = false;  ///< HTTP/1.0
  bool keep_alive_ = true;
  bool says_close_ = false;
  bool says_keep_alive_ = false;
  bool expects_continue_ = false;
  bool has_host_ = false;
  bool has_length_ = false;
  bool chunked_ = false;
  Slice method_text_;
  Slice target_;
  Slice path_;
  Slice query_;
  std::size_t body_at_ = 0;
  std::size_t body_bytes_ = 0;
  std::size_t field_count_ = 0;
  std::array<Field, kMaxHeaders> fields_;
};

}  // namespace jobbie::http
