// Damage and want: flipped bits, copies taken in the middle of things, full disks, power cuts.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <sqlite3.h>
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
using testing::open_store;
using testing::Reference;
using testing::TempFolder;
using testing::golden::job_id;
using testing::golden::text;

namespace fs = std::filesystem;

/// A consistent state: one queue, jobs in it, tallies that count the ended ones.
command::Changes sound_changes(std::uint64_t jobs, std::uint32_t mark = 0) {
  command::Changes changes;
  changes.emplace_back(
      command::Item(model::MetaRecord{.now = {1'000}, .next_sequence = jobs + 1, .next_lease = 1}));
  changes.emplace_back(command::Item(model::QueueRecord{.name = text("emails.send")}));
  std::uint64_t dead = 0;
  for (std::uint64_t i = 1; i <= jobs; ++i) {
    model::JobRecord job{.id = job_id(i), .spec = testing::golden::plain_job(), .arrival = i};
    job.lease = mark;
    if (i % 4 == 0) {
      job.state = model::State::dead;
      job.ended_at = {120'000};
      job.errors = {{.ordinal = 1, .error = text("no")}};
      job.error_count = 1;
      ++dead;
    }
    changes.emplace_back(command::Item(std::move(job)));
  }
  changes.emplace_back(command::Item(model::TallyRecord{
      .queue = text("emails.send"), .state = model::State::dead, .minute = 2, .count = dead}));
  return changes;
}

Reference reference_of(const command::Changes& changes) {
  Reference reference;
  reference.apply(changes);
  return reference;
}

void flip_bit(const std::string& path, std::uint64_t bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto at = static_cast<std::streamoff>(bit / 8);
  file.seekg(at);
  const char byte = static_cast<char>(file.get() ^ (1 << (bit % 8)));
  file.seekp(at);
  file.put(byte);
}

TEST(Check, ASoundFileHasNoFindings) {
  const TempFolder folder;
  auto store = open_store(folder.file());
  ASSERT_TRUE(store);
  store->write(1, sound_changes(50));
  ASSERT_TRUE(store->close().has_value());
  const auto findings = check_database(folder.file());
  ASSERT_TRUE(findings.has_value()) << findings.error().message;
  EXPECT_TRUE(findings->empty()) << findings->front();
}

TEST(Check, ContradictionsAreFound) {
  const TempFolder folder;
  auto store = open_store(folder.file());
  ASSERT_TRUE(store);
  auto changes = sound_changes(50);
  changes.emplace_back(command::Item(model::TallyRecord{
      .queue = text("emails.send"), .state = model::State::dead, .minute = 2, .count = 3}));
  model::JobRecord lost{.id = job_id(20), .spec = {.queue = text("nowhere")}};
  changes.emplace_back(command::Item(lost));
  for (const std::uint64_t i : {30U, 31U}) {
    model::JobRecord holder{.id = job_id(i), .spec = testing::golden::plain_job()};
    holder.spec.unique.key = text("k");
    holder.holds_unique = true;
    changes.emplace_back(command::Item(holder));
  }
  changes.emplace_back(command::Item(
      model::BatchRecord{.id = testing::golden::id<base::BatchId>(9), .total = 3, .pending = 1}));
  store->write(1, changes);
  ASSERT_TRUE(store->close().has_value());
  const auto findings = check_database(folder.file());
  ASSERT_TRUE(findings.has_value());
  const auto has = [&](std::string_view part) {
    return std::any_of(findings->begin(), findings->end(),
                       [&](const auto& f) { return f.find(part) != std::string::npos; });
  };
  EXPECT_TRUE(has("queue does not exist: 20"));
  EXPECT_TRUE(has("two live jobs hold"));
  EXPECT_TRUE(has("recount does not confirm"));
  EXPECT_TRUE(has("does not add up"));
}

TEST(Damage, AFlippedBitIsNoticedOrMeansNothing) {
  const TempFolder folder;
  const auto changes = sound_changes(400);
  const auto expected = reference_of(changes);
  {
    auto store = open_store(folder.file("sound.db"));
    ASSERT_TRUE(store);
    store->write(9, changes);
    ASSERT_TRUE(store->close().has_value());
  }
  const auto bits = fs::file_size(folder.file("sound.db")) * 8;
  constexpr std::uint64_t kSeed = 20261115;
  std::mt19937_64 random(kSeed);
  int noticed = 0;
  for (int i = 0; i < 300; ++i) {
    // Every third in the first page, where the header and the schema stand.
    const auto bit = i % 3 == 0 ? random() % (4096 * 8) : random() % bits;
    SCOPED_TRACE("bit " + std::to_string(bit));
    const auto path = folder.file("damaged.db");
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path + suffix);
    fs::copy_file(folder.file("sound.db"), path);
    flip_bit(path, bit);
    const auto findings = check_database(path);
    auto store = Store::open({.path = path, .checkpoint_every = kLong});
    const auto loaded =
        store ? load_all(**store) : base::Result<Reference>(std::unexpected(base::Error{}));
    if (!loaded) {
      ++noticed;
      EXPECT_TRUE(!findings || !findings->empty()) << "the check saw nothing";
      continue;
    }
    EXPECT_TRUE(*loaded == expected.hot());
    bool trouble = false;
    for (const auto& [id, job] : expected.jobs) {
      const auto found = (*store)->job(id);
      trouble = trouble || (*store)->trouble();
      EXPECT_TRUE(trouble || found == job) << id.text();
    }
    noticed += trouble ? 1 : 0;
  }
  EXPECT_GT(noticed, 150);
}

TEST(Damage, ACopyInTheMiddleOfThingsIsTheStateAtItsIndex) {
  const TempFolder folder;
  // No checkpoints: the main file rests while the copies are taken, as at a real crash.
  auto opened = Store::open({.path = folder.file(), .checkpoint_every = kLong});
  ASSERT_TRUE(opened.has_value());
  auto& store = **opened;
  std::uint64_t copies_with_news = 0;
  for (std::uint32_t round = 1; round <= 20; ++round) {
    store.write(round, sound_changes(300, round));
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 5));
    const auto copy = folder.file("copy" + std::to_string(round) + ".db");
    fs::copy_file(folder.file(), copy);
    if (fs::exists(folder.file() + "-wal")) fs::copy_file(folder.file() + "-wal", copy + "-wal");
    auto other = open_store(copy);
    ASSERT_TRUE(other);
    const auto index = other->applied_index();
    ASSERT_LE(index, round);
    copies_with_news += index > 0 ? 1U : 0U;
    const auto loaded = load_all(*other);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    if (index == 0) {
      EXPECT_TRUE(*loaded == Reference{});
    } else {
      EXPECT_TRUE(*loaded ==
                  reference_of(sound_changes(300, static_cast<std::uint32_t>(index))).hot());
    }
    ASSERT_TRUE(other->close().has_value());
    const auto findings = check_database(copy);
    ASSERT_TRUE(findings.has_value());
    EXPECT_TRUE(findings->empty()) << findings->front();
  }
  EXPECT_GT(copies_with_news, 0U);
  EXPECT_TRUE(store.close().has_value());
}

TEST(Damage, AFullDiskPassesAndNothingIsLost) {
  const TempFolder folder;
  auto opened = Store::open({.path = folder.file(), .max_pages = 120});
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  auto store = *std::move(opened);
  std::uint64_t index = 0;
  while (!store->trouble() && index < 200) {
    auto changes = sound_changes(300 * (index + 1), static_cast<std::uint32_t>(index + 1));
    store->write(++index, std::move(changes));
    store->wait_until_written(index, std::chrono::milliseconds(300));
  }
  ASSERT_TRUE(store->trouble());
  EXPECT_EQ(store->trouble()->code, "disk_full");
  EXPECT_LT(store->written_index(), index);
  // Reads go on, of what is not written too.
  EXPECT_TRUE(store->job(job_id(299)).value());
  EXPECT_EQ(store->job(job_id(299)).value()->lease, index);
  store->set_max_pages(1'000'000);
  EXPECT_TRUE(store->wait_until_written(index, kLong));
  EXPECT_FALSE(store->trouble());
  EXPECT_TRUE(store->close().has_value());
}

TEST(Damage, ClosingOnAFullDiskSaysSo) {
  const TempFolder folder;
  auto opened = Store::open({.path = folder.file(), .max_pages = 60});
  ASSERT_TRUE(opened.has_value());
  (*opened)->write(3, sound_changes(5'000));
  const auto closed = (*opened)->close();
  ASSERT_FALSE(closed.has_value());
  EXPECT_EQ(closed.error().code, "disk_full");
  opened->reset();
  auto again = open_store(folder.file());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->applied_index(), 0U);
}

}  // namespace
}  // namespace jobbie::store
