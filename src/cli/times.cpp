// Reads what was typed and says what would have been right.
#include "cli/times.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "base/duration.hpp"
#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "base/rfc3339.hpp"
#include "cli/print.hpp"

namespace jobbie::cli {

client::Error bad_argument(std::string message, std::string hint) {
  return {
      .failure = client::Failure::settings, .message = std::move(message), .hint = std::move(hint)};
}

namespace {

std::optional<base::Instant> moment(std::string_view text) {
  if (const auto at = base::parse_rfc3339(text)) return *at;
  if (const auto date = base::parse_rfc3339(std::string(text) + "T00:00:00Z")) return *date;
  // `date -Iseconds` without a zone, and what people type by hand, count as UTC.
  if (const auto plain = base::parse_rfc3339(std::string(text) + "Z")) return *plain;
  return std::nullopt;
}

client::Error no_time(std::string_view text, std::string_view flag) {
  return bad_argument(
      fmt::format("{}: \"{}\" is not a time", flag, text),
      "A time is 2026-02-10, 2026-02-10T15:04:05Z, or a duration such as 2h or 7d.");
}

}  // namespace

client::Result<std::string> time_argument(std::string_view text, std::string_view flag) {
  if (text.empty()) return std::string();
  const base::Instant now{now_ms()};
  if (text == "now") return base::format_rfc3339(now);
  if (const auto at = moment(text)) return base::format_rfc3339(*at);
  if (const auto length = base::parse_duration(text)) return base::format_rfc3339(now - *length);
  return std::unexpected(no_time(text, flag));
}

client::Result<Later> later_argument(std::string_view text, std::string_view flag) {
  if (text.empty() || text == "now") return Later{};
  if (const auto at = moment(text)) return Later{.at = base::format_rfc3339(*at), .delay = {}};
  if (auto length = with_unit(text); base::parse_duration(length))
    return Later{.at = {}, .delay = std::move(length)};
  return std::unexpected(no_time(text, flag));
}

client::Result<std::string> tags_argument(const std::vector<std::string>& pairs) {
  Body body;
  for (const auto& pair : pairs) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      return std::unexpected(bad_argument("--tag: \"" + pair + "\" is not NAME=VALUE",
                                          "Texts are NAME=VALUE, other JSON is NAME:=VALUE."));
    const bool json = pair[equals - 1] == ':';
    const std::string name = pair.substr(0, json ? equals - 1 : equals);
    const std::string value = pair.substr(equals + 1);
    if (json && !base::json::is_valid(value))
      return std::unexpected(bad_argument("--tag: \"" + value + "\" is not JSON"));
    body.raw(name, json ? value : client::quoted(value));
  }
  return body.str();
}

client::Result<std::string> json_argument(const std::string& text, std::string_view what) {
  std::string json = text;
  if (text == "-") {
    json.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else if (text.starts_with('@')) {
    std::ifstream in(text.substr(1), std::ios::binary);
    if (!in) return std::unexpected(bad_argument("cannot read " + text.substr(1)));
    json.assign(std::istreambuf_iterator<char>(in), {});
  }
  base::json::Reader reader(json);
  std::string_view raw;
  if (reader.value(raw) && reader.finish()) return std::string(raw);
  return std::unexpected(bad_argument(
      fmt::format("the {} is not JSON: {} at character {}", what,
                  base::json::to_string(reader.fault()), reader.position() + 1),
      "Quote it for the shell: '{\"to\": \"user@example.com\"}'; a text is '\"text\"'; "
      "@FILE and - read it from elsewhere."));
}

std::string with_unit(std::string_view duration) {
  const auto dot = std::min(duration.find('.'), duration.size());
  const std::string_view whole = duration.substr(0, dot);
  const std::string_view part = duration.substr(std::min(dot + 1, duration.size()));
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const bool number = digits(whole) && (dot == duration.size() || digits(part));
  return std::string(duration) + (number ? "s" : "");
}

Body& Body::raw(std::string_view name, std::string_view json) {
  if (!members_.empty()) members_ += ",";
  members_ += client::quoted(name) + ":";
  members_ += json;
  return *this;
}

Body& Body::text(std::string_view name, std::string_view value) {
  return value.empty() ? *this : raw(name, client::quoted(value));
}

Body& Body::duration(std::string_view name, std::string_view value) {
  return text(name, with_unit(value));
}

Body& Body::number_or_text(std::string_view name, const std::string& value) {
  if (value.empty()) return *this;
  const bool number =
      value.find_first_not_of("0123456789", value[0] == '-' ? 1 : 0) == std::string::npos &&
      value != "-";
  return raw(name, number ? value : client::quoted(value));
}

Body& Body::texts(std::string_view name, const std::vector<std::string>& values) {
  if (values.empty()) return *this;
  std::string list;
  for (const auto& value : values) list += (list.empty() ? "[" : ",") + client::quoted(value);
  return raw(name, list + "]");
}

}  // namespace jobbie::cli
