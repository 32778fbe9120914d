// Which errors are alike.
#include "stats/error_groups.hpp"

#include <gtest/gtest.h>

namespace jobbie::stats {
namespace {

TEST(NormaliseError, LeavesOutWhatDiffers) {
  EXPECT_EQ(normalise_error("timeout after 3012 ms"), "timeout after # ms");
  EXPECT_EQ(normalise_error("connect to 10.0.3.17:5432 failed"), "connect to #.#.#.#:# failed");
  EXPECT_EQ(normalise_error("at 0x7ffe12ab in eth0"), "at # in eth#");
  EXPECT_EQ(normalise_error("commit 9fceb02d0ae598e95dc970b74767f19372d61af8"), "commit #");
  EXPECT_EQ(normalise_error("job_01JZ0000000000000000000001 is gone"), "job_# is gone");
  EXPECT_EQ(normalise_error("id de305d54-abcd-beef-face-aabbccddeeff!"), "id #!");
  EXPECT_EQ(normalise_error(R"(no user "bob" in 'eu' or `us`)"), "no user ? in ? or ?");
  EXPECT_EQ(normalise_error(R"(key "a\"b" missing)"), "key ? missing");
  EXPECT_EQ(normalise_error("can't open, won't try"), "can't open, won't try");
  EXPECT_EQ(normalise_error("  a\n\tb  "), "a b");
  EXPECT_EQ(normalise_error("an \"open quote"), "an \"open quote");
  EXPECT_EQ(normalise_error("deadbeef and effaced"), "deadbeef and effaced");
  EXPECT_EQ(normalise_error(""), "");
  EXPECT_LE(normalise_error(std::string(10'000, 'x')).size(), kTellingBytes);
}

Failed failed(std::string_view queue, std::string_view error, std::int64_t at, bool dead = true) {
  return {.job = {base::Ulid::make({at}, static_cast<std::uint64_t>(at), 7)},
          .queue = base::Blob(queue),
          .dead = dead,
          .error = base::Blob(error),
          .at = {at}};
}

TEST(ErrorGrouping, GroupsByQueueAndText) {
  ErrorGrouping grouping;
  grouping.add(failed("a", "timeout after 9 s", 30));
  grouping.add(failed("a", "refused", 25));
  grouping.add(failed("a", "timeout after 10 s", 20, false));
  grouping.add(failed("b", "timeout after 11 s", 10));
  const auto found = grouping.finish(true);
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.examined, 4U);
  ASSERT_EQ(found.groups.size(), 3U);
  const auto& first = found.groups[0];
  EXPECT_EQ(first.pattern, "timeout after # s");
  EXPECT_EQ(first.error.view(), "timeout after 9 s");
  EXPECT_EQ(first.dead, 1U);
  EXPECT_EQ(first.retrying, 1U);
  EXPECT_EQ(first.first_seen.ms, 20);
  EXPECT_EQ(first.last_seen.ms, 30);
  EXPECT_EQ(first.jobs.size(), 2U);
  EXPECT_EQ(found.groups[1].pattern, "refused");
  EXPECT_NE(first.fingerprint, found.groups[2].fingerprint);
}

TEST(ErrorGrouping, NamesTheJobsThatFailedLast) {
  ErrorGrouping grouping;
  // As a search gives them: by the time of their making, whenever they failed.
  for (const std::int64_t at : {40, 3, 41, 7, 30, 31, 32, 33, 34, 35, 36, 1, 50, 37, 2})
    grouping.add(failed("q", "refused", at));
  const auto found = grouping.finish(true);
  ASSERT_EQ(found.groups.size(), 1U);
  std::vector<std::uint64_t> jobs;
  for (const auto& job : found.groups[0].jobs) jobs.push_back(job.sequence());
  EXPECT_EQ(jobs, (std::vector<std::uint64_t>{50, 41, 40, 37, 36, 35, 34, 33, 32, 31}));
}

TEST(ErrorGrouping, IsBounded) {
  ErrorGrouping grouping;
  for (std::size_t i = 0; i < kMaxErrorGroups + 5; ++i) {
    std::string error(1 + i / 26, 'x');
    error += static_cast<char>('a' + i % 26);
    grouping.add(failed("q", error, static_cast<std::int64_t>(i) + 1));
  }
  for (int i = 0; i < 50; ++i) grouping.add(failed("q", "xa", 5));
  const auto found = grouping.finish(true);
  EXPECT_EQ(found.groups.size(), kMaxErrorGroups);
  EXPECT_FALSE(found.complete);
  EXPECT_EQ(found.groups[0].dead, 51U);
  EXPECT_EQ(found.groups[0].jobs.size(), kSampleJobs);
}

}  // namespace
}  // namespace jobbie::stats
