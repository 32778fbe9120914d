// Writes JSON by appending to a string: commas and quotes are seen to, brackets are the caller's.
//
//     Writer json(out);
//     json.begin_object();
//     json.member("job_id").string(id);
//     json.member("payload").raw(payload);
//     json.end_object();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/id.hpp"
#include "base/time.hpp"

namespace jobbie::base::json {

/// Appends `text` as a string literal with quotes. Bytes that are not UTF-8 become U+FFFD: the
/// output is valid whatever came in.
void append_quoted(std::string& out, std::string_view text);

/// A value of one thread; the string must outlive it. It trusts the caller to match brackets and to
/// give every member one value.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  Writer& begin_object() { return begin('{'); }
  Writer& end_object() { return end('}'); }
  Writer& begin_array() { return begin('['); }
  Writer& end_array() { return end(']'); }

  /// `name` must need no escapes.
  Writer& member(std::string_view name) {
    out_.append(comma_ ? ",\"" : "\"", comma_ ? 2 : 1).append(name).append("\":", 2);
    comma_ = false;
    return *this;
  }
  /// A member whose name came from outside.
  Writer& member_quoted(std::string_view name) {
    separate();
    append_quoted(out_, name);
    out_.push_back(':');
    comma_ = false;
    return *this;
  }

  Writer& string(std::string_view text) {
    separate();
    append_quoted(out_, text);
    return *this;
  }
  /// Text that is known to need no escapes.
  Writer& plain(std::string_view text) {
    separate();
    out_.push_back('"');
    out_.append(text).push_back('"');
    return *this;
  }
  /// JSON as it stands.
  Writer& raw(std::string_view json) {
    separate();
    out_.append(json);
    return *this;
  }
  Writer& number(std::int64_t value);
  Writer& number(std::uint64_t value);
  Writer& number(std::int32_t value) { return number(std::int64_t{value}); }
  Writer& number(std::uint32_t value) { return number(std::uint64_t{value}); }
  /// A number as text, for those that callers must not calculate with.
  Writer& number_text(std::uint64_t value);
  /// A number of millionths as a share: 0.25.
  Writer& millionths(std::uint32_t value);
  Writer& boolean(bool value) { return raw(value ? "true" : "false"); }
  Writer& null() { return raw("null"); }

  template <typename IdKind>
  Writer& id(const Id<IdKind>& id) {
    separate();
    const auto digits = id.ulid.text();
    out_.push_back('"');
    out_.append(IdKind::prefix).append(digits.data(), digits.size()).push_back('"');
    return *this;
  }
  /// RFC 3339 with milliseconds.
  Writer& instant(Instant at);
  /// A number of seconds, with a fraction where it has one.
  Writer& seconds(Duration duration);

 private:
  void separate() {
    if (comma_) out_.push_back(',');
    comma_ = true;
  }
  Writer& begin(char bracket) {
    separate();
    out_.push_back(bracket);
    comma_ = false;
    return *this;
  }
  Writer& end(char bracket) {
    out_.push_back(bracket);
    comma_ = true;
    return *this;
  }

  std::string& out_;
  bool comma_ = false;
};

}  // namespace jobbie::base::json
