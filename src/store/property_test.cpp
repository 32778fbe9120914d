// Random changes at random times against a store in memory: at every moment both answer alike, and
// after any end, orderly or not, the file holds the state at the index it claims.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/store.hpp"
#include "store/store_test_support.hpp"

namespace jobbie::store {
namespace {

using testing::kLong;
using testing::load_all;
using testing::RandomCommand;
using testing::Reference;
using testing::TempFolder;
using testing::golden::text;

constexpr std::uint64_t kJobs = 60;
constexpr std::uint64_t kBatches = 12;

/// Changes as an engine might hand them over, over few enough names that they meet often.
class Changer {
 public:
  explicit Changer(std::uint64_t seed) : random_(seed) {}

  command::Changes next() {
    command::Changes changes;
    for (auto n = random_.below(4); n > 0; --n) changes.push_back(removal());
    now_ += static_cast<std::int64_t>(random_.below(3)) * base::days(1).ms;
    changes.emplace_back(command::Item(model::MetaRecord{.now = {now_}, .entries = ++entries_}));
    for (auto n = random_.below(12); n > 0; --n) {
      if (random_.chance(35))
        changes.emplace_back(testing::plain_of(job_record(true)));
      else
        changes.emplace_back(item());
    }
    return changes;
  }

  base::JobId job() { return id<base::JobId>(kJobs); }
  base::BatchId batch() { return id<base::BatchId>(kBatches); }
  base::Blob group() { return random_.chance(40) ? base::Blob() : name("g"); }
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  bool chance(unsigned percent) { return random_.chance(percent); }
  [[nodiscard]] base::Instant now() const { return {now_}; }
  /// After a crash the log time goes on from where the file stands, like the state.
  void set_now(base::Instant now) { now_ = now.ms; }

 private:
  template <typename Id>
  Id id(std::uint64_t bound) {
    return testing::golden::id<Id>(1 + random_.below(bound));
  }
  base::Blob name(const char* prefix) { return text(prefix + std::to_string(random_.below(3))); }
  base::Instant ended_at() { return {static_cast<std::int64_t>(1 + random_.below(50))}; }
  model::State ended_state() { return static_cast<model::State>(5 + random_.below(3)); }

  base::KeyId scope() { return random_.chance(50) ? base::KeyId{} : id<base::KeyId>(2); }

  command::Change removal() {
    switch (random_.below(11)) {
      case 0:
        return command::RemovedQueue{name("q")};
      case 1:
        return command::RemovedSchedule{id<base::ScheduleId>(5)};
      case 2:
        return command::RemovedWorker{name("w")};
      case 3:
        return command::RemovedIdempotency{name("k"), scope()};
      case 4:
        return command::RemovedTask{random_.below(5)};
      case 5:
        return command::SweptJobs{name("q"), ended_state(),
                                  random_.chance(30) ? base::kNever : ended_at()};
      case 6:
        return command::RemovedKey{id<base::KeyId>(5)};
      case 7:
        return command::RemovedWebhook{id<base::WebhookId>(4)};
      case 8:
        return command::RemovedBulk{id<base::BulkId>(5)};
      default:
        return command::RemovedJob{job()};
    }
  }

  command::Item item() {
    if (random_.chance(60)) return job_record();
    auto item = random_.item();
    std::visit([&](auto& record) { fit(record); }, item);
    return item;
  }

  /// A job that has failed is never plain again, so some never fail.
  static bool never_fails(base::JobId job) { return job.sequence() % 2 == 0; }

  model::JobRecord job_record(bool plain = false) {
    model::JobRecord job;
    while (job.id.is_nil() || (plain && !never_fails(job.id))) {
      auto item = random_.item();
      if (auto* found = std::get_if<model::JobRecord>(&item)) {
        job = std::move(*found);
        fit(job);
      }
    }
    return job;
  }

  void fit(model::JobRecord& r) {
    r.id = job();
    r.spec.queue = name("q");
    r.spec.group = group();
    r.ended_at = model::has_ended(r.state) ? ended_at() : base::Instant{};
    if (never_fails(r.id)) {
      r.errors.clear();
      r.error_count = 0;
    }
    testing::tidy_errors(r);
  }
  void fit(model::MetaRecord& r) { r.now = {now_}; }
  void fit(model::QueueRecord& r) { r.name = name("q"); }
  void fit(model::TallyRecord& r) {
    r.queue = name("q");
    r.minute = static_cast<std::int64_t>(random_.below(5));
    r.count = random_.below(3);
  }
  void fit(model::WindowRecord& r) {
    r.queue = name("q");
    r.key = r.keyed ? name("key") : base::Blob();
  }
  void fit(model::GroupRecord& r) { r.name = name("g"); }
  void fit(model::BatchRecord& r) {
    r.id = batch();
    r.finished_at = {random_.chance(50) ? 0 : now_};
  }
  void fit(model::ScheduleRecord& r) { r.id = id<base::ScheduleId>(5); }
  void fit(model::WorkerRecord& r) { r.spec.id = name("w"); }
  void fit(model::IdempotencyRecord& r) {
    r.key = name("k");
    r.scope = scope();
  }
  void fit(model::TaskRecord& r) { r.number = random_.below(5); }
  void fit(model::BulkRecord& r) { r.id = id<base::BulkId>(5); }
  void fit(model::KeyRecord& r) { r.id = id<base::KeyId>(5); }
  void fit(model::WebhookRecord& r) { r.id = id<base::WebhookId>(4); }
  void fit(model::DeliveryRecord& r) {
    r.id = id<base::DeliveryId>(9);
    r.webhook = id<base::WebhookId>(4);
    r.ended_at = {r.state == model::DeliveryState::pending ? 0 : now_};
  }

  RandomCommand random_;
  std::int64_t now_ = base::days(1000).ms;
  std::uint64_t entries_ = 0;
};

/// The store, what it should hold, and what it should hold at every index so far.
class Pair {
 public:
  Pair(std::uint64_t seed, std::string path) : changer_(seed), path_(std::move(path)) { open(); }

  void step() {
    auto changes = changer_.next();
    expected_.apply(changes);
    history_[++index_] = expected_;
    store_->write(index_, std::move(changes));
    for (int i = 0; i < 4; ++i) compare_lookups();
    if (changer_.chance(20)) ASSERT_TRUE(store_->wait_until_written(index_, kLong));
    if (changer_.chance(3)) compare_load();
    if (changer_.chance(3)) end(changer_.chance(50));
  }

  void end(bool orderly) {
    if (orderly) {
      const auto closed = store_->close();
      ASSERT_TRUE(closed.has_value()) << closed.error().message;
      ASSERT_EQ(store_->durable_index(), index_);
    }
    const auto durable = store_->durable_index();
    store_.reset();
    open();
    ASSERT_GE(store_->applied_index(), durable);
    if (orderly) ASSERT_EQ(store_->applied_index(), index_);
    // What the file does not have the log would bring again; here it goes another way from there.
    index_ = store_->applied_index();
    expected_ = history_.at(index_);
    if (expected_.meta) changer_.set_now(expected_.meta->now);
    history_.erase(history_.upper_bound(index_), history_.end());
    compare_load();
    compare_everything();
  }

 private:
  void open() {
    store_ = testing::open_store(path_);
    ASSERT_TRUE(store_);
    history_.try_emplace(0);
  }

  [[nodiscard]] std::optional<model::BatchRecord> kept_batch(base::BatchId id) const {
    const auto found = expected_.batches.find(id);
    if (found == expected_.batches.end()) return std::nullopt;
    const auto finished = found->second.finished_at;
    if (finished.ms != 0 && finished < changer_.now() - base::days(30)) return std::nullopt;
    return found->second;
  }

  [[nodiscard]] std::string situation() const {
    const auto trouble = store_->trouble();
    return "index " + std::to_string(index_) + ", written " +
           std::to_string(store_->written_index()) + (trouble ? ": " + trouble->message : "");
  }

  void compare_job(base::JobId id) {
    const auto found = expected_.jobs.find(id);
    const auto expected =
        found == expected_.jobs.end() ? std::nullopt : std::optional(found->second);
    ASSERT_TRUE(store_->job(id).value() == expected) << id.text() << situation();
    const bool ended = expected && model::has_ended(expected->state);
    ASSERT_TRUE(store_->find_ended(id).value() == (ended ? expected : std::nullopt))
        << id.text() << situation();
  }

  void compare_lookups() {
    compare_job(changer_.job());
    const auto batch = changer_.batch();
    ASSERT_TRUE(store_->batch(batch).value() == kept_batch(batch)) << batch.text() << situation();
    const auto group = changer_.group();
    const auto after = changer_.below(kJobs);
    const auto upto = after + changer_.below(kJobs);
    const auto limit = changer_.below(8);
    if (group.empty()) return;
    ASSERT_TRUE(store_->dead_in_group(group.view(), after, upto, limit).value() ==
                expected_.dead_in_group(group.view(), after, upto, limit))
        << situation();
  }

  void compare_everything() {
    for (std::uint64_t i = 1; i <= kJobs; ++i) compare_job(testing::golden::job_id(i));
  }

  void compare_load() {
    ASSERT_TRUE(store_->wait_until_written(index_, kLong));
    const auto loaded = load_all(*store_);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    ASSERT_TRUE(loaded->jobs == expected_.hot().jobs);
    ASSERT_TRUE(*loaded == expected_.hot());
    ASSERT_FALSE(store_->trouble()) << store_->trouble()->message;
  }

  Changer changer_;
  std::string path_;
  std::unique_ptr<Store> store_;
  std::uint64_t index_ = 0;
  Reference expected_;
  std::map<std::uint64_t, Reference> history_;
};

TEST(StoreProperty, AnswersAsIfEverythingWereWritten) {
  const char* more = std::getenv("JOBBIE_STORE_SEEDS");
  const std::uint64_t seeds = more == nullptr ? 6 : std::strtoull(more, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TempFolder folder;
    Pair pair(seed, folder.file());
    for (int i = 0; i < 250; ++i) {
      pair.step();
      ASSERT_FALSE(::testing::Test::HasFatalFailure());
    }
    pair.end(true);
  }
}

}  // namespace
}  // namespace jobbie::store
