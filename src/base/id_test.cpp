// Ids: the ULID text form in both directions, its order, and what is not an id.
#include "base/id.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <unordered_set>

#include <gtest/gtest.h>

namespace jobbie::base {
namespace {

std::string text_of(Ulid ulid) {
  const auto digits = ulid.text();
  return {digits.data(), digits.size()};
}

TEST(Ulid, HasTheTextOfTheSpecification) {
  EXPECT_EQ(text_of({}), "00000000000000000000000000");
  EXPECT_EQ(text_of({~0ULL, ~0ULL}), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
  EXPECT_EQ(text_of({0, 1}), "00000000000000000000000001");
  EXPECT_EQ(text_of({0, 31}), "0000000000000000000000000Z");
  EXPECT_EQ(text_of({0, 32}), "00000000000000000000000010");
  // The time of the specification's own example is its first ten characters.
  EXPECT_EQ(text_of(Ulid::make({1469918176385}, 0, 0)).substr(0, 10), "01ARYZ6S41");
}

TEST(Ulid, KeepsItsParts) {
  const Ulid ulid = Ulid::make({1'700'000'000'123}, 0xABCD'1234'5678, 0xDEADBEEF);
  EXPECT_EQ(ulid.time(), Instant{1'700'000'000'123});
  EXPECT_EQ(ulid.sequence(), 0xABCD'1234'5678U);
  EXPECT_EQ(ulid.low & 0xFFFFFFFF, 0xDEADBEEFU);
  const Ulid largest = Ulid::make(kMaxInstant, kMaxSequence, 0xFFFFFFFF);
  EXPECT_EQ(largest.time(), kMaxInstant);
  EXPECT_EQ(largest.sequence(), kMaxSequence);
}

TEST(Ulid, RoundTripsAndSortsLikeItsText) {
  const std::uint64_t seed = 20'260'115;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Ulid before;
  for (int round = 0; round < 5000; ++round) {
    Ulid ulid{random(), random()};
    if (round % 3 == 0) ulid.high = before.high;
    const std::string text = text_of(ulid);
    EXPECT_EQ(Ulid::parse(text), ulid);
    EXPECT_EQ(ulid < before, text < text_of(before));
    before = ulid;
  }
}

TEST(Ulid, SortsByTimeThenSequenceThenChance) {
  const Ulid base = Ulid::make({1000}, 5, 9);
  EXPECT_LT(base, Ulid::make({1001}, 1, 0));
  EXPECT_LT(base, Ulid::make({1000}, 6, 0));
  EXPECT_LT(base, Ulid::make({1000}, 5, 10));
  // The sequence's two halves are in different words.
  EXPECT_LT(Ulid::make({1000}, 0xFFFF'FFFF, ~0U), Ulid::make({1000}, 0x1'0000'0000, 0));
}

TEST(Ulid, RefusesOtherText) {
  const std::string good = "01ARYZ6S410000000000000000";
  EXPECT_TRUE(Ulid::parse(good));
  EXPECT_FALSE(Ulid::parse(""));
  EXPECT_FALSE(Ulid::parse(good.substr(1)));
  EXPECT_FALSE(Ulid::parse(good + "0"));
  EXPECT_FALSE(Ulid::parse("01aryz6s410000000000000000"));
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char c : {'I', 'L', 'O', 'U', 'a', '-', ' ', '\0', '\x80', '\xFF'}) {
      std::string bad = good;
      bad[at] = c;
      EXPECT_FALSE(Ulid::parse(bad)) << static_cast<int>(c) << " at " << at;
    }
  }
}

TEST(Ulid, RefusesMoreThan128Bits) {
  EXPECT_TRUE(Ulid::parse("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"));
  for (const char first : {'8', '9', 'A', 'Z'})
    EXPECT_FALSE(Ulid::parse(first + std::string(25, '0'))) << first;
}

TEST(Id, HasThePrefixOfItsKind) {
  const JobId job{Ulid::make({1469918176385}, 7, 3)};
  EXPECT_EQ(job.text().substr(0, 14), "job_01ARYZ6S41");
  EXPECT_EQ(BatchId{job.ulid}.text().substr(0, 6), "batch_");
  EXPECT_EQ(ScheduleId{job.ulid}.text().substr(0, 6), "sched_");
  EXPECT_EQ(JobId::parse(job.text()), job);
  EXPECT_EQ(job.sequence(), 7U);
}

TEST(Id, RefusesAnotherKind) {
  const JobId job{Ulid::make({1}, 7, 3)};
  EXPECT_FALSE(BatchId::parse(job.text()));
  EXPECT_FALSE(JobId::parse(job.text().substr(4)));
  EXPECT_FALSE(JobId::parse("JOB_" + job.text().substr(4)));
  EXPECT_FALSE(JobId::parse("job_"));
  EXPECT_FALSE(JobId::parse("job_" + job.text()));
  EXPECT_FALSE(JobId::parse(job.text() + " "));
}

TEST(Id, NilIsAllZeros) {
  EXPECT_TRUE(JobId{}.is_nil());
  EXPECT_FALSE(JobId{Ulid::make({0}, 1, 0)}.is_nil());
}

TEST(Id, HashesApart) {
  std::unordered_set<JobId> ids;
  for (std::uint64_t sequence = 1; sequence <= 1000; ++sequence)
    ids.insert(JobId{Ulid::make({1'700'000'000'000}, sequence, 42)});
  EXPECT_EQ(ids.size(), 1000U);
}

}  // namespace
}  // namespace jobbie::base
