// The kinds of values, and the sentences for those that are not of their kind.
#include "face/body.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/duration.hpp"
#include "base/rfc3339.hpp"
#include "model/limits.hpp"

namespace jobbie::face {

using base::json::Fault;
using base::json::Kind;

bool Body::text(std::string_view& out) {
  if (reader_.peek() != Kind::string) return refuse_kind("a string");
  return reader_.string(out);
}

bool Body::text(base::Blob& out) {
  std::string_view view;
  if (!text(view)) return false;
  out = base::Blob(view);
  return true;
}

bool Body::texts(std::vector<base::Blob>& out, std::size_t max) {
  return array(max, [&](std::size_t) { return text(out.emplace_back()); });
}

bool Body::json(base::Blob& out, std::size_t max_bytes) {
  std::optional<Problem> too_long;
  if (!json(out, max_bytes, too_long)) return false;
  return !too_long || refuse(*std::move(too_long));
}

bool Body::json(base::Blob& out, std::size_t max_bytes, std::optional<Problem>& too_long) {
  std::string_view raw;
  if (!reader_.value(raw)) return false;
  if (raw.size() <= max_bytes) {
    out = base::Blob(raw);
    return true;
  }
  too_long = Problem{.status = 413,
                     .code = "payload_too_large",
                     .detail = fmt::format("{} has {} bytes; at most {} are taken.", path(field_),
                                           raw.size(), max_bytes),
                     .field = path(field_)};
  return true;
}

bool Body::duration(base::Duration& out) {
  std::string_view view;
  const Kind kind = reader_.peek();
  if (kind != Kind::number && kind != Kind::string)
    return refuse_kind("a number of seconds or a text such as \"1h30m\"");
  if (kind == Kind::number ? !reader_.number(view) : !reader_.string(view)) return false;
  const auto parsed =
      kind == Kind::number ? base::parse_seconds_number(view) : base::parse_duration(view);
  if (!parsed) return refuse_duration(parsed.error());
  out = *parsed;
  return true;
}

bool Body::positive_duration(base::Duration& out) {
  if (!duration(out)) return false;
  return out.ms > 0 || refuse_value("must be at least a millisecond; null is none");
}

bool Body::instant(base::Instant& out) {
  std::string_view view;
  if (reader_.peek() != Kind::string) return refuse_kind("a time such as \"2026-02-11T10:00:15Z\"");
  if (!reader_.string(view)) return false;
  const auto parsed = base::parse_rfc3339(view);
  if (!parsed) return refuse_value(fmt::format("is no time: {}", parsed.error().message));
  out = *parsed;
  return true;
}

bool Body::boolean(bool& out) {
  if (reader_.peek() != Kind::boolean) return refuse_kind("true or false");
  return reader_.boolean(out);
}

bool Body::integer(std::int64_t& out, std::int64_t min, std::int64_t max) {
  if (reader_.peek() != Kind::number) return refuse_kind("a whole number");
  std::string_view raw;
  if (!reader_.number(raw)) return false;
  if (raw.find_first_of(".eE") != std::string_view::npos)
    return refuse_value("must be a whole number");
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), out);
  if (error == std::errc::result_out_of_range) {
    return refuse({.status = 400,
                   .code = "number_out_of_range",
                   .detail = fmt::format("{} does not fit 64 bits.", path(field_)),
                   .field = path(field_)});
  }
  if (error != std::errc{} || out < min || out > max)
    return refuse_value(fmt::format("must be between {} and {}", min, max));
  return true;
}

bool Body::share(std::uint32_t& out) {
  if (reader_.peek() != Kind::number) return refuse_kind("a number between 0 and 1");
  std::string_view raw;
  if (!reader_.number(raw)) return false;
  double value = 0;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
  // A number too small for a double is as good as zero; its exponent tells it from one too large.
  const bool tiny = error == std::errc::result_out_of_range &&
                    (raw.find("e-") != raw.npos || raw.find("E-") != raw.npos);
  if ((error != std::errc{} && !tiny) || value < 0 || value > 1)
    return refuse_value("must be between 0 and 1");
  out = static_cast<std::uint32_t>(std::lround(value * model::limits::kJitterUnit));
  return true;
}

bool Body::choice_index(std::size_t& out, std::span<const std::string_view> names) {
  std::string_view name;
  if (!text(name)) return false;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    return refuse_value(fmt::format("must be one of {}", fmt::join(names, ", ")));
  out = static_cast<std::size_t>(found - names.begin());
  return true;
}

bool Body::refuse(Problem problem) {
  if (!problem_) problem_ = std::move(problem);
  return false;
}

bool Body::refuse_value(std::string_view rest, int status) {
  std::string field = path(field_);
  return refuse({.status = status,
                 .code = "invalid",
                 .detail = fmt::format("{} {}.", field, rest),
                 .field = std::move(field)});
}

bool Body::refuse_missing(std::string_view field) {
  std::string full = path(field);
  return refuse({.status = 422,
                 .code = "missing_field",
                 .detail = fmt::format("{} must be given.", full),
                 .field = std::move(full)});
}

bool Body::refuse_kind(std::string_view expected) {
  const Kind kind = reader_.peek();
  std::string_view raw;
  if (!reader_.value(raw)) return false;
  std::string field = path(field_);
  return refuse({.status = 422,
                 .code = "wrong_type",
                 .detail = fmt::format("{} must be {}, not {}.", field.empty() ? "The body" : field,
                                       expected, base::json::to_string(kind)),
                 .field = std::move(field)});
}

bool Body::refuse_duration(const base::Error& error) {
  if (error.code != base::kDurationOutOfRange)
    return refuse_value(fmt::format("is no duration: {}", error.message));
  return refuse({.status = 400,
                 .code = "duration_out_of_range",
                 .detail = fmt::format("{} is too long: {}.", path(field_), error.message),
                 .field = path(field_)});
}

bool Body::refuse_unknown(std::string_view name, std::span<const std::string_view> names) {
  std::string field = path(shown(name));
  const auto meant = nearest_name(name, names);
  std::string detail = fmt::format("There is no field \"{}\" here", shown(name));
  detail += meant.empty() ? "." : fmt::format("; did you mean \"{}\"?", meant);
  return refuse({.status = 422,
                 .code = "unknown_field",
                 .detail = std::move(detail),
                 .field = std::move(field),
                 .position = reader_.name_position()});
}

bool Body::refuse_duplicate() {
  std::string field = path(field_);
  return refuse({.status = 422,
                 .code = "duplicate_field",
                 .detail = fmt::format("{} is given twice.", field),
                 .field = std::move(field),
                 .position = reader_.name_position()});
}

bool Body::refuse_count(std::size_t max) {
  return refuse_value(fmt::format("has more than {} elements", max));
}

std::string Body::path(std::string_view field) const {
  if (list_.empty()) return std::string(field);
  std::string out(list_);
  if (!key_.empty())
    out.append(".").append(shown(key_));
  else if (position_ != kNoPosition)
    out += fmt::format("[{}]", position_);
  if (!field.empty()) out.append(".").append(field);
  return out;
}

Problem Body::syntax_problem() const {
  const Fault fault = reader_.fault();
  const std::size_t position = reader_.position();
  const std::string_view before = text_.substr(0, position);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const char* code = "bad_json";
  if (fault == Fault::bad_utf8) code = "bad_utf8";
  if (fault == Fault::too_deep) code = "too_deep";
  Problem problem{.status = 400, .code = code, .position = position};
  problem.detail =
      text_.empty()
          ? "The body is empty; a JSON object is expected."
          : fmt::format("The body is not JSON: {} at line {}, column {} (byte {}).",
                        base::json::to_string(fault), line, position - line_start + 1, position);
  return problem;
}

Problem Body::problem() const { return problem_ ? *problem_ : syntax_problem(); }

}  // namespace jobbie::face
