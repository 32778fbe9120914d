// Plain jobs that are written together: each comes back as itself, whatever comes between them.
#include "store/job_feed.hpp"

#include <cstdint>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "store/store.hpp"
#include "store/store_test_support.hpp"

namespace jobbie::store {
namespace {

using testing::kLong;
using testing::open_store;
using testing::Reference;
using testing::TempFolder;
using testing::golden::job_id;
using testing::golden::text;

/// With something else in every field, now and then what counts as nothing.
model::PlainJob odd_job(std::uint64_t seq, model::State state, std::mt19937_64& random) {
  const auto some = [&] {
    return static_cast<std::int64_t>(random() % 5 == 0 ? 0 : random() >> 8);
  };
  const auto word = [&](const char* prefix) {
    return random() % 5 == 0 ? base::Blob() : text(prefix + std::to_string(random() % 1000));
  };
  return {.id = job_id(seq),
          .queue = text("q" + std::to_string(random() % 7)),
          .payload = word("payload "),
          .worker = word("w"),
          .hostname = word("h"),
          .run_at = {some()},
          .started_at = {some()},
          .ended_at = {model::has_ended(state) ? 1 + some() : 0},
          .lease_expires_at = {some()},
          .lease_duration = {some()},
          .lease = static_cast<std::uint64_t>(some()),
          .arrival = static_cast<std::uint64_t>(some()),
          .priority = static_cast<std::int32_t>(some()),
          .max_retries = static_cast<std::uint32_t>(some()),
          .attempt = static_cast<std::uint32_t>(some()),
          .state = state,
          .lease_end = static_cast<model::LeaseEnd>(random() % 4),
          .heartbeaten = random() % 2 == 0,
          .cancel_requested = random() % 2 == 0,
          .batch_counted = random() % 2 == 0};
}

TEST(JobFeed, ManyJobsComeBackAsTheyWere) {
  constexpr unsigned kSeed = 7'011;
  constexpr std::uint64_t kJobs = 2'600;  // more than go in together
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  const TempFolder folder;
  Reference expected;
  {
    auto store = open_store(folder.file());
    ASSERT_TRUE(store);
    const auto write = [&](std::uint64_t index, command::Changes changes) {
      expected.apply(changes);
      store->write(index, std::move(changes));
      EXPECT_TRUE(store->wait_until_written(index, kLong));
    };
    command::Changes changes;
    for (std::uint64_t seq = 1; seq <= kJobs; ++seq)
      changes.emplace_back(odd_job(seq, model::State::pending, random));
    write(1, std::move(changes));
    // Most end; between them some are removed, some go on, and some come that are not plain.
    changes = {};
    for (std::uint64_t seq = 1; seq <= kJobs; ++seq) {
      const auto what = random() % 100;
      if (what == 0) {
        changes.emplace_back(command::RemovedJob{job_id(seq)});
      } else if (what < 3) {
        auto record = testing::golden::full_job_record();
        record.id = job_id(seq);
        changes.emplace_back(command::Item(std::move(record)));
      } else if (what < 10) {
        changes.emplace_back(odd_job(seq, model::State::active, random));
      } else if (what < 95) {
        changes.emplace_back(odd_job(seq, static_cast<model::State>(5 + random() % 3), random));
      }
      if (what < 20) changes.emplace_back(odd_job(kJobs + seq, model::State::pending, random));
    }
    constexpr std::uint64_t kBrief = 2 * kJobs + 1;
    changes.emplace_back(odd_job(kBrief, model::State::pending, random));
    changes.emplace_back(command::RemovedJob{job_id(kBrief)});
    write(2, std::move(changes));
    ASSERT_TRUE(store->close().has_value());
  }
  const auto store = open_store(folder.file());
  ASSERT_TRUE(store);
  for (std::uint64_t seq = 1; seq <= 2 * kJobs + 1; ++seq) {
    const auto found = store->job(job_id(seq));
    ASSERT_TRUE(found.has_value()) << found.error().message;
    const auto wanted = expected.jobs.find(job_id(seq));
    ASSERT_EQ(found->has_value(), wanted != expected.jobs.end()) << seq;
    if (found->has_value()) {
      ASSERT_TRUE(**found == wanted->second) << seq;
    }
  }
  ASSERT_TRUE(store->close().has_value());
  auto file = Connection::open(folder.file(), Access::read_only, std::size_t{1} << 20);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->query_integer("SELECT count(*) FROM pragma_integrity_check "
                                "WHERE integrity_check != 'ok'")
                .value(),
            0);
}

}  // namespace
}  // namespace jobbie::store
