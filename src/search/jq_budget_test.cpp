// What one payload may cost, and that a budget ends it there.
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "search/jq.hpp"
#include "search/sql.hpp"

namespace jobbie::search {
namespace {

/// Over after so many steps, as it turns out when it is asked.
class FixedBudget final : public Budget {
 public:
  explicit FixedBudget(std::uint64_t steps) : steps_(steps) {}
  [[nodiscard]] int looks() const { return looks_; }

 private:
  bool is_used_up() override {
    ++looks_;
    return spent() >= steps_;
  }
  std::uint64_t steps_;
  int looks_ = 0;
};

Jq jq_of(const std::string& expression) {
  auto jq = Jq::parse(expression);
  EXPECT_TRUE(jq.has_value()) << expression << ": " << jq.error().message;
  return *std::move(jq);
}

std::string text_payload(std::size_t size) {
  return R"({"s":")" + std::string(size, 'a') + R"("})";
}

std::string array_of(std::size_t count, std::string_view element) {
  std::string out = "[";
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += ",";
    out += element;
  }
  return out + "]";
}

TEST(JqBudget, TextsAreSearchedInOnePass) {
  const std::string payload = text_payload(std::size_t{1} << 20);
  const std::string near_miss = std::string(3'900, 'a') + "b";
  for (const std::string function : {"test", "contains", "startswith", "endswith"}) {
    UnlimitedBudget budget;
    EXPECT_FALSE(jq_of(".s | " + function + "(\"" + near_miss + "\")").matches(payload, budget));
    EXPECT_LE(budget.spent(), 16 * payload.size()) << function;
  }
}

TEST(JqBudget, NestedValuesArePassedOncePerLevel) {
  std::string deep = "1";
  for (int i = 0; i < 60; ++i) deep = R"({"k":[)" + deep + "]}";
  // The depth is bounded when payloads are taken in.
  const std::string payload = R"({"a":)" + deep + R"(,"b":)" + deep + "}";
  UnlimitedBudget budget;
  EXPECT_TRUE(jq_of(".a == .b").matches(payload, budget));
  EXPECT_LE(budget.spent(), 64 * 32 * payload.size());
}

/// Expressions that have much to do in one payload: all are stopped within it.
TEST(JqBudget, EndsWithinOnePayload) {
  std::string members = "{";
  for (int i = 0; i < 50'000; ++i) members += "\"m" + std::to_string(i) + "\":1,";
  members += "\"z\":1}";
  const std::string numbers = array_of(100'000, "1");
  const std::string few_numbers = array_of(1'000, "1");
  const std::string texts = array_of(20'000, "\"" + std::string(40, 'a') + "\"");
  const std::string objects = array_of(50'000, R"({"a":1})");
  struct Case {
    std::string expression;
    std::string payload;
  };
  const Case cases[] = {
      {"contains(.)", array_of(50'000, "[1,[2]]") + " "},
      {"contains([" + std::string(1'000, '2') + "])", few_numbers},
      {R"(contains(["b"]))", texts},
      {R"(contains({"b":1}))", objects},
      {"contains(" + std::string(3'000, '2') + ")", few_numbers},
      {". == {}", members},
      {". | length == 1", members},
      {".[-1] == 2", numbers},
      {". == .", texts},
      {R"(.s | test(".)" + std::string(3'000, 'a') + "b\")", text_payload(200'000)},
      {R"(.s | test(")" + std::string(3'000, 'a') + "b\")", text_payload(200'000)},
      {R"(.s | contains(")" + std::string(3'000, 'a') + "b\")", text_payload(200'000)},
      {".z == 2", members},
  };
  for (const auto& [expression, payload] : cases) {
    const Jq jq = jq_of(expression);
    UnlimitedBudget whole;
    static_cast<void>(jq.walk_matches(payload, whole));
    ASSERT_GT(whole.spent(), 3 * Budget::kStepsBetweenLooks) << expression.substr(0, 40);
    FixedBudget budget(Budget::kStepsBetweenLooks);
    static_cast<void>(jq.walk_matches(payload, budget));
    EXPECT_TRUE(budget.over()) << expression.substr(0, 40);
    // One step that is not parted may follow: it passes over the payload once.
    EXPECT_LE(budget.spent(), Budget::kStepsBetweenLooks * 2 + 4 * payload.size())
        << expression.substr(0, 40);
  }
}

TEST(JqBudget, IsAskedAboutEveryKindOfQuestion) {
  const std::string text(1'000, 'a');
  const Predicate predicates[] = {TextFinder("b"), jq_of(".a == 1"), ErrorGroupFinder{1},
                                  QueueGlob{"*a*a*a*a*a*a*b"}};
  for (const auto& predicate : predicates) {
    FixedBudget budget(0);
    for (int i = 0; i < 10'000 && !budget.over(); ++i)
      static_cast<void>(holds(predicate, text, budget));
    EXPECT_TRUE(budget.over()) << predicate.index();
    EXPECT_EQ(budget.looks(), 1);
    EXPECT_FALSE(holds(predicate, text, budget));
  }
}

TEST(JqBudget, QueuesAreFoundByTheirBeginning) {
  Request request;
  request.filter.queue = "mail.*.x?";
  const auto where = translate(request, {}, Path::index);
  EXPECT_TRUE(where.indexed);
  ASSERT_EQ(where.binds.size(), 2U);
  EXPECT_EQ(std::get<std::string>(where.binds[0]), "mail.");
  EXPECT_EQ(std::get<std::string>(where.binds[1]), "mail/");
  UnlimitedBudget budget;
  ASSERT_EQ(where.predicates.size(), 1U);
  EXPECT_TRUE(holds(where.predicates[0], "mail.a.xy", budget));
  EXPECT_FALSE(holds(where.predicates[0], "mail.a.x", budget));
}

}  // namespace
}  // namespace jobbie::search
