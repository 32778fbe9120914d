// Figures made from events: series, quantiles, rates, counters, and the bound on queues.
#include "stats/stats.hpp"

#include <string>

#include <gtest/gtest.h>

namespace jobbie::stats {
namespace {

using command::Event;
using command::EventType;

constexpr base::Instant kStart{1'760'000'000'000};

Event event(EventType type, const base::Blob& queue, std::int64_t at_ms, std::int64_t elapsed = 0) {
  return {.type = type,
          .job = {},
          .queue = queue,
          .at = kStart + base::milliseconds(at_ms),
          .attempt = 1,
          .detail = {},
          .elapsed = {elapsed}};
}

TEST(Histogram, BucketsAreInOrderAndNear) {
  std::uint8_t before = 0;
  for (std::int64_t value = 0; value < 1'000'000; value += value < 5'000 ? 1 : 97) {
    const auto bucket = bucket_of(value);
    EXPECT_GE(bucket, before) << value;
    before = bucket;
    const auto middle = value_of(bucket);
    EXPECT_LE(std::abs(middle - value) * 8, value) << value << " counts as " << middle;
  }
  EXPECT_EQ(bucket_of(-5), 0);
  EXPECT_EQ(bucket_of(std::numeric_limits<std::int64_t>::max()), kBuckets - 1);
}

TEST(Histogram, QuantilesAreThoseOfTheValues) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantiles().p50, kNoBucket);
  for (int i = 0; i < 94; ++i) histogram.add(1);
  for (int i = 0; i < 4; ++i) histogram.add(7);
  histogram.add(100);
  histogram.add(1000);
  const auto quantiles = histogram.quantiles();
  EXPECT_EQ(value_of(quantiles.p50), 1);
  EXPECT_EQ(value_of(quantiles.p95), 7);
  EXPECT_EQ(quantiles.p99, bucket_of(100));
  EXPECT_EQ(quantiles.max, bucket_of(1000));
  histogram.clear();
  EXPECT_EQ(histogram.quantiles().max, kNoBucket);
}

TEST(Timing, ABoundBelongsToItsBucket) {
  Timing timing;
  timing.add(5, kJobBounds);
  timing.add(6, kJobBounds);
  timing.add(-3, kJobBounds);
  timing.add(10'000'000, kJobBounds);
  EXPECT_EQ(timing.counts[0], 2U);
  EXPECT_EQ(timing.counts[1], 1U);
  EXPECT_EQ(timing.counts[kBounds], 1U);
  EXPECT_EQ(timing.sum, 10'000'011U);
}

TEST(Series, KeepsSoManySteps) {
  Series series(base::seconds(1), 10);
  for (std::int64_t s = 0; s < 30; ++s)
    series.at(kStart + base::seconds(s)).enqueued = static_cast<std::uint32_t>(s);
  const auto points = series.points({0}, base::kMaxInstant);
  ASSERT_EQ(points.size(), 10U);
  EXPECT_EQ(points.front().enqueued, 20U);
  EXPECT_EQ(points.back().enqueued, 29U);
  // A clock that goes back does not open an old step again.
  EXPECT_EQ(series.at(kStart).enqueued, 29U);
}

TEST(Stats, ASecondHasItsCountsAndQuantiles) {
  Stats stats;
  const base::Blob queue("emails");
  stats.note(event(EventType::enqueued, queue, 0));
  stats.note(event(EventType::started, queue, 100, 40));
  stats.note(event(EventType::completed, queue, 200, 7));
  stats.note(event(EventType::failed, queue, 1'500, 3));
  stats.note(event(EventType::lease_expired, queue, 1'600, 60));
  stats.note(event(EventType::dead, queue, 1'600));
  stats.note(event(EventType::progress, queue, 1'700));
  const auto now = kStart + base::seconds(2);
  const auto curve = stats.curve("emails", Resolution::second, kStart, now, now);
  EXPECT_EQ(curve.since, kStart);
  EXPECT_EQ(curve.until, now);
  ASSERT_EQ(curve.points.size(), 2U);
  EXPECT_EQ(curve.points[0].enqueued, 1U);
  EXPECT_EQ(curve.points[0].started, 1U);
  EXPECT_EQ(curve.points[0].completed, 1U);
  EXPECT_EQ(value_of(curve.points[0].wait.p50), 44);
  EXPECT_EQ(value_of(curve.points[0].run.max), 7);
  EXPECT_EQ(curve.points[1].failed, 2U);
  EXPECT_EQ(curve.points[1].dead, 1U);
  EXPECT_EQ(curve.points[1].wait.p50, kNoBucket);
  const auto minutes = stats.curve({}, Resolution::minute, {0}, base::kMaxInstant, now);
  ASSERT_EQ(minutes.points.size(), 1U);
  EXPECT_EQ(minutes.points[0].failed, 2U);
  EXPECT_TRUE(stats.curve("sms", Resolution::second, kStart, now, now).points.empty());
}

TEST(Stats, ARangeIsCutToWhatIsKept) {
  Stats stats;
  const auto now = kStart + base::hours(100);
  const auto all = stats.curve({}, Resolution::second, {0}, base::kMaxInstant, now);
  EXPECT_EQ((all.until - all.since).ms / 1000 + 1, std::int64_t{kSecondsKept});
  EXPECT_EQ(all.until, now);
  const auto gone = stats.curve({}, Resolution::second, {0}, kStart, now);
  EXPECT_LT(gone.until, gone.since);
  EXPECT_TRUE(gone.points.empty());
}

TEST(Stats, RatesAreOfTheLastMinute) {
  Stats stats;
  const base::Blob queue("emails");
  for (std::int64_t s = 0; s < 120; ++s) {
    stats.note(event(EventType::enqueued, queue, s * 1000));
    if (s % 2 == 0) stats.note(event(EventType::completed, queue, s * 1000));
  }
  const auto rates = stats.rates("emails", kStart + base::seconds(119));
  EXPECT_EQ(rates.enqueued, 60U);
  EXPECT_EQ(rates.completed, 30U);
  EXPECT_EQ(rates.failed, 0U);
  EXPECT_EQ(stats.rates("emails", kStart + base::seconds(149)).enqueued, 30U);
  EXPECT_EQ(stats.rates("emails", kStart + base::seconds(600)).enqueued, 0U);
  EXPECT_EQ(stats.rates("unknown", kStart).enqueued, 0U);
}

TEST(Stats, QueuesBeyondTheBoundShareFiguresUntilOneRests) {
  Stats stats;
  std::vector<base::Blob> names;
  for (std::size_t i = 0; i < kMaxQueues + 10; ++i) names.emplace_back("queue" + std::to_string(i));
  for (const auto& name : names) stats.note(event(EventType::enqueued, name, 0));
  auto counters = stats.counters();
  ASSERT_EQ(counters.size(), kMaxQueues + 1);
  EXPECT_EQ(counters.back().queue.view(), kOtherQueues);
  EXPECT_EQ(counters.back().counters.enqueued, 10U);
  const auto curve = stats.curve(names.back().view(), Resolution::second, kStart, kStart, kStart);
  EXPECT_TRUE(curve.shared);
  ASSERT_EQ(curve.points.size(), 1U);
  EXPECT_EQ(curve.points[0].enqueued, 10U);
  // Four days later nobody has been heard of, and each newcomer takes a place.
  const std::int64_t later = base::hours(96).ms;
  stats.note(event(EventType::enqueued, names.back(), later));
  EXPECT_FALSE(stats
                   .curve(names.back().view(), Resolution::second, kStart, kStart + base::hours(97),
                          kStart + base::hours(96))
                   .shared);
  EXPECT_EQ(stats.counters().size(), kMaxQueues + 1);
}

TEST(Stats, ANameAtAnotherPlaceIsTheSameQueue) {
  Stats stats;
  for (int i = 0; i < 1'000; ++i)
    stats.note(event(EventType::enqueued, base::Blob(i % 2 == 0 ? "even" : "odd"), i));
  const auto counters = stats.counters();
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_EQ(counters[0].counters.enqueued, 500U);
  EXPECT_EQ(counters[1].counters.enqueued, 500U);
}

}  // namespace
}  // namespace jobbie::stats
