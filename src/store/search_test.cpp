// Searches in the file: every page and total against a plain loop over the jobs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/error_pattern.hpp"
#include "store/store.hpp"
#include "store/store_test_support.hpp"

namespace jobbie::store {
namespace {

using model::State;
using testing::kLong;
using testing::open_store;
using testing::TempFolder;
using testing::golden::text;

constexpr std::int64_t kBegin = 1'760'000'000'000;

class SearchTest : public ::testing::Test {
 protected:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  model::JobRecord make_job(std::uint64_t seq) {
    model::JobRecord job;
    job.id = {base::Ulid::make({kBegin + static_cast<std::int64_t>(seq / 3)}, seq,
                               static_cast<std::uint32_t>(random_()))};
    job.state = static_cast<State>(below(model::kStates));
    job.spec.queue = text("q" + std::to_string(below(3)));
    job.spec.priority = static_cast<std::int32_t>(below(3));
    job.spec.payload = text("{\"n\":" + std::to_string(below(5)) + ",\"t\":\"w" +
                            std::to_string(below(4)) + "\"}");
    if (below(2) == 0) job.spec.tags = text("{\"k\":" + std::to_string(below(2)) + "}");
    if (below(3) == 0) job.spec.group = text("g");
    job.attempt = static_cast<std::uint32_t>(below(4));
    if (model::has_ended(job.state)) job.ended_at = {kBegin + static_cast<std::int64_t>(below(50))};
    if (below(3) == 0) {
      job.error_count = 1;
      job.errors.push_back({.ordinal = 1, .attempt = 1, .at = {kBegin}, .error = text("SMTP 5%")});
    }
    job.arrival = seq;
    return job;
  }

  void fill(Store& store, std::size_t count) {
    command::Changes changes;
    for (std::uint64_t seq = 1; seq <= count; ++seq) {
      jobs_.push_back(make_job(seq));
      changes.emplace_back(command::Item(jobs_.back()));
    }
    store.write(1, std::move(changes));
    ASSERT_TRUE(store.wait_until_written(1, kLong));
  }

  /// A filter, and the same as a function.
  struct Wanted {
    search::Filter filter;
    std::vector<std::function<bool(const model::JobRecord&)>> rules;
  };

  Wanted random_filter() {
    Wanted out;
    auto& filter = out.filter;
    if (below(2) == 0) {
      filter.queue = below(3) == 0 ? "q*" : "q" + std::to_string(below(4));
      if (filter.queue != "q*")
        out.rules.push_back(
            [name = filter.queue](const auto& j) { return j.spec.queue.view() == name; });
    }
    if (below(2) == 0) {
      for (std::uint64_t n = 1 + below(3); n > 0; --n)
        filter.states.push_back(static_cast<State>(below(model::kStates)));
      out.rules.push_back([states = filter.states](const auto& j) {
        return std::find(states.begin(), states.end(), j.state) != states.end();
      });
    }
    if (below(4) == 0) {
      filter.priority = static_cast<std::int32_t>(below(3));
      out.rules.push_back([p = *filter.priority](const auto& j) { return j.spec.priority == p; });
    }
    if (below(4) == 0) {
      const auto n = std::to_string(below(5));
      filter.payload_jq = search::Jq::parse(".n == " + n).value();
      out.rules.push_back([n](const auto& j) {
        return j.spec.payload.view().find("\"n\":" + n + ",") != std::string_view::npos;
      });
    }
    if (below(4) == 0) {
      filter.payload_contains = "w" + std::to_string(below(5));
      out.rules.push_back([part = filter.payload_contains](const auto& j) {
        return j.spec.payload.view().find(part) != std::string_view::npos;
      });
    }
    add_more(out);
    return out;
  }

  void add_more(Wanted& out) {
    auto& filter = out.filter;
    if (below(4) == 0) {
      filter.created = {.after = {kBegin + static_cast<std::int64_t>(below(60))},
                        .before = {kBegin + 40 + static_cast<std::int64_t>(below(60))}};
      out.rules.push_back([period = filter.created](const auto& j) {
        return j.id.ulid.time() > period.after && j.id.ulid.time() < period.before;
      });
    }
    if (below(6) == 0) {
      filter.error_contains = below(2) == 0 ? "5%" : "5_";
      out.rules.push_back([wanted = filter.error_contains](const auto& j) {
        return !j.errors.empty() && wanted == "5%";
      });
    }
    if (below(6) == 0) {
      const auto queue = "q" + std::to_string(below(4));
      filter.error_group = model::fingerprint_of(queue, "SMTP #%");
      out.rules.push_back(
          [queue](const auto& j) { return !j.errors.empty() && j.spec.queue.view() == queue; });
    }
    if (below(6) == 0) {
      filter.group = "g";
      out.rules.push_back([](const auto& j) { return j.spec.group.view() == "g"; });
    }
    if (below(6) == 0) {
      filter.tags.push_back(search::Jq::member_equals("k", "1"));
      out.rules.push_back([](const auto& j) { return j.spec.tags.view() == "{\"k\":1}"; });
    }
    if (below(6) == 0) {
      const auto prefix = jobs_[below(jobs_.size())].id.text().substr(0, 4 + below(27));
      filter.id_range = search::ids_beginning_with(prefix);
      out.rules.push_back([prefix](const auto& j) { return j.id.text().starts_with(prefix); });
    }
    if (below(6) == 0) {
      filter.completed.after = {kBegin + 20};
      out.rules.push_back(
          [](const auto& j) { return j.state == State::completed && j.ended_at.ms > kBegin + 20; });
    }
  }

  std::vector<base::JobId> expected(const Wanted& wanted, search::Sort sort, search::Order order) {
    std::vector<const model::JobRecord*> found;
    for (const auto& job : jobs_)
      if (std::all_of(wanted.rules.begin(), wanted.rules.end(),
                      [&](const auto& rule) { return rule(job); }))
        found.push_back(&job);
    const auto key = [&](const model::JobRecord& j) -> std::int64_t {
      if (sort == search::Sort::priority) return j.spec.priority;
      if (sort == search::Sort::ended_at) return j.ended_at.ms;
      return 0;
    };
    std::sort(found.begin(), found.end(), [&](const auto* a, const auto* b) {
      const auto left = std::pair(key(*a), a->id.sequence());
      const auto right = std::pair(key(*b), b->id.sequence());
      return order == search::Order::asc ? left < right : right < left;
    });
    std::vector<base::JobId> ids;
    for (const auto* job : found) ids.push_back(job->id);
    return ids;
  }

  std::mt19937_64 random_;
  std::vector<model::JobRecord> jobs_;
};

TEST_F(SearchTest, PagesAndTotalsAgreeWithALoop) {
  const char* given = std::getenv("JOBBIE_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  random_.seed(seed);
  const TempFolder folder;
  const auto store = open_store(folder.file());
  fill(*store, 300);
  constexpr search::Sort kSorts[] = {search::Sort::created_at, search::Sort::priority,
                                     search::Sort::ended_at};
  for (int i = 0; i < 300; ++i) {
    const Wanted wanted = random_filter();
    search::Request request{.filter = wanted.filter,
                            .sort = kSorts[below(3)],
                            .order = static_cast<search::Order>(below(2)),
                            .limit = static_cast<std::uint32_t>(1 + below(100))};
    const auto all = expected(wanted, request.sort, request.order);
    std::vector<base::JobId> found;
    do {
      const auto page = store->search(request);
      ASSERT_TRUE(page.has_value()) << page.error().message;
      EXPECT_EQ(page->total, all.size()) << "seed " << seed << " round " << i;
      for (const auto& job : page->jobs) {
        found.push_back(job.id);
        EXPECT_EQ(job, jobs_[job.id.sequence() - 1]);
      }
      request.after = page->next;
    } while (request.after);
    ASSERT_EQ(found, all) << "seed " << seed << " round " << i;

    auto by_sequence = all;
    std::sort(by_sequence.begin(), by_sequence.end());
    const auto slice = store->slice(wanted.filter, {.after = 0, .upto = 300, .limit = 1000});
    ASSERT_TRUE(slice.has_value());
    EXPECT_EQ(*slice, by_sequence);
    EXPECT_EQ(store->count(wanted.filter)->matches, all.size());
  }
}

TEST_F(SearchTest, WhatIsSweptIsNotFound) {
  const TempFolder folder;
  const auto store = open_store(folder.file());
  fill(*store, 100);
  command::Changes changes;
  changes.emplace_back(command::SweptJobs{text("q1"), State::dead, base::kNever});
  store->write(2, std::move(changes));
  ASSERT_TRUE(store->wait_until_written(2, kLong));
  search::Request request;
  request.filter.queue = "q1";
  request.filter.states = {State::dead};
  EXPECT_EQ(store->search(request)->total, 0U);
  request.filter.queue = "q2";
  EXPECT_GT(store->search(request)->total, 0U);
}

TEST_F(SearchTest, ASearchThatTakesTooLongGivesUp) {
  const TempFolder folder;
  auto store = Store::open({.path = folder.file(), .search_time = std::chrono::milliseconds(0)});
  ASSERT_TRUE(store.has_value());
  fill(**store, 5000);
  search::Request request;
  request.filter.payload_contains = "nowhere";
  const auto page = (*store)->search(request);
  ASSERT_FALSE(page.has_value());
  EXPECT_EQ(page.error().code, "search_too_slow");
  EXPECT_FALSE((*store)->trouble().has_value());
}

/// Ways that are only taken where there is much: a stretch of the table that has the matches or has
/// none of them, and rows that are walked because an index would find too many.
class ManyMatches : public SearchTest, public ::testing::WithParamInterface<State> {};

TEST_P(ManyMatches, HaveTheirFirstPages) {
  constexpr std::uint64_t kBefore = 51'000;
  constexpr std::uint64_t kFew = kBefore + 11'000;
  constexpr std::uint64_t kAll = kFew + 51'000;
  const TempFolder folder;
  const auto store = open_store(folder.file());
  command::Changes changes;
  for (const char* name : {"q0", "q1", "q2"})
    changes.emplace_back(command::Item(model::QueueRecord{.name = text(name)}));
  for (std::uint64_t seq = 1; seq <= kAll; ++seq) {
    auto job = make_job(seq);
    const bool ended = seq <= kBefore || seq > kFew;
    job.state = ended ? State::completed : GetParam();
    job.ended_at = {ended ? kBegin + static_cast<std::int64_t>(below(50)) : 0};
    jobs_.push_back(job);
    changes.emplace_back(command::Item(std::move(job)));
  }
  store->write(1, std::move(changes));
  ASSERT_TRUE(store->wait_until_written(1, kLong));
  for (const auto state : {GetParam(), State::completed})
    for (const std::string queue : {"", "q*"})
      for (const std::string part : {"", "\"n\":"})
        for (const auto order : {search::Order::asc, search::Order::desc}) {
          Wanted wanted;
          wanted.filter.states = {state};
          wanted.filter.queue = queue;
          wanted.filter.payload_contains = part;
          wanted.rules.push_back([state](const auto& j) { return j.state == state; });
          const auto all = expected(wanted, search::Sort::created_at, order);
          search::Request request{.filter = wanted.filter, .order = order, .limit = 100};
          for (std::size_t at = 0; at < 300; at += 100) {
            const auto page = store->search(request);
            ASSERT_TRUE(page.has_value()) << page.error().message;
            EXPECT_TRUE(page->total_is_at_least);
            ASSERT_EQ(page->jobs.size(), 100U);
            for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(page->jobs[i].id, all[at + i]);
            request.after = page->next;
          }
        }
}

INSTANTIATE_TEST_SUITE_P(Live, ManyMatches, ::testing::Values(State::pending, State::active));

TEST_F(SearchTest, CountsStopAtTheBound) {
  const TempFolder folder;
  const auto store = open_store(folder.file());
  fill(*store, search::kMaxTotal + 5);
  for (const bool by_payload : {false, true}) {
    search::Request request;
    if (by_payload) request.filter.payload_contains = "n";
    const auto page = store->search(request);
    ASSERT_TRUE(page.has_value());
    EXPECT_EQ(page->total, search::kMaxTotal);
    EXPECT_TRUE(page->total_is_at_least);
    EXPECT_EQ(store->count(request.filter)->matches, search::kMaxTotal + 5);
  }
}

}  // namespace
}  // namespace jobbie::store
