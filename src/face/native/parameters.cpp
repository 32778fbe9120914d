// Query parameters, read once and refused by name.
#include "face/native/parameters.hpp"

#include <algorithm>
#include <charconv>
#include <span>

#include <fmt/format.h>

#include "face/fields.hpp"
#include "http/characters.hpp"
#include "http/percent.hpp"

namespace jobbie::face::native {
namespace {

Problem bad_parameter(std::string_view name, std::string_view rest) {
  return {.status = 422,
          .code = "invalid",
          .detail = fmt::format("{} {}.", name, rest),
          .field = std::string(name)};
}

Problem unknown_parameter(std::string_view name, std::span<const std::string_view> names) {
  std::string detail = fmt::format("There is no parameter \"{}\" here", shown(name));
  const auto meant = nearest_name(name, names);
  detail += meant.empty() ? "." : fmt::format("; did you mean \"{}\"?", meant);
  return {.status = 422,
          .code = "unknown_field",
          .detail = std::move(detail),
          .field = std::string(shown(name))};
}

}  // namespace

std::expected<Parameters, Problem> Parameters::read(std::string_view query,
                                                    std::initializer_list<std::string_view> names) {
  Parameters out;
  if (query.empty()) return out;
  auto given = http::query_parameters(query);
  if (!given)
    return std::unexpected(Problem{.status = 400,
                                   .code = "bad_query",
                                   .detail = "The query has a malformed escape, or is too long."});
  for (auto& [name, value] : *given) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      return std::unexpected(unknown_parameter(name, {names.begin(), names.size()}));
    for (const auto& [earlier, unused] : out.given_)
      if (earlier == name)
        return std::unexpected(Problem{.status = 422,
                                       .code = "duplicate_field",
                                       .detail = fmt::format("{} is given twice.", name),
                                       .field = name});
    out.given_.emplace_back(std::move(name), std::move(value));
  }
  return out;
}

std::string_view Parameters::text(std::string_view name) const {
  for (const auto& [given, value] : given_)
    if (given == name) return value;
  return {};
}

std::expected<std::size_t, Problem> Parameters::number(std::string_view name, std::size_t max,
                                                       std::size_t otherwise) const {
  const auto value = text(name);
  if (value.empty()) return otherwise;
  std::size_t out = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (error != std::errc{} || end != value.data() + value.size() || out < 1 || out > max)
    return std::unexpected(
        bad_parameter(name, fmt::format("must be a whole number between 1 and {}", max)));
  return out;
}

std::expected<bool, Problem> Parameters::flag(std::string_view name) const {
  const auto value = text(name);
  if (value == "true") return true;
  if (value.empty() || value == "false") return false;
  return std::unexpected(bad_parameter(name, "must be true or false"));
}

std::expected<std::string, Problem> Parameters::cursor() const {
  const auto digits = text("cursor");
  std::string out;
  bool good = digits.size() % 2 == 0;
  for (std::size_t i = 0; good && i < digits.size(); i += 2) {
    const int high = http::hex_value(digits[i]);
    const int low = http::hex_value(digits[i + 1]);
    good = high >= 0 && low >= 0;
    out.push_back(static_cast<char>(high * 16 + low));
  }
  if (!good) return std::unexpected(bad_parameter("cursor", "is none that this list gave"));
  return out;
}

std::string cursor_after(std::string_view name) {
  std::string out;
  out.reserve(name.size() * 2);
  for (const char c : name) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::optional<Problem> refuse_parameters(std::string_view query) {
  if (query.empty()) return std::nullopt;
  auto read = Parameters::read(query, {});
  if (read) return std::nullopt;
  return std::move(read).error();
}

}  // namespace jobbie::face::native
