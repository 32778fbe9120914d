// Parameters into values.
#include "face/parameters.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.hpp"
#include "base/json_text.hpp"
#include "base/rfc3339.hpp"
#include "face/fields.hpp"
#include "http/characters.hpp"
#include "http/percent.hpp"
#include "model/limits.hpp"

namespace jobbie::face {
namespace {

constexpr std::size_t kSealBytes = 3;

/// What a cursor begins with: it tells one that this list gave from others.
std::string seal_of(std::string_view list, std::string_view name) {
  auto hash = base::hash_bytes(name, base::hash_bytes(list));
  std::string out;
  for (; out.size() < kSealBytes; hash >>= 8) out.push_back(static_cast<char>(hash & 0xff));
  return out;
}

}  // namespace

std::expected<QueryParameters, Problem> read_query(std::string_view query) {
  auto given = http::query_parameters(query);
  if (!given)
    return std::unexpected(Problem{.status = 400,
                                   .code = "bad_query",
                                   .detail = "The query has a malformed escape, or too "
                                             "many parameters."});
  for (const auto& [name, value] : *given)
    if (!base::json::text::is_utf8(name) || !base::json::text::is_utf8(value))
      return std::unexpected(
          Problem{.status = 400, .code = "bad_utf8", .detail = "The query is not UTF-8."});
  return *std::move(given);
}

std::expected<Parameters, Problem> Parameters::read(std::string_view query,
                                                    std::span<const std::string_view> names) {
  Parameters out;
  if (query.empty()) return out;
  auto given = read_query(query);
  if (!given) return std::unexpected(std::move(given).error());
  for (const auto& [name, value] : *given) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const auto meant = nearest_name(name, names);
      return std::unexpected(Problem{
          .status = 422,
          .code = "unknown_field",
          .detail = fmt::format(
              "There is no parameter \"{}\" here{}", shown(name),
              meant.empty() ? std::string(".") : fmt::format("; did you mean \"{}\"?", meant)),
          .field = std::string(shown(name))});
    }
    const auto again = [&](const auto& other) { return other.first == name; };
    if (std::count_if(given->begin(), given->end(), again) > 1)
      return std::unexpected(Problem{.status = 422,
                                     .code = "duplicate_field",
                                     .detail = fmt::format("{} is given twice.", name),
                                     .field = name});
  }
  out.given_ = *std::move(given);
  return out;
}

std::string_view Parameters::text(std::string_view name) const {
  for (const auto& [given, value] : given_)
    if (given == name) return value;
  return {};
}

std::optional<Problem> Parameters::integer(std::string_view name, std::uint64_t min,
                                           std::uint64_t max, std::uint64_t& out) const {
  const auto value = text(name);
  if (value.empty()) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size() || number < min || number > max)
    return bad_parameter(name, fmt::format("must be a whole number from {} to {}", min, max));
  out = number;
  return std::nullopt;
}

std::optional<Problem> Parameters::instant(std::string_view name, base::Instant& out) const {
  const auto value = text(name);
  if (value.empty()) return std::nullopt;
  const auto parsed = base::parse_rfc3339(value);
  if (!parsed) return bad_parameter(name, "must be a time such as 2026-02-11T10:00:00Z");
  out = *parsed;
  return std::nullopt;
}

std::optional<Problem> Parameters::boolean(std::string_view name, bool& out) const {
  const auto value = text(name);
  if (value.empty()) return std::nullopt;
  if (value != "true" && value != "false") return bad_parameter(name, "must be true or false");
  out = value == "true";
  return std::nullopt;
}

std::optional<Problem> Parameters::choice(std::string_view name,
                                          std::span<const std::string_view> names,
                                          std::size_t& out) const {
  const auto value = text(name);
  if (value.empty()) return std::nullopt;
  const auto found = std::find(names.begin(), names.end(), value);
  if (found == names.end())
    return bad_parameter(name, fmt::format("must be one of {}", fmt::join(names, ", ")));
  out = static_cast<std::size_t>(found - names.begin());
  return std::nullopt;
}

std::optional<Problem> Parameters::cursor(std::string_view list, std::string& out) const {
  const auto digits = text("cursor");
  if (digits.empty()) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    const int high = http::hex_value(digits[i]);
    const int low = http::hex_value(digits[i + 1]);
    if (high < 0 || low < 0) return bad_cursor();
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  const std::string_view read = bytes;
  const std::size_t seal = std::min(kSealBytes, read.size());
  if (digits.size() % 2 != 0 || read.substr(0, seal) != seal_of(list, read.substr(seal)))
    return bad_cursor();
  out = read.substr(seal);
  return std::nullopt;
}

std::optional<Problem> Parameters::cursor(std::string_view list, std::uint64_t& out) const {
  std::string name;
  if (auto problem = cursor(list, name)) return problem;
  if (name.empty()) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size() || number == 0) return bad_cursor();
  out = number;
  return std::nullopt;
}

std::string cursor_after(std::string_view list, std::string_view name) {
  const std::string bytes = seal_of(list, name).append(name);
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string cursor_after(std::string_view list, std::uint64_t number) {
  return cursor_after(list, std::to_string(number));
}

Problem bad_cursor() {
  return {.status = 422,
          .code = "bad_cursor",
          .detail = "cursor belongs to another list, or was not made here.",
          .field = "cursor"};
}

std::optional<Problem> refuse_parameters(std::string_view query) {
  if (query.empty()) return std::nullopt;
  auto read = Parameters::read(query, {});
  if (read) return std::nullopt;
  return std::move(read).error();
}

Problem bad_parameter(std::string_view name, std::string_view rest) {
  return {.status = 422,
          .code = "invalid",
          .detail = fmt::format("{} {}.", name, rest),
          .field = std::string(name)};
}

std::optional<Problem> check_queue(std::string_view text, bool or_glob) {
  const auto fits = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == ':' || c == '/' || (or_glob && (c == '*' || c == '?'));
  };
  if (text.size() <= model::limits::kQueueName && std::all_of(text.begin(), text.end(), fits))
    return std::nullopt;
  auto problem = bad_parameter(
      "queue", or_glob ? "must be the name of a queue, or a glob" : "must be the name of a queue");
  problem.status = 400;
  return problem;
}

}  // namespace jobbie::face
