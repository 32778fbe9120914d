// The reserve on the disk, and answers of a database that cannot be written to.
#include "node/disk_room.hpp"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <stdlib.h>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "call/desk.hpp"
#include "node/readers.hpp"
#include "store/store.hpp"
#include "store/store_test_support.hpp"

namespace jobbie::node {
namespace {

namespace fs = std::filesystem;
using store::testing::kLong;
using store::testing::TempFolder;
using store::testing::golden::job_id;
using store::testing::golden::text;

TEST(DiskRoom, the_reserve_counts_as_room_and_survives_a_restart) {
  const TempFolder folder;
  const auto directory = fs::path(folder.file()).parent_path().string();
  DiskRoom room(directory);
  EXPECT_EQ(room.left(), room.free());
  ASSERT_TRUE(room.restore(0));
  EXPECT_FALSE(room.restore(0)) << "one is enough";
  EXPECT_EQ(room.left(), room.free() + kReserveBytes);
  EXPECT_EQ(fs::file_size(directory + "/reserve"), kReserveBytes);
  DiskRoom next(directory);
  EXPECT_EQ(next.left(), next.free() + kReserveBytes);
  EXPECT_TRUE(next.release());
  EXPECT_FALSE(next.release());
  EXPECT_FALSE(fs::exists(directory + "/reserve"));
}

TEST(DiskRoom, no_reserve_is_made_where_space_is_short) {
  const TempFolder folder;
  DiskRoom room(fs::path(folder.file()).parent_path().string());
  EXPECT_FALSE(room.restore(room.free() - kReserveBytes));
  EXPECT_EQ(room.left(), room.free());
}

class OneInbox final : public call::Inbox {
 public:
  void deliver(std::vector<std::unique_ptr<call::Call>> calls) override {
    const std::lock_guard lock(mutex_);
    for (auto& call : calls) arrived_.push_back(std::move(call));
    changed_.notify_all();
  }
  std::unique_ptr<call::Call> next() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kLong, [this] { return !arrived_.empty(); });
    auto call = std::move(arrived_.front());
    arrived_.erase(arrived_.begin());
    return call;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<call::Call>> arrived_;
};

command::Changes jobs(std::uint64_t first, std::uint64_t count) {
  command::Changes changes;
  changes.emplace_back(
      command::Item(model::QueueRecord{.name = store::testing::golden::plain_job().queue}));
  for (std::uint64_t i = first; i < first + count; ++i) {
    model::JobRecord job{.id = job_id(i),
                         .state = model::State::pending,
                         .spec = store::testing::golden::plain_job(),
                         .arrival = i};
    job.spec.payload = text("\"" + std::string(3000, 'x') + "\"");
    changes.emplace_back(command::Item(job));
  }
  model::MetaRecord meta;
  meta.next_sequence = first + count;
  changes.emplace_back(command::Item(meta));
  return changes;
}

TEST(StaleAnswers, say_so_and_are_not_given_to_those_who_act_on_them) {
  const TempFolder folder;
  const auto store = store::testing::open_store(folder.file());
  store->write(1, jobs(1, 10));
  ASSERT_TRUE(store->wait_until_written(1, kLong));
  store->set_max_pages(store->file_space().pages);
  store->write(2, jobs(11, 500));
  while (!store->trouble()) std::this_thread::yield();
  OneInbox inbox;
  Readers readers(*store, {.queue = {.threads = 1, .bound = 10, .bound_per_caller = 10}});
  auto search = std::make_unique<call::PlainCall>(inbox);
  search->query = call::SearchQuery{};
  readers.ask(std::move(search), 1);
  auto fresh = inbox.next();
  EXPECT_FALSE(fresh->stale);
  EXPECT_TRUE(std::holds_alternative<call::SearchAnswer>(fresh->answer));
  readers.ask(std::move(fresh), 2);
  auto stale = inbox.next();
  EXPECT_TRUE(stale->stale);
  EXPECT_EQ(std::get<call::SearchAnswer>(stale->answer).page.total, 10u);
  auto slice = std::make_unique<call::PlainCall>(inbox);
  slice->query = call::SliceQuery{};
  readers.ask(std::move(slice), 2);
  EXPECT_EQ(inbox.next()->trouble, call::Trouble::behind);
}

}  // namespace
}  // namespace jobbie::node
