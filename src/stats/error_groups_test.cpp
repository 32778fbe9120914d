// Which errors are alike.
#include "stats/error_groups.hpp"

#include <gtest/gtest.h>

namespace jobbie::stats {
namespace {

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
