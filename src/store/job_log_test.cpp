// Logs of jobs and the list of failures, as the store keeps them.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "model/limits.hpp"
#include "store/store_test_support.hpp"

namespace jobbie::store {
namespace {

using testing::kLong;
using testing::open_store;
using testing::TempFolder;
using testing::golden::job_id;
using testing::golden::text;

model::JobRecord job_in(std::uint64_t seq, model::State state) {
  model::JobRecord job{
      .id = job_id(seq), .state = state, .spec = testing::golden::plain_job(), .arrival = seq};
  if (model::has_ended(state)) job.ended_at = {static_cast<std::int64_t>(1'000 * seq)};
  return job;
}

command::LoggedLines lines_of(std::uint64_t seq, std::size_t count, const std::string& word) {
  command::LoggedLines logged{.job = job_id(seq), .lines = {}};
  for (std::size_t i = 0; i < count; ++i)
    logged.lines.push_back({.at = {static_cast<std::int64_t>(i)},
                            .level = model::LogLevel::warning,
                            .message = text(word + std::to_string(i))});
  return logged;
}

class JobLogTest : public ::testing::Test {
 protected:
  void SetUp() override { store_ = open_store(folder_.file()); }
  void write(command::Changes changes) {
    store_->write(++index_, std::move(changes));
    ASSERT_TRUE(store_->wait_until_written(index_, kLong));
  }
  template <typename... Each>
  void write_all(Each... each) {
    command::Changes changes;
    (changes.emplace_back(std::move(each)), ...);
    write(std::move(changes));
  }
  model::LogPage log(std::uint64_t seq, std::uint64_t after = 0, std::size_t limit = 100) {
    auto page = store_->job_log(job_id(seq), after, limit);
    EXPECT_TRUE(page.has_value());
    return page.value_or(model::LogPage{});
  }

  const TempFolder folder_;
  std::unique_ptr<Store> store_;
  std::uint64_t index_ = 0;
};

TEST_F(JobLogTest, LinesAreNumberedAndComeInPages) {
  write_all(command::Item(job_in(1, model::State::active)), lines_of(1, 2, "a"));
  write_all(lines_of(1, 3, "b"), lines_of(2, 1, "other"));
  auto page = log(1);
  EXPECT_EQ(page.oldest, 1U);
  EXPECT_EQ(page.latest, 5U);
  EXPECT_EQ(page.first, 1U);
  ASSERT_EQ(page.lines.size(), 5U);
  EXPECT_EQ(page.lines[0], (model::LogLine{{0}, model::LogLevel::warning, text("a0")}));
  EXPECT_EQ(page.lines[4].message.view(), "b2");
  page = log(1, 3, 1);
  EXPECT_EQ(page.first, 4U);
  ASSERT_EQ(page.lines.size(), 1U);
  EXPECT_EQ(page.lines[0].message.view(), "b1");
  EXPECT_TRUE(log(1, 5).lines.empty());
  EXPECT_EQ(log(9).latest, 0U);
  // Numbers go on after a start.
  ASSERT_TRUE(store_->close().has_value());
  store_ = open_store(folder_.file());
  write_all(lines_of(1, 1, "c"));
  EXPECT_EQ(log(1).latest, 6U);
}

TEST_F(JobLogTest, TheOldestLinesGoFirst) {
  constexpr auto kKept = model::limits::kLogLinesKept;
  for (std::uint64_t i = 0; i < kKept / 1'000; ++i) write_all(lines_of(1, 1'000, "x"));
  EXPECT_EQ(log(1).oldest, 1U);
  write_all(lines_of(1, 7, "y"));
  const auto page = log(1, 0, 1);
  EXPECT_EQ(page.oldest, 8U);
  EXPECT_EQ(page.first, 8U);
  EXPECT_EQ(page.latest, kKept + 7);
}

TEST_F(JobLogTest, LogsGoWithTheirJob) {
  write_all(command::Item(job_in(1, model::State::completed)), lines_of(1, 2, "a"),
            command::Item(job_in(2, model::State::completed)), lines_of(2, 2, "b"),
            command::Item(job_in(3, model::State::completed)), lines_of(3, 2, "c"));
  write_all(command::RemovedJob{job_id(1)});
  EXPECT_EQ(log(1).latest, 0U);
  write_all(command::SweptJobs{text("emails.send"), model::State::completed, {2'500}});
  ASSERT_TRUE(store_->close().has_value());  // the sweep is carried out before
  const auto findings = check_database(folder_.file());
  ASSERT_TRUE(findings.has_value());
  for (const auto& finding : *findings)
    EXPECT_EQ(finding.find("a line of a log"), std::string::npos) << finding;
  store_ = open_store(folder_.file());
  EXPECT_EQ(log(3).latest, 2U);
}

TEST_F(JobLogTest, FailuresAreTheLatestErrorsOfDeadAndRetryingJobs) {
  auto dead = job_in(1, model::State::dead);
  dead.errors = {{.ordinal = 1, .attempt = 1, .at = {10}, .error = text("first")},
                 {.ordinal = 2, .attempt = 2, .at = {20}, .error = text("second")}};
  dead.error_count = 2;
  auto expired = job_in(2, model::State::dead);
  expired.end_reason = text("expired");
  auto retrying = job_in(3, model::State::retrying);
  retrying.spec.queue = text("other");
  retrying.errors = {{.ordinal = 1, .attempt = 1, .at = {30}, .error = text("again")}};
  retrying.error_count = 1;
  write_all(command::Item(dead), command::Item(expired), command::Item(retrying),
            command::Item(job_in(4, model::State::completed)));
  const auto read = [&](std::string_view queue, std::size_t limit, bool more) {
    std::string out;
    const auto left = store_->failures(queue, limit, [&](const Failure& failure) {
      out += std::to_string(failure.job.sequence()) + " " + std::string(failure.error.view()) +
             " at " + std::to_string(failure.at.ms) + "; ";
    });
    EXPECT_TRUE(left.has_value());
    EXPECT_EQ(left.value_or(!more), more);
    return out;
  };
  EXPECT_EQ(read("", 10, false), "2 expired at 2000; 1 second at 20; 3 again at 30; ");
  EXPECT_EQ(read("other", 10, false), "3 again at 30; ");
  EXPECT_EQ(read("", 1, true), "2 expired at 2000; 3 again at 30; ");
  write_all(command::SweptJobs{text("emails.send"), model::State::dead, {99'000}});
  EXPECT_EQ(read("", 10, false), "3 again at 30; ");
}

}  // namespace
}  // namespace jobbie::store
