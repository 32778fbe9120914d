// Searches end in time and when nobody waits for them, also within one job.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "store/searcher.hpp"
#include "store/store.hpp"
#include "store/store_test_support.hpp"

namespace jobbie::store {
namespace {

using model::State;
using testing::kLong;
using testing::TempFolder;
using testing::golden::text;

constexpr std::int64_t kBegin = 1'760'000'000'000;

class SearchBoundsTest : public ::testing::Test {
 protected:
  void open(std::chrono::milliseconds search_time) {
    auto opened = Store::open({.path = folder_.file(), .search_time = search_time});
    ASSERT_TRUE(opened.has_value());
    store_ = *std::move(opened);
  }

  void fill(std::uint64_t count, const std::string& payload) {
    command::Changes changes;
    for (std::uint64_t seq = 1; seq <= count; ++seq) {
      model::JobRecord job;
      job.id = {base::Ulid::make({kBegin}, seq, 7)};
      job.state = State::dead;
      job.ended_at = {kBegin + 1};
      job.spec.queue = text("q");
      job.spec.payload = text(payload);
      job.error_count = 1;
      job.errors.push_back({.ordinal = 1, .attempt = 1, .at = {kBegin}, .error = text("SMTP")});
      job.arrival = seq;
      changes.emplace_back(command::Item(std::move(job)));
    }
    store_->write(1, std::move(changes));
    ASSERT_TRUE(store_->wait_until_written(1, kLong));
  }

  /// An expression that would take minutes for one payload: each element is looked for among all.
  static std::string endless_payload() {
    std::string out = "[";
    for (int i = 0; i < 100'000; ++i) out += "[" + std::to_string(i) + "],";
    return out + "0]";
  }
  static search::Filter endless() {
    search::Filter filter;
    filter.payload_jq = search::Jq::parse("contains(.) | not").value();
    return filter;
  }

  TempFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(SearchBoundsTest, TimeEndsASearchWithinOneJob) {
  open(std::chrono::milliseconds(50));
  fill(1, endless_payload());
  const auto page = store_->search({.filter = endless()});
  ASSERT_FALSE(page.has_value());
  EXPECT_EQ(page.error().code, kSearchTooSlow);
  const auto count = store_->count(endless());
  ASSERT_FALSE(count.has_value());
  EXPECT_EQ(count.error().code, kSearchTooSlow);
  const auto slice = store_->slice(endless(), {.after = 0, .upto = 100, .limit = 10});
  ASSERT_FALSE(slice.has_value());
  EXPECT_EQ(slice.error().code, kSearchTooSlow);
  // That is no fault of the file, and the same searcher goes on.
  EXPECT_FALSE(store_->trouble().has_value());
  EXPECT_EQ(store_->count({})->matches, 1U);
}

TEST_F(SearchBoundsTest, ASearchIsCancelledWithinOneJob) {
  open(kLong);
  fill(1, endless_payload());
  std::atomic<bool> begun = false;
  std::atomic<bool> cancelled = false;
  const auto is_cancelled = [&] {
    begun = true;
    return cancelled.load();
  };
  base::Result<search::Page> page;
  std::thread searching([&] { page = store_->search({.filter = endless()}, is_cancelled); });
  while (!begun) std::this_thread::yield();
  cancelled = true;
  searching.join();
  ASSERT_FALSE(page.has_value());
  EXPECT_EQ(page.error().code, kCancelled);
  EXPECT_FALSE(store_->trouble().has_value());
}

TEST_F(SearchBoundsTest, EveryListIsCancelled) {
  open(kLong);
  fill(3'000, R"({"a":1})");
  const auto cancelled = [] { return true; };
  const auto code_of = [](const auto& result) {
    return result.has_value() ? std::string("answered") : result.error().code;
  };
  search::Filter filter;
  filter.payload_contains = "nowhere";
  EXPECT_EQ(code_of(store_->search({.filter = filter}, cancelled)), kCancelled);
  EXPECT_EQ(code_of(store_->count(filter, cancelled)), kCancelled);
  EXPECT_EQ(code_of(store_->slice(filter, {.after = 0, .upto = 9'000, .limit = 10}, cancelled)),
            kCancelled);
  EXPECT_EQ(code_of(store_->failures(
                "", 20'000, [](Failure) {}, cancelled)),
            kCancelled);
  EXPECT_FALSE(store_->trouble().has_value());
}

TEST_F(SearchBoundsTest, ManyStarsAreNoMoreThanOne) {
  open(kLong);
  fill(1, "1");
  command::Changes changes;
  model::JobRecord job;
  job.id = {base::Ulid::make({kBegin}, 2, 7)};
  job.spec.queue = text(std::string(128, 'a'));
  changes.emplace_back(command::Item(job));
  store_->write(2, std::move(changes));
  ASSERT_TRUE(store_->wait_until_written(2, kLong));
  search::Filter filter;
  for (int i = 0; i < 60; ++i) filter.queue += "*a";
  EXPECT_EQ(store_->search({.filter = filter})->total, 1U);
  // SQLite's own GLOB does not come to an end here.
  filter.queue += "*b";
  EXPECT_EQ(store_->search({.filter = filter})->total, 0U);
}

}  // namespace
}  // namespace jobbie::store
