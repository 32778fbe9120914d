// A quick walk over JSON that has been checked before: where values begin and end, no more.
//
// Payloads are validated when they are enqueued; a search that reads a million of them need not do
// it again. Text that is not JSON after all gives odd values, never a read out of bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_reader.hpp"
#include "search/budget.hpp"

namespace jobbie::search {

using JsonKind = base::json::Kind;

/// What kind of value the text of one value is; `none` for text that begins none.
[[nodiscard]] JsonKind kind_of(std::string_view json);

/// Goes over the members of an object or the elements of an array.
class JsonScan {
 public:
  /// `json` is the text of one object or array.
  explicit JsonScan(std::string_view json);
  /// The next member: its name as it stands between the quotes, and its value's text.
  [[nodiscard]] bool member(std::string_view& name, std::string_view& value);
  [[nodiscard]] bool element(std::string_view& value);

 private:
  const char* begin_;
  const char* p_;
  const char* end_;
};

/// The value's text without space around it.
[[nodiscard]] std::string_view trimmed(std::string_view json);

/// The inside of the string literal `json` with escapes resolved; `room` holds it where there are
/// any.
[[nodiscard]] std::string_view string_of(std::string_view json, std::string& room);
/// The same of a text that stands between quotes.
[[nodiscard]] std::string_view unquoted(std::string_view inside, std::string& room);

// Of these, any answer where the budget is over.

/// The value of the last member of that name.
[[nodiscard]] std::optional<std::string_view> member_of(std::string_view object,
                                                        std::string_view name, Budget& budget);
[[nodiscard]] std::uint64_t count_of(std::string_view object_or_array, Budget& budget);

/// The order that jq documents: null, false, true, numbers, strings, arrays, objects. Numbers are
/// compared exactly, whatever their size: 1.0 is 1, and 2^53 is not 2^53+1. -1, 0 or 1.
[[nodiscard]] int compare_json(std::string_view a, std::string_view b, Budget& budget);
[[nodiscard]] int compare_numbers(std::string_view a, std::string_view b);

}  // namespace jobbie::search
