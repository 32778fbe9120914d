// The expressions of `payload_jq`: a safe subset of jq that says yes or no about one JSON text.
//
// An expression is parsed once into a short list of nodes and then asked about many payloads. There
// are no loops, no variables and no backtracking: each node (kMaxJqNodes) is asked once and passes
// over the payload once, but for `contains` on arrays, which compares every two elements, and
// comparisons of nested values, which pass over each level again (base::json::kMaxDepth). Whatever
// it comes to is counted in a Budget and ends with it. docs/api.md describes the language and where
// it differs from jq.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "search/budget.hpp"
#include "search/pattern.hpp"
#include "search/text_finder.hpp"

namespace jobbie::search {

/// Longer expressions are refused unread.
inline constexpr std::size_t kMaxJqBytes = 4096;
inline constexpr std::size_t kMaxJqNodes = 256;
/// How deep parentheses, calls and pipes may nest.
inline constexpr std::size_t kMaxJqDepth = 32;

/// The code of every fault; `position` is the byte of the expression at fault.
inline constexpr std::string_view kBadJq = "bad_jq";

struct JqNode {
  enum class Kind : std::uint8_t {
    identity,
    field,     ///< `text` of the value of `left`
    index,     ///< `number` of the value of `left`
    constant,  ///< `text` is JSON
    pipe,      ///< `left`, whose value is the input of `right`
    logical_and,
    logical_or,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    logical_not,
    length,
    type,
    downcase,
    has,  ///< of the value of `left`, as are those below
    starts_with,
    ends_with,
    contains,
    test,
    select,
  };
  Kind kind = Kind::identity;
  std::uint16_t left = 0;
  std::uint16_t right = 0;
  std::int64_t number = 0;
  std::string text = {};
  Pattern pattern = {};
};

/// A value; safe to ask from several threads.
class Jq {
 public:
  static base::Result<Jq> parse(std::string_view text);
  /// Whether the object `json` has a member `key` that equals the JSON value `value`.
  static Jq member_equals(std::string_view key, std::string_view value);

  /// Whether the expression gives a value for `json` that is neither null nor false. Where jq
  /// would stop with an error (a number has no fields), the answer is no. `json` should be valid;
  /// of text that is not, any answer may come, and nothing worse. Any answer where the budget is
  /// over.
  [[nodiscard]] bool matches(std::string_view json, Budget& budget) const;
  /// The same by walking through every text, also through those that a look at their bytes rules
  /// out.
  [[nodiscard]] bool walk_matches(std::string_view json, Budget& budget) const;

  [[nodiscard]] const std::vector<JqNode>& nodes() const { return nodes_; }
  [[nodiscard]] std::uint16_t root() const { return root_; }

 private:
  friend class JqParser;
  /// Fills needs_, once the nodes are there.
  void find_needs();
  /// False: the walk would come to no.
  [[nodiscard]] bool can_match(std::string_view json, Budget& budget) const;

  std::vector<JqNode> nodes_;
  std::vector<TextFinder> needs_;  ///< texts that a payload without escapes must contain
  std::uint16_t root_ = 0;
};

}  // namespace jobbie::search
