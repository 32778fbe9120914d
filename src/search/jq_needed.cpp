// What a payload must contain, as bytes, for an expression to match: a look that spares most walks.
//
// `.template == "welcome"` can only match where `"welcome"` stands in the text, unless the text has
// escapes. Only conditions that must hold for the whole to hold count, and only those on values
// that stand in the payload as they are.
#include <cstring>
#include <optional>

#include "base/json.hpp"
#include "search/jq.hpp"
#include "search/json_scan.hpp"

namespace jobbie::search {
namespace {

using Kinds = JqNode::Kind;

class Needs {
 public:
  Needs(const std::vector<JqNode>& nodes, std::vector<std::string>& out)
      : nodes_(nodes), out_(out) {}

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
      case Kinds::equal:
        if (is_part(node.left)) need(node.right, true);
        if (is_part(node.right)) need(node.left, true);
        break;
      case Kinds::starts_with:
      case Kinds::ends_with:
      case Kinds::contains:
        if (is_part(node.left)) need(node.right, false);
        break;
      default:
        break;
    }
  }

 private:
  /// Whether its value is a piece of its input.
  [[nodiscard]] bool is_part(std::uint16_t at) const {
    const JqNode& node = nodes_[at];
    if (node.kind == Kinds::identity) return true;
    return (node.kind == Kinds::field || node.kind == Kinds::index) && is_part(node.left);
  }

  void need(std::uint16_t at, bool whole) {
    const JqNode& node = nodes_[at];
    if (node.kind != Kinds::constant || kind_of(node.text) != JsonKind::string) return;
    std::string room;
    const std::string text(string_of(node.text, room));
    const std::string quoted = base::json::quote(text);
    // A text that must be escaped is written in more than one way.
    if (quoted.size() != text.size() + 2) return;
    if (whole)
      out_.push_back(quoted);
    else if (!text.empty())
      out_.push_back(text);
  }

  const std::vector<JqNode>& nodes_;
  std::vector<std::string>& out_;
};

}  // namespace

void Jq::find_needs() { Needs(nodes_, needs_).collect(root_); }

bool Jq::can_match(std::string_view json) const {
  for (const auto& need : needs_) {
    if (memmem(json.data(), json.size(), need.data(), need.size()) != nullptr) continue;
    // Missing as it is; with escapes it may still be there.
    return json.find('\\') != std::string_view::npos;
  }
  return true;
}

}  // namespace jobbie::search
