// Reading expressions: a lexer of a few tokens and a parser that descends by precedence.
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "search/jq.hpp"

namespace jobbie::search {
namespace {

using Step = JqNode::Kind;

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return is_name_start(c) || is_digit(c); }

struct Function {
  std::string_view name;
  Step kind;
  bool takes_argument;
};
constexpr std::array kFunctions = {Function{"not", Step::logical_not, false},
                                   Function{"length", Step::length, false},
                                   Function{"type", Step::type, false},
                                   Function{"ascii_downcase", Step::downcase, false},
                                   Function{"has", Step::has, true},
                                   Function{"startswith", Step::starts_with, true},
                                   Function{"endswith", Step::ends_with, true},
                                   Function{"contains", Step::contains, true},
                                   Function{"test", Step::test, true},
                                   Function{"select", Step::select, true}};

constexpr std::array<std::pair<std::string_view, Step>, 6> kComparisons = {
    {{"==", Step::equal},
     {"!=", Step::not_equal},
     {"<=", Step::less_equal},
     {">=", Step::greater_equal},
     {"<", Step::less},
     {">", Step::greater}}};

}  // namespace

/// After the first fault every step gives nothing, and the fault stays.
class JqParser {
 public:
  explicit JqParser(std::string_view text) : text_(text) {}

  base::Result<Jq> run() {
    if (text_.size() > kMaxJqBytes)
      return fail_with(kMaxJqBytes, fmt::format("at most {} bytes are taken", kMaxJqBytes));
    const Node root = pipe();
    space();
    if (root && at_ != text_.size()) fail(at_, fmt::format("{} cannot stand here", shown_here()));
    if (fault_) return std::unexpected(*std::move(fault_));
    jq_.root_ = *root;
    jq_.find_needs();
    return std::move(jq_);
  }

 private:
  using Node = std::optional<std::uint16_t>;

  std::unexpected<base::Error> fail_with(std::size_t at, std::string message) {
    fail(at, std::move(message));
    return std::unexpected(*fault_);
  }
  Node fail(std::size_t at, std::string message) {
    if (!fault_)
      fault_ =
          base::Error{.code = std::string(kBadJq), .message = std::move(message), .position = at};
    return std::nullopt;
  }

  void space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  [[nodiscard]] bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    space();
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] std::string shown_here() const {
    if (at_ == text_.size()) return "the end";
    std::size_t end = at_ + 1;
    if (is_name(text_[at_]))
      while (end < text_.size() && end - at_ < 32 && is_name(text_[end])) ++end;
    return fmt::format("\"{}\"", text_.substr(at_, end - at_));
  }
  /// The name that comes next, which stays.
  [[nodiscard]] std::string_view peek_name() {
    space();
    if (at_ == text_.size() || !is_name_start(text_[at_])) return {};
    std::size_t end = at_;
    while (end < text_.size() && is_name(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool take_word(std::string_view word) {
    if (peek_name() != word) return false;
    at_ += word.size();
    return true;
  }

  Node add(JqNode node) {
    if (jq_.nodes_.size() == kMaxJqNodes)
      return fail(at_, fmt::format("the expression has more than {} parts", kMaxJqNodes));
    jq_.nodes_.push_back(std::move(node));
    return static_cast<std::uint16_t>(jq_.nodes_.size() - 1);
  }
  Node add_pair(Step kind, Node left, Node right) {
    if (!left || !right) return std::nullopt;
    return add({.kind = kind, .left = *left, .right = *right});
  }

  Node pipe() {
    if (depth_ == kMaxJqDepth) return fail(at_, "the expression nests too deeply");
    ++depth_;
    Node left = disjunction();
    while (left && take('|')) left = add_pair(Step::pipe, left, disjunction());
    --depth_;
    return left;
  }

  Node disjunction() {
    Node left = conjunction();
    while (left && take_word("or")) left = add_pair(Step::logical_or, left, conjunction());
    return left;
  }

  Node conjunction() {
    Node left = comparison();
    while (left && take_word("and")) left = add_pair(Step::logical_and, left, comparison());
    return left;
  }

  std::optional<Step> take_comparison() {
    space();
    for (const auto& [sign, kind] : kComparisons) {
      if (!text_.substr(at_).starts_with(sign)) continue;
      at_ += sign.size();
      return kind;
    }
    return std::nullopt;
  }

  Node comparison() {
    const Node left = postfix();
    if (!left) return left;
    const auto kind = take_comparison();
    if (!kind) {
      if (next_is('=')) return fail(at_, "\"=\" assigns in jq; compare with \"==\"");
      return left;
    }
    const Node both = add_pair(*kind, left, postfix());
    const std::size_t at = (space(), at_);
    if (both && take_comparison())
      return fail(at, "comparisons do not chain; use \"and\" and parentheses");
    return both;
  }

  Node postfix() {
    Node value = primary();
    while (value) {
      if (next_is('?')) {  // an error is no match in any case
        ++at_;
      } else if (next_is('[')) {
        value = bracket(*value);
      } else if (next_is('.')) {
        ++at_;
        value = next_is('[') ? bracket(*value) : named_field(*value);
      } else {
        break;
      }
    }
    return value;
  }

  /// After a dot: `name` or `"name"`.
  Node named_field(std::uint16_t of) {
    if (next_is('"')) {
      auto name = string();
      return name ? add({.kind = Step::field, .left = of, .text = *std::move(name)}) : std::nullopt;
    }
    if (at_ == text_.size() || !is_name_start(text_[at_]))
      return fail(at_, fmt::format("a field's name is missing before {}", shown_here()));
    const std::string_view name = peek_name();
    at_ += name.size();
    return add({.kind = Step::field, .left = of, .text = std::string(name)});
  }

  /// `[3]`, `[-1]` or `["name"]`.
  Node bracket(std::uint16_t of) {
    const std::size_t opened = at_++;
    space();
    JqNode node{.left = of};
    if (next_is('"')) {
      auto name = string();
      if (!name) return std::nullopt;
      node.kind = Step::field;
      node.text = *std::move(name);
    } else {
      const std::string_view rest = text_.substr(at_);
      const auto [end, error] =
          std::from_chars(rest.data(), rest.data() + rest.size(), node.number);
      if (error != std::errc{})
        return fail(opened, "brackets take one whole number or one string here");
      node.kind = Step::index;
      at_ += static_cast<std::size_t>(end - rest.data());
    }
    if (!take(']')) return fail(at_, fmt::format("\"]\" is missing before {}", shown_here()));
    return add(std::move(node));
  }

  Node primary() {
    space();
    if (at_ == text_.size()) return fail(at_, "the expression ends where a value must come");
    const char c = text_[at_];
    if (c == '.') return path();
    if (c == '(') return parentheses();
    if (c == '"') {
      auto text = string();
      return text ? constant(base::json::quote(*text)) : std::nullopt;
    }
    if (is_digit(c) || c == '-' || c == '[' || c == '{') return literal();
    if (is_name_start(c)) return name();
    return fail(at_, fmt::format("{} is not part of the language", shown_here()));
  }

  Node path() {
    ++at_;
    const Node input = add({.kind = Step::identity});
    if (!input || at_ == text_.size()) return input;
    if (is_name_start(text_[at_]) || next_is('"')) return named_field(*input);
    if (next_is('.')) return fail(at_, "\"..\" is not supported");
    return input;
  }

  Node parentheses() {
    const std::size_t opened = at_++;
    const Node inside = pipe();
    if (inside && !take(')')) return fail(opened, "this parenthesis is never closed");
    return inside;
  }

  Node constant(std::string json) { return add({.kind = Step::constant, .text = std::move(json)}); }

  /// A number, or an array or object of JSON.
  Node literal() {
    base::json::Reader reader(text_.substr(at_));
    std::string_view raw;
    if (!reader.value(raw))
      return fail(at_ + reader.position(),
                  "numbers, arrays and objects are written as in JSON here");
    at_ += reader.position();
    return constant(std::string(raw));
  }

  std::optional<std::string> string() {
    base::json::Reader reader(text_.substr(at_));
    std::string_view text;
    if (!reader.string(text)) {
      fail(at_ + reader.position(), "this string is not JSON (\"\\(…)\" is not supported)");
      return std::nullopt;
    }
    std::string out(text);
    at_ += reader.position();
    return out;
  }

  Node name() {
    const std::size_t begin = at_;
    const std::string_view word = peek_name();
    if (word == "null" || word == "true" || word == "false") {
      at_ += word.size();
      return constant(std::string(word));
    }
    for (const Function& function : kFunctions) {
      if (function.name != word) continue;
      at_ += word.size();
      return call(function, begin);
    }
    return fail(begin, fmt::format("there is no {} in this subset of jq", shown_here()));
  }

  Node call(const Function& function, std::size_t begin) {
    const Node input = add({.kind = Step::identity});
    if (!input) return input;
    JqNode node{.kind = function.kind, .left = *input};
    if (!function.takes_argument) return add(std::move(node));
    if (!take('('))
      return fail(begin, fmt::format("{} takes an argument in parentheses", function.name));
    space();
    if (function.kind == Step::test) {
      if (!test_argument(node)) return std::nullopt;
    } else {
      const Node argument = pipe();
      if (!argument) return argument;
      node.right = *argument;
    }
    if (!take(')')) return fail(at_, fmt::format("\")\" is missing before {}", shown_here()));
    return add(std::move(node));
  }

  bool test_argument(JqNode& node) {
    const std::size_t begin = at_;
    if (!next_is('"')) return fail(at_, "test takes one string here").has_value();
    auto text = string();
    if (!text) return false;
    auto pattern = parse_pattern(*text);
    if (!pattern) return fail(begin, std::move(pattern).error().message).has_value();
    node.pattern = *std::move(pattern);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  Jq jq_;
  std::optional<base::Error> fault_;
};

base::Result<Jq> Jq::parse(std::string_view text) { return JqParser(text).run(); }

Jq Jq::member_equals(std::string_view key, std::string_view value) {
  Jq jq;
  jq.nodes_.push_back({.kind = Step::identity});
  jq.nodes_.push_back({.kind = Step::field, .left = 0, .text = std::string(key)});
  jq.nodes_.push_back({.kind = Step::constant, .text = std::string(value)});
  jq.nodes_.push_back({.kind = Step::equal, .left = 1, .right = 2});
  jq.root_ = 3;
  jq.find_needs();
  return jq;
}

}  // namespace jobbie::search
