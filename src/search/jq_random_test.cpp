// Random expressions over random payloads, against an evaluator that builds a tree and is simple
// enough to be believed. Numbers are small here; exactness has its own examples.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "search/jq.hpp"

namespace jobbie::search {
namespace {

struct Tree {
  int rank = 0;  ///< 0 null, 1 false, 2 true, 3 number, 4 string, 5 array, 6 object
  int number = 0;
  std::string text = {};
  std::vector<Tree> list = {};
  std::map<std::string, Tree> members = {};

  [[nodiscard]] bool truthy() const { return rank > 1; }
};

int sign(int x) { return (x > 0) - (x < 0); }

int compare(const Tree& a, const Tree& b) {
  if (a.rank != b.rank) return a.rank < b.rank ? -1 : 1;
  if (a.rank == 3) return sign(a.number - b.number);
  if (a.rank == 4) return sign(a.text.compare(b.text));
  if (a.rank == 5) {
    for (std::size_t i = 0; i < a.list.size() && i < b.list.size(); ++i)
      if (const int order = compare(a.list[i], b.list[i]); order != 0) return order;
    return sign(static_cast<int>(a.list.size()) - static_cast<int>(b.list.size()));
  }
  if (a.rank != 6) return 0;
  std::vector<std::string> left;
  std::vector<std::string> right;
  for (const auto& [key, value] : a.members) left.push_back(key);
  for (const auto& [key, value] : b.members) right.push_back(key);
  if (left != right) return left < right ? -1 : 1;
  for (const auto& key : left)
    if (const int order = compare(a.members.at(key), b.members.at(key)); order != 0) return order;
  return 0;
}

/// An expression as text and as a function.
struct Expression {
  std::string text;
  std::function<std::optional<Tree>(const Tree&)> eval;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  Tree tree(int depth) {
    Tree out{.rank = draw(depth > 0 ? 7 : 5)};
    if (out.rank == 3) out.number = draw(7) - 3;
    if (out.rank == 4) out.text = word();
    if (out.rank == 5)
      for (int n = draw(4); n > 0; --n) out.list.push_back(tree(depth - 1));
    if (out.rank == 6)
      for (int n = draw(4); n > 0; --n) out.members[word()] = tree(depth - 1);
    return out;
  }

  std::string word() {
    static const char* const kWords[] = {"a", "b", "ab", "ba", "é", "a\"b", "x\ny"};
    return kWords[draw(7)];
  }

  /// The same value in one of its spellings.
  std::string json(const Tree& tree) {
    static const char* const kNames[] = {"null", "false", "true"};
    const std::string gap = draw(5) == 0 ? " " : "";
    if (tree.rank < 3) return kNames[tree.rank];
    if (tree.rank == 3)
      return draw(3) == 0 ? std::to_string(tree.number) + ".0" : std::to_string(tree.number);
    if (tree.rank == 4) return literal(tree.text);
    std::string out = tree.rank == 5 ? "[" : "{";
    for (const auto& value : tree.list) out += (out.size() > 1 ? "," : "") + gap + json(value);
    for (const auto& [key, value] : tree.members)
      out += (out.size() > 1 ? "," + gap : gap) + literal(key) + gap + ":" + gap + json(value);
    return out + (tree.rank == 5 ? "]" : "}");
  }

  std::string literal(const std::string& text) {
    if (draw(3) == 0 && text == "a") return R"("\u0061")";
    return base::json::quote(text);
  }

  Expression path() {
    const std::string key = word();
    const int index = draw(5) - 2;
    switch (draw(4)) {
      case 0:
        return {".", [](const Tree& in) { return in; }};
      case 1:
        return {"." + base::json::quote(key), [key](const Tree& in) { return field(in, key); }};
      case 2:
        return {".[" + std::to_string(index) + "]",
                [index](const Tree& in) { return element(in, index); }};
      default:
        return {".a[" + base::json::quote(key) + "]", [key](const Tree& in) -> std::optional<Tree> {
                  const auto inner = field(in, "a");
                  return inner ? field(*inner, key) : std::nullopt;
                }};
    }
  }

  Expression expression(int depth) {
    if (depth == 0) return draw(2) == 0 ? path() : constant();
    switch (draw(6)) {
      case 0:
        return comparison(depth);
      case 1: {
        auto a = expression(depth - 1);
        auto b = expression(depth - 1);
        return {"((" + a.text + ") | (" + b.text + "))",
                [a = a.eval, b = b.eval](const Tree& in) -> std::optional<Tree> {
                  const auto left = a(in);
                  return left ? b(*left) : std::nullopt;
                }};
      }
      case 2:
        return logical(depth, true);
      case 3:
        return logical(depth, false);
      case 4:
        return function();
      default:
        return path();
    }
  }

 private:
  static std::optional<Tree> field(const Tree& in, const std::string& key) {
    if (in.rank == 0) return Tree{};
    if (in.rank != 6) return std::nullopt;
    const auto found = in.members.find(key);
    return found == in.members.end() ? Tree{} : found->second;
  }
  static std::optional<Tree> element(const Tree& in, int index) {
    if (in.rank == 0) return Tree{};
    if (in.rank != 5) return std::nullopt;
    const int count = static_cast<int>(in.list.size());
    if (index < 0) index += count;
    return index < 0 || index >= count ? Tree{} : in.list[static_cast<std::size_t>(index)];
  }
  static Tree truth(bool value) { return Tree{.rank = value ? 2 : 1}; }

  Expression constant() {
    const Tree value = tree(1);
    return {json(value), [value](const Tree&) { return value; }};
  }

  Expression comparison(int depth) {
    static const char* const kSigns[] = {"==", "!=", "<", "<=", ">", ">="};
    const int which = draw(6);
    auto a = expression(depth - 1);
    auto b = expression(depth - 1);
    return {"((" + a.text + ") " + kSigns[which] + " (" + b.text + "))",
            [=, a = a.eval, b = b.eval](const Tree& in) -> std::optional<Tree> {
              const auto left = a(in);
              const auto right = b(in);
              if (!left || !right) return std::nullopt;
              const int order = compare(*left, *right);
              const bool results[] = {order == 0, order != 0, order<0, order <= 0, order> 0,
                                      order >= 0};
              return truth(results[which]);
            }};
  }

  Expression logical(int depth, bool conjunction) {
    auto a = expression(depth - 1);
    auto b = expression(depth - 1);
    return {"((" + a.text + ") " + (conjunction ? "and" : "or") + " (" + b.text + "))",
            [=, a = a.eval, b = b.eval](const Tree& in) -> std::optional<Tree> {
              const auto left = a(in);
              if (!left) return std::nullopt;
              if (left->truthy() != conjunction) return truth(!conjunction);
              const auto right = b(in);
              return right ? std::optional(truth(right->truthy())) : std::nullopt;
            }};
  }

  Expression function() {
    const std::string text = word();
    switch (draw(5)) {
      case 0:
        return {"not", [](const Tree& in) { return truth(!in.truthy()); }};
      case 1:
        return {"length", length};
      case 2:
        return {"has(" + base::json::quote(text) + ")",
                [text](const Tree& in) -> std::optional<Tree> {
                  if (in.rank != 6) return std::nullopt;
                  return truth(in.members.contains(text));
                }};
      case 3:
        return {"startswith(" + base::json::quote(text) + ")",
                [text](const Tree& in) -> std::optional<Tree> {
                  if (in.rank != 4) return std::nullopt;
                  return truth(in.text.starts_with(text));
                }};
      default:
        return {"endswith(" + base::json::quote(text) + ")",
                [text](const Tree& in) -> std::optional<Tree> {
                  if (in.rank != 4) return std::nullopt;
                  return truth(in.text.ends_with(text));
                }};
    }
  }

  static std::optional<Tree> length(const Tree& in) {
    switch (in.rank) {
      case 0:
        return Tree{.rank = 3, .number = 0};
      case 3:
        return Tree{.rank = 3, .number = std::abs(in.number)};
      case 4: {
        int characters = 0;
        for (const char c : in.text) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
        return Tree{.rank = 3, .number = characters};
      }
      case 5:
        return Tree{.rank = 3, .number = static_cast<int>(in.list.size())};
      case 6:
        return Tree{.rank = 3, .number = static_cast<int>(in.members.size())};
      default:
        return std::nullopt;
    }
  }

  std::mt19937_64 random_;
};

TEST(JqRandom, AgreesWithTheTree) {
  const char* given = std::getenv("JOBBIE_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Generator generator(seed);
  UnlimitedBudget budget;
  int matched = 0;
  for (int i = 0; i < 2'000; ++i) {
    const auto expression = generator.expression(3);
    const auto jq = Jq::parse(expression.text);
    ASSERT_TRUE(jq.has_value()) << expression.text << ": " << jq.error().message;
    for (int k = 0; k < 3; ++k) {
      const Tree payload = generator.tree(3);
      const std::string json = generator.json(payload);
      const auto expected = expression.eval(payload);
      const bool wanted = expected && expected->truthy();
      matched += wanted;
      ASSERT_EQ(jq->matches(json, budget), wanted) << "seed " << seed << "\n"
                                                   << expression.text << "\n"
                                                   << json;
    }
  }
  EXPECT_GT(matched, 400);
}

}  // namespace
}  // namespace jobbie::search
