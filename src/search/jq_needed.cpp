// What a payload must contain, as bytes, for an expression to match: a look that spares most walks.
//
// `.template == "welcome"` can only match where `"welcome"` stands in the text, and `.amount > 3`
// only where `"amount"` does, unless the text has escapes. Only conditions that must hold for the
// whole to hold count, and only those on values that stand in the payload as they are. Numbers are
// no help: 1000 is also 1e3.
#include <utility>

#include "base/json.hpp"
#include "search/jq.hpp"
#include "search/json_scan.hpp"

namespace jobbie::search {
namespace {

using Kinds = JqNode::Kind;

class Needs {
 public:
  explicit Needs(const std::vector<JqNode>& nodes) : nodes_(nodes) {}

  /// Adds what must be there for the node to be true of an input that stands in the payload.
  void collect(std::uint16_t at) {
    const JqNode& node = nodes_[at];
    switch (node.kind) {
      case Kinds::logical_and:
        collect(node.left);
        collect(node.right);
        break;
      case Kinds::pipe:
        if (nodes_[node.left].kind == Kinds::select) collect(node.left);
        if (is_part(node.left) || nodes_[node.left].kind == Kinds::select) collect(node.right);
        break;
      case Kinds::select:
        collect(node.right);
        break;
      case Kinds::field:
      case Kinds::index:
        more_than_null(at);
        break;
      case Kinds::has:
      case Kinds::starts_with:
      case Kinds::ends_with:
      case Kinds::contains:
      case Kinds::test:
        about_text(node);
        break;
      default:
        comparison(node);
        break;
    }
  }

  /// Names of members are common where values are rare: they are asked for where there is nothing
  /// better.
  [[nodiscard]] std::vector<TextFinder> take() {
    return std::move(values_.empty() ? names_ : values_);
  }

 private:
  /// Whether its value is a piece of its input.
  [[nodiscard]] bool is_part(std::uint16_t at) const {
    const JqNode& node = nodes_[at];
    if (node.kind == Kinds::identity) return true;
    return (node.kind == Kinds::field || node.kind == Kinds::index) && is_part(node.left);
  }
  [[nodiscard]] bool is_constant(std::uint16_t at, JsonKind kind) const {
    return nodes_[at].kind == Kinds::constant && kind_of(nodes_[at].text) == kind;
  }
  [[nodiscard]] bool is_above_null(std::uint16_t at) const {
    return nodes_[at].kind == Kinds::constant && !is_constant(at, JsonKind::null);
  }

  /// These have no value for null, but that null contains null.
  void about_text(const JqNode& node) {
    if (!is_part(node.left)) return;
    if (node.kind == Kinds::test) return more_than_null(node.left);
    if (!is_above_null(node.right)) return;
    more_than_null(node.left);
    if (node.kind != Kinds::has)
      value(node.right, false);
    else if (is_constant(node.right, JsonKind::string))
      name(text_of(node.right));
  }

  /// Null equals itself alone and is less than all else.
  void comparison(const JqNode& node) {
    std::uint16_t greater = node.left;
    std::uint16_t other = node.right;
    switch (node.kind) {
      case Kinds::equal:
        equality(node.left, node.right);
        equality(node.right, node.left);
        return;
      case Kinds::less:
      case Kinds::less_equal:
        std::swap(greater, other);
        break;
      case Kinds::greater:
      case Kinds::greater_equal:
        break;
      default:
        return;
    }
    const bool strict = node.kind == Kinds::less || node.kind == Kinds::greater;
    if (strict || is_above_null(other)) more_than_null(greater);
  }

  void equality(std::uint16_t part, std::uint16_t constant) {
    if (!is_part(part) || !is_above_null(constant)) return;
    more_than_null(part);
    value(constant, true);
  }

  /// What a path needs to lead to something.
  void more_than_null(std::uint16_t at) {
    if (!is_part(at)) return;
    for (; nodes_[at].kind != Kinds::identity; at = nodes_[at].left)
      if (nodes_[at].kind == Kinds::field) name(nodes_[at].text);
  }

  [[nodiscard]] std::string text_of(std::uint16_t at) const {
    std::string room;
    return std::string(string_of(nodes_[at].text, room));
  }

  void value(std::uint16_t at, bool whole) {
    if (!is_constant(at, JsonKind::string)) return;
    const std::string text = text_of(at);
    const std::string quoted = base::json::quote(text);
    // A text that must be escaped is written in more than one way.
    if (quoted.size() != text.size() + 2) return;
    if (whole)
      values_.emplace_back(quoted);
    else if (!text.empty())
      values_.emplace_back(text);
  }

  void name(const std::string& text) {
    std::string quoted = base::json::quote(text);
    if (quoted.size() == text.size() + 2) names_.emplace_back(std::move(quoted));
  }

  const std::vector<JqNode>& nodes_;
  std::vector<TextFinder> values_;
  std::vector<TextFinder> names_;
};

}  // namespace

void Jq::find_needs() {
  Needs needs(nodes_);
  needs.collect(root_);
  needs_ = needs.take();
}

bool Jq::can_match(std::string_view json, Budget& budget) const {
  for (const auto& need : needs_) {
    if (need.in(json, budget)) continue;
    // Missing as it is; with escapes it may still be there.
    return !budget.over() && json.find('\\') != std::string_view::npos;
  }
  return true;
}

}  // namespace jobbie::search
