// Schedules in an engine, and a system whose zones a test makes up.
#include "node/zone_watch.hpp"

#include <gtest/gtest.h>

#include "zone/load_zone.hpp"

namespace jobbie::node {
namespace {

using base::Blob;
using base::Instant;

constexpr Instant kNow{1'760'000'000'000};

class NoEndedJobs final : public engine::EndedJobs {
 public:
  std::optional<model::JobRecord> find(base::JobId /*id*/) override { return std::nullopt; }
  std::vector<model::JobRecord> dead_in_group(std::string_view, std::uint64_t, std::uint64_t,
                                              std::size_t) override {
    return {};
  }
};

/// Summer time each year from 2025 on, `shift` hours later than at first.
model::ZoneRules zone(std::string name, int shift = 0, int years = 60) {
  model::ZoneRules rules{.name = std::move(name), .base_offset_s = 3600, .transitions = {}};
  constexpr std::int64_t kSpring_s = 1'743'296'400;
  for (int year = 0; year < years; ++year) {
    const std::int64_t spring = kSpring_s + year * std::int64_t{364 * 86'400} + shift * 3600;
    rules.transitions.push_back({{spring * 1000}, 7200});
    rules.transitions.push_back({{(spring + 210 * 86'400) * 1000}, 3600});
  }
  return rules;
}

class ZoneWatchTest : public testing::Test {
 protected:
  command::Reply apply(command::Command command) {
    return engine_.apply({.now = now_, .random = 7, .commands = {std::move(command)}})
        .replies.at(0);
  }
  void schedule(const model::ZoneRules& rules) {
    command::CreateSchedule create;
    create.spec.name = Blob("s" + std::to_string(++made_));
    create.spec.cron = Blob("30 2 * * *");
    create.spec.zone = rules;
    create.spec.job.queue = Blob("q");
    create.spec.job.payload = Blob("{}");
    ASSERT_TRUE(std::holds_alternative<command::ScheduleReply>(apply(std::move(create))));
  }
  /// The names of the zones that a whole round proposes.
  std::vector<std::string> round() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i <= made_ / ZoneWatch::kSchedulesPerStep; ++i) {
      for (auto& update : watch_.step(engine_, now_)) {
        names.push_back(update.zone.name);
        if (applies_) apply(std::move(update));
      }
    }
    return names;
  }
  void pass(base::Duration time) { now_ = now_ + time; }

  Instant now_ = kNow;
  std::size_t made_ = 0;
  std::size_t reads_ = 0;
  bool applies_ = true;
  std::map<std::string, model::ZoneRules, std::less<>> system_;
  NoEndedJobs ended_;
  engine::Engine engine_{ended_};
  ZoneWatch watch_{[this](std::string_view name, Instant, Instant) {
    ++reads_;
    const auto found = system_.find(name);
    return found != system_.end()
               ? base::Result<model::ZoneRules>(found->second)
               : std::unexpected(base::Error{std::string(zone::kUnknownZone), "", 0});
  }};
};

TEST_F(ZoneWatchTest, NothingDiffers) {
  system_ = {{"A/B", zone("A/B")}, {"UTC", {}}};
  schedule(zone("A/B"));
  schedule(zone("A/B"));
  schedule({});
  EXPECT_TRUE(round().empty());
  EXPECT_EQ(reads_, 2U);  // each zone once
}

TEST_F(ZoneWatchTest, NewRulesAreProposedOnceForAllSchedulesOfAZone) {
  system_ = {{"A/B", zone("A/B", 1)}, {"C/D", zone("C/D")}};
  schedule(zone("A/B"));
  schedule(zone("C/D"));
  schedule(zone("A/B"));
  EXPECT_EQ(round(), std::vector<std::string>{"A/B"});
  for (const auto& record : engine_.schedules())
    EXPECT_EQ(record.spec.zone, system_[record.spec.zone.name]);
  pass(ZoneWatch::kEvery);
  EXPECT_TRUE(round().empty());
}

TEST_F(ZoneWatchTest, LooksAgainAfterAWhileOrWhenToldTo) {
  system_ = {{"A/B", zone("A/B")}};
  schedule(zone("A/B"));
  EXPECT_TRUE(round().empty());
  system_["A/B"] = zone("A/B", 1);
  pass(base::Duration{ZoneWatch::kEvery.ms - 1});
  applies_ = false;
  EXPECT_TRUE(round().empty());
  pass(base::milliseconds(1));
  EXPECT_EQ(round().size(), 1U);
  // What was proposed may have got lost.
  EXPECT_TRUE(round().empty());
  watch_.begin_again();
  EXPECT_EQ(round().size(), 1U);
}

TEST_F(ZoneWatchTest, WhatIsPastOrFarAwayDoesNotCount) {
  schedule(zone("A/B"));
  auto other = zone("A/B");
  other.base_offset_s = 7200;                          // as since the spring of 2025,
  other.transitions.erase(other.transitions.begin());  // of which it does not know
  other.transitions.pop_back();                        // in sixty years
  system_ = {{"A/B", other}};
  EXPECT_TRUE(round().empty());
}

TEST_F(ZoneWatchTest, RulesThatRunOutAreReadAgain) {
  schedule(zone("A/B", 0, 50));
  system_ = {{"A/B", zone("A/B", 0, 80)}};
  EXPECT_TRUE(round().empty());
  pass(base::days(366 * 12));
  EXPECT_EQ(round().size(), 1U);
}

TEST_F(ZoneWatchTest, AZoneThatTheSystemDoesNotHaveKeepsItsRules) {
  schedule(zone("Not/There"));
  EXPECT_TRUE(round().empty());
  EXPECT_EQ(reads_, 1U);
}

TEST_F(ZoneWatchTest, ManySchedulesTakeSeveralSteps) {
  for (std::size_t i = 0; i < ZoneWatch::kSchedulesPerStep * 2; ++i) schedule(zone("A/B"));
  schedule(zone("C/D"));
  system_ = {{"A/B", zone("A/B")}, {"C/D", zone("C/D", 1)}};
  EXPECT_TRUE(watch_.step(engine_, now_).empty());
  EXPECT_TRUE(watch_.step(engine_, now_).empty());
  EXPECT_EQ(watch_.step(engine_, now_).size(), 1U);
  EXPECT_TRUE(watch_.step(engine_, now_).empty());
  EXPECT_EQ(reads_, 2U);
}

TEST_F(ZoneWatchTest, TheSystemsOwnRulesAgreeWithThemselvesLater) {
  const auto read = [](Instant at) {
    return zone::load_zone("Europe/Berlin", at - ZoneWatch::kBefore, at + ZoneWatch::kAfter);
  };
  const auto then = read(kNow);
  ASSERT_TRUE(then) << then.error().message;
  for (const int years : {0, 1, 5, 9}) {
    const Instant later = kNow + base::days(366 * years);
    const auto now = read(later);
    ASSERT_TRUE(now);
    EXPECT_TRUE(agree(*then, *now, later, later + ZoneWatch::kHorizon)) << years;
  }
  const Instant late = kNow + base::days(366 * 11);
  EXPECT_FALSE(agree(*then, *read(late), late, late + ZoneWatch::kHorizon));
}

}  // namespace
}  // namespace jobbie::node
