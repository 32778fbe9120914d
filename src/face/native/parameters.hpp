// The parameters of a query (`?cursor=…&limit=…`), and the cursors of lists. Private to the folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "face/problem.hpp"

namespace jobbie::face::native {

/// Each parameter at most once, and none but those that the endpoint knows.
class Parameters {
 public:
  [[nodiscard]] static std::expected<Parameters, Problem> read(
      std::string_view query, std::initializer_list<std::string_view> names);

  /// Empty: not given, or given as nothing.
  [[nodiscard]] std::string_view text(std::string_view name) const;
  [[nodiscard]] std::expected<std::size_t, Problem> number(std::string_view name, std::size_t max,
                                                           std::size_t otherwise) const;
  /// `true` or `false`; not given: false.
  [[nodiscard]] std::expected<bool, Problem> flag(std::string_view name) const;
  /// The name that the `cursor` stands for; empty: the list is read from its beginning.
  [[nodiscard]] std::expected<std::string, Problem> cursor() const;

 private:
  std::vector<std::pair<std::string, std::string>> given_;
};

/// The cursor that goes on after `name`: letters and digits alone, so that it needs no escapes.
[[nodiscard]] std::string cursor_after(std::string_view name);

/// Nothing if the query is empty; endpoints without parameters ask this.
[[nodiscard]] std::optional<Problem> refuse_parameters(std::string_view query);

}  // namespace jobbie::face::native
