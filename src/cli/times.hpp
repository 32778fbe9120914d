// Times and values as people type them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/error.hpp"

namespace jobbie::cli {

/// RFC 3339 with any offset, a date (midnight UTC), "now", or a duration such as 2h, which is one
/// before now by this machine's clock. The answer is RFC 3339.
client::Result<std::string> time_argument(std::string_view text, std::string_view flag);
/// The same for what lies ahead, where a duration stays one: the server's clock counts, not this
/// machine's. `flag` names one of two members; those are empty for now.
struct Later {
  std::string at;  ///< RFC 3339
  std::string delay;
};
client::Result<Later> later_argument(std::string_view text, std::string_view flag);

/// `name=text` and `name:=json` as the members of an object.
client::Result<std::string> tags_argument(const std::vector<std::string>& pairs);

/// JSON as given, `@file` for what is in a file, `-` for standard input.
client::Result<std::string> json_argument(const std::string& text, std::string_view what);

/// A duration as it is sent: a plain number is one of seconds.
std::string with_unit(std::string_view duration);

client::Error bad_argument(std::string message, std::string hint = {});

/// Collects members of a JSON object.
class Body {
 public:
  Body& raw(std::string_view name, std::string_view json);
  /// Texts that are empty were not given.
  Body& text(std::string_view name, std::string_view value);
  Body& duration(std::string_view name, std::string_view value);
  /// A whole number as such, other text as a string: priorities.
  Body& number_or_text(std::string_view name, const std::string& value);
  Body& texts(std::string_view name, const std::vector<std::string>& values);
  bool empty() const { return members_.empty(); }
  std::string str() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace jobbie::cli
