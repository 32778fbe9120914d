// Asking an expression about one JSON text.
#include <algorithm>
#include <forward_list>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json.hpp"
#include "search/jq.hpp"
#include "search/json_scan.hpp"

namespace jobbie::search {
namespace {

/// The text of one JSON value; nothing where jq would have an error or no output.
using Value = std::optional<std::string_view>;

constexpr std::string_view kNull = "null";
constexpr std::string_view kTrue = "true";
constexpr std::string_view kFalse = "false";

std::string_view word(bool value) { return value ? kTrue : kFalse; }
bool is_truthy(std::string_view json) { return json != kNull && json != kFalse; }

std::uint64_t characters_in(std::string_view utf8) {
  return static_cast<std::uint64_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

const char* type_name(JsonKind kind) {
  switch (kind) {
    case JsonKind::object:
      return "\"object\"";
    case JsonKind::array:
      return "\"array\"";
    case JsonKind::string:
      return "\"string\"";
    case JsonKind::number:
      return "\"number\"";
    case JsonKind::boolean:
      return "\"boolean\"";
    default:
      return "\"null\"";
  }
}

/// jq's containment: strings by substring, arrays and objects part by part, others by equality.
/// Beyond jq, an array contains a value that is not an array if an element equals it. Nothing where
/// jq has an error.
class Containment {
 public:
  explicit Containment(Budget& budget) : budget_(budget) {}

  std::optional<bool> contains(std::string_view a, std::string_view b,
                               int depth = base::json::kMaxDepth) {
    const JsonKind kind = kind_of(a);
    const JsonKind wanted = kind_of(b);
    if (kind == JsonKind::array && wanted != JsonKind::array) return has_element(a, b);
    if (kind != wanted || depth == 0 || !budget_.spend(b.size())) return std::nullopt;
    switch (kind) {
      case JsonKind::string:
        return has_text(a, b);
      case JsonKind::array:
        return has_all_elements(a, b, depth - 1);
      case JsonKind::object:
        return has_all_members(a, b, depth - 1);
      default:
        return compare_json(a, b, budget_) == 0;
    }
  }

 private:
  bool has_element(std::string_view array, std::string_view value) {
    JsonScan scan(array);
    std::string_view element;
    while (scan.element(element) && budget_.spend(element.size()))
      if (compare_json(element, value, budget_) == 0) return true;
    return false;
  }

  bool has_text(std::string_view a, std::string_view b) {
    std::string room_a;
    std::string room_b;
    return budget_.spend(a.size()) &&
           find_text(string_of(a, room_a), string_of(b, room_b), budget_) != std::string_view::npos;
  }

  bool has_all_elements(std::string_view a, std::string_view b, int depth) {
    JsonScan all(b);
    std::string_view wanted;
    while (all.element(wanted)) {
      JsonScan any(a);
      std::string_view element;
      bool found = false;
      // Within arrays other kinds do not contain one another, and that is no error.
      while (!found && any.element(element)) {
        if (!budget_.spend(element.size() + 1)) return false;
        found =
            kind_of(element) == kind_of(wanted) && contains(element, wanted, depth).value_or(false);
      }
      if (!found) return false;
    }
    return true;
  }

  bool has_all_members(std::string_view a, std::string_view b, int depth) {
    JsonScan all(b);
    std::string_view name;
    std::string_view wanted;
    std::string room;
    while (all.member(name, wanted)) {
      const auto mine = member_of(a, unquoted(name, room), budget_);
      if (!mine || kind_of(*mine) != kind_of(wanted) ||
          !contains(*mine, wanted, depth).value_or(false))
        return false;
    }
    return true;
  }

  Budget& budget_;
};

class Evaluation {
 public:
  Evaluation(const Jq& jq, Budget& budget) : nodes_(jq.nodes()), budget_(budget) {}

  Value eval(std::uint16_t at, std::string_view input) {
    using Kind = JqNode::Kind;
    const JqNode& node = nodes_[at];
    if (budget_.over()) return std::nullopt;
    switch (node.kind) {
      case Kind::identity:
        return input;
      case Kind::constant:
        return node.text;
      case Kind::logical_and:
      case Kind::logical_or:
        return logical(node, input);
      case Kind::pipe: {
        const Value left = eval(node.left, input);
        return left ? eval(node.right, *left) : left;
      }
      case Kind::equal:
      case Kind::not_equal:
      case Kind::less:
      case Kind::less_equal:
      case Kind::greater:
      case Kind::greater_equal:
        return comparison(node, input);
      case Kind::select: {
        const Value holds = eval(node.right, input);
        return holds && is_truthy(*holds) ? Value(input) : std::nullopt;
      }
      default:
        break;
    }
    const Value of = eval(node.left, input);
    return of ? apply(node, *of, input) : of;
  }

 private:
  Value logical(const JqNode& node, std::string_view input) {
    const Value left = eval(node.left, input);
    if (!left) return left;
    const bool decided = node.kind == JqNode::Kind::logical_or;
    if (is_truthy(*left) == decided) return word(decided);
    const Value right = eval(node.right, input);
    return right ? Value(word(is_truthy(*right))) : right;
  }

  Value comparison(const JqNode& node, std::string_view input) {
    const Value left = eval(node.left, input);
    const Value right = eval(node.right, input);
    if (!left || !right) return std::nullopt;
    const int order = compare_json(*left, *right, budget_);
    switch (node.kind) {
      case JqNode::Kind::equal:
        return word(order == 0);
      case JqNode::Kind::not_equal:
        return word(order != 0);
      case JqNode::Kind::less:
        return word(order < 0);
      case JqNode::Kind::less_equal:
        return word(order <= 0);
      case JqNode::Kind::greater:
        return word(order > 0);
      default:
        return word(order >= 0);
    }
  }

  /// The kinds that look at one value, and perhaps at an argument made from the input.
  Value apply(const JqNode& node, std::string_view of, std::string_view input) {
    const JsonKind kind = kind_of(of);
    switch (node.kind) {
      case JqNode::Kind::field:
        if (kind == JsonKind::object) return member_of(of, node.text, budget_).value_or(kNull);
        return kind == JsonKind::null ? Value(kNull) : std::nullopt;
      case JqNode::Kind::index:
        if (kind == JsonKind::array) return element(of, node.number);
        return kind == JsonKind::null ? Value(kNull) : std::nullopt;
      case JqNode::Kind::logical_not:
        return word(!is_truthy(of));
      case JqNode::Kind::length:
        return length(of, kind);
      case JqNode::Kind::type:
        return type_name(kind);
      case JqNode::Kind::downcase:
        return downcase(of, kind);
      case JqNode::Kind::test: {
        if (kind != JsonKind::string || !budget_.spend(of.size())) return std::nullopt;
        std::string room;
        return word(occurs(node.pattern, string_of(of, room), budget_));
      }
      default:
        break;
    }
    const Value argument = eval(node.right, input);
    return argument ? with_argument(node, of, kind, *argument) : argument;
  }

  Value with_argument(const JqNode& node, std::string_view of, JsonKind kind,
                      std::string_view argument) {
    std::string room_of;
    std::string room;
    if (node.kind == JqNode::Kind::contains) {
      const auto found = Containment(budget_).contains(of, argument);
      return found ? Value(word(*found)) : std::nullopt;
    }
    const bool named = kind_of(argument) == JsonKind::string;
    if (node.kind == JqNode::Kind::has) {
      if (kind == JsonKind::object && named)
        return word(member_of(of, string_of(argument, room), budget_).has_value());
      if (kind != JsonKind::array || kind_of(argument) != JsonKind::number) return std::nullopt;
      return word(compare_numbers(argument, "0") >= 0 &&
                  compare_numbers(argument, std::to_string(count_of(of, budget_))) < 0);
    }
    if (kind != JsonKind::string || !named || !budget_.spend(of.size() + argument.size()))
      return std::nullopt;
    const std::string_view text = string_of(of, room_of);
    const std::string_view part = string_of(argument, room);
    return word(node.kind == JqNode::Kind::starts_with ? text.starts_with(part)
                                                       : text.ends_with(part));
  }

  Value element(std::string_view array, std::int64_t number) {
    if (number < 0) number += static_cast<std::int64_t>(count_of(array, budget_));
    if (number < 0) return kNull;
    JsonScan scan(array);
    std::string_view value;
    for (std::int64_t i = 0; scan.element(value) && budget_.spend(value.size() + 1); ++i)
      if (i == number) return value;
    return kNull;
  }

  Value length(std::string_view of, JsonKind kind) {
    std::string room;
    if (!budget_.spend(of.size())) return std::nullopt;
    switch (kind) {
      case JsonKind::null:
        return "0";
      case JsonKind::string:
        return keep(std::to_string(characters_in(string_of(of, room))));
      case JsonKind::number:
        return of.front() == '-' ? of.substr(1) : of;
      case JsonKind::array:
      case JsonKind::object:
        return keep(std::to_string(count_of(of, budget_)));
      default:
        return std::nullopt;
    }
  }

  Value downcase(std::string_view of, JsonKind kind) {
    if (kind != JsonKind::string || !budget_.spend(of.size())) return std::nullopt;
    // Each string of the payload is kept once at most, or an expression could hold it many times.
    for (const auto& [text, small] : in_small_letters_)
      if (text == of.data()) return small;
    std::string room;
    std::string text(string_of(of, room));
    const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (std::none_of(text.begin(), text.end(), is_capital)) return of;
    for (char& c : text)
      if (is_capital(c)) c = static_cast<char>(c - 'A' + 'a');
    return in_small_letters_.emplace_back(of.data(), keep(base::json::quote(text))).second;
  }

  std::string_view keep(std::string text) { return kept_.emplace_front(std::move(text)); }

  const std::vector<JqNode>& nodes_;
  Budget& budget_;
  std::forward_list<std::string> kept_;  ///< values that stand nowhere else; views of them hold
  /// By where they stand: strings, and what they are in small letters.
  std::vector<std::pair<const char*, std::string_view>> in_small_letters_;
};

}  // namespace

bool Jq::matches(std::string_view json, Budget& budget) const {
  return can_match(json, budget) && walk_matches(json, budget);
}

bool Jq::walk_matches(std::string_view json, Budget& budget) const {
  const Value value = Evaluation(*this, budget).eval(root_, trimmed(json));
  return value && is_truthy(*value);
}

}  // namespace jobbie::search
