// The parameters behind the `?` of a request, read by name; what is not known is refused by name.
#pragma once

#include <cstdint>
#include <expected>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "face/problem.hpp"

namespace jobbie::face {

/// Names and values as they are given, decoded; a problem where that cannot be done.
using QueryParameters = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] std::expected<QueryParameters, Problem> read_query(std::string_view query);

/// A parameter without a value counts as not given.
class Parameters {
 public:
  /// Refuses names that are not among `names`, and names that occur twice.
  static std::expected<Parameters, Problem> read(std::string_view query,
                                                 std::span<const std::string_view> names);
  static std::expected<Parameters, Problem> read(std::string_view query,
                                                 std::initializer_list<std::string_view> names) {
    return read(query, std::span(names.begin(), names.size()));
  }

  /// Empty: not given.
  [[nodiscard]] std::string_view text(std::string_view name) const;

  // These leave `out` as it is where nothing is given.
  [[nodiscard]] std::optional<Problem> integer(std::string_view name, std::uint64_t min,
                                               std::uint64_t max, std::uint64_t& out) const;
  [[nodiscard]] std::optional<Problem> instant(std::string_view name, base::Instant& out) const;
  [[nodiscard]] std::optional<Problem> boolean(std::string_view name, bool& out) const;
  [[nodiscard]] std::optional<Problem> choice(std::string_view name,
                                              std::span<const std::string_view> names,
                                              std::size_t& out) const;
  /// The name that `cursor` stands for in `list`; empty: it is read from its beginning.
  [[nodiscard]] std::optional<Problem> cursor(std::string_view list, std::string& out) const;
  /// The same in lists by number, which begin at one.
  [[nodiscard]] std::optional<Problem> cursor(std::string_view list, std::uint64_t& out) const;

 private:
  QueryParameters given_;
};

/// The cursor that goes on after `name` in `list` and in no other: letters and digits alone, so
/// that it needs no escapes.
[[nodiscard]] std::string cursor_after(std::string_view list, std::string_view name);
[[nodiscard]] std::string cursor_after(std::string_view list, std::uint64_t number);

/// 422 `bad_cursor`.
[[nodiscard]] Problem bad_cursor();

/// Nothing if the query is empty; endpoints without parameters ask this.
[[nodiscard]] std::optional<Problem> refuse_parameters(std::string_view query);

/// 422 `invalid`: "{name} {rest}."
[[nodiscard]] Problem bad_parameter(std::string_view name, std::string_view rest);

/// Nothing if `text` is a queue's name, or with `or_glob` a pattern of such names.
[[nodiscard]] std::optional<Problem> check_queue(std::string_view text, bool or_glob);

}  // namespace jobbie::face
