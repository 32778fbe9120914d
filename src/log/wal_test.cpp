// The write-ahead log by itself: what a recovery finds, what it refuses, and its bytes.
#include "log/wal.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "log/record.hpp"
#include "log/sim_disk.hpp"
#include "tests/support/golden_file.hpp"

namespace jobbie::log {
namespace {

using consensus::EntryType;
using consensus::EntryView;
using consensus::HardState;

constexpr std::size_t kSegment = 8192;

WalOptions wal_options() {
  return {.directory = "w",
          .node_id = 1,
          .segment_bytes = kSegment,
          .seed = 5,
          .preparing = Preparer::Mode::at_once};
}

struct WalFixture : ::testing::Test {
  SimDisk disk{1};
  std::unique_ptr<Wal> wal;

  void open() {
    wal.reset();
    auto opened = Wal::open(disk, wal_options());
    ASSERT_TRUE(opened) << opened.error().message;
    wal = std::move(*opened);
  }
  base::Result<void> append(std::uint64_t term, std::uint64_t first,
                            const std::vector<std::string>& payloads, std::uint64_t commit = 1) {
    std::vector<EntryView> entries;
    for (const auto& payload : payloads)
      entries.push_back({first++, term, EntryType::plain, payload});
    return wal->append(HardState{term, 1, commit}, entries);
  }
  std::vector<std::string> read(std::uint64_t low, std::uint64_t high,
                                std::uint64_t max_bytes = UINT64_MAX) {
    std::vector<std::string> out;
    const auto done = wal->read({low, high, max_bytes},
                                [&](const EntryView& entry) { out.emplace_back(entry.data); });
    EXPECT_TRUE(done) << done.error().message;
    return out;
  }
  std::string path(std::uint64_t sequence) {
    return segment_path("w", {sequence, SegmentKind::active});
  }
};

TEST_F(WalFixture, a_new_log_is_a_snapshot_of_nothing) {
  open();
  EXPECT_TRUE(wal->fresh());
  EXPECT_EQ(wal->hard_state(), (HardState{1, 0, 1}));
  EXPECT_EQ(wal->terms().last(), kBootstrap);
  open();
  EXPECT_FALSE(wal->fresh());
  EXPECT_EQ(wal->terms().last(), kBootstrap);
}

TEST_F(WalFixture, hard_state_and_entries_come_back) {
  open();
  ASSERT_TRUE(append(2, 2, {"a", "b", ""}, 1));
  ASSERT_TRUE(wal->append(HardState{3, 1, 4}, {}));
  open();
  EXPECT_EQ(wal->hard_state(), (HardState{3, 1, 4}));
  EXPECT_EQ(wal->terms().last(), (consensus::Position{4, 2}));
  EXPECT_EQ(read(2, 5), (std::vector<std::string>{"a", "b", ""}));
  EXPECT_EQ(read(3, 4), (std::vector<std::string>{"b"}));
  EXPECT_EQ(read(2, 5, 1), (std::vector<std::string>{"a"})) << "at least one, however large";
}

TEST_F(WalFixture, a_later_record_overwrites_a_conflicting_tail) {
  open();
  ASSERT_TRUE(append(2, 2, {"a", "b", "c", "d"}));
  ASSERT_TRUE(append(3, 3, {"B", "C"}));
  EXPECT_EQ(read(2, 5), (std::vector<std::string>{"a", "B", "C"}));
  open();
  EXPECT_EQ(wal->terms().last(), (consensus::Position{4, 3}));
  EXPECT_EQ(wal->terms().term(2), 2u);
  EXPECT_EQ(wal->terms().term(3), 3u);
  EXPECT_EQ(read(2, 5), (std::vector<std::string>{"a", "B", "C"}));
}

TEST_F(WalFixture, a_damaged_middle_is_refused_with_file_and_offset) {
  open();
  ASSERT_TRUE(append(2, 2, {"first"}));
  ASSERT_TRUE(append(2, 3, {"second"}));
  ASSERT_TRUE(append(2, 4, {"third"}));
  wal.reset();
  auto& bytes = *disk.bytes(path(1));
  bytes[bytes.find("second")] ^= 1;
  const auto refused = Wal::open(disk, wal_options());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "corrupt_log");
  EXPECT_NE(refused.error().message.find(path(1)), std::string::npos);
  EXPECT_NE(refused.error().message.find("backup"), std::string::npos);
  EXPECT_GT(refused.error().position, kSegmentHeaderBytes);
}

TEST_F(WalFixture, a_torn_tail_is_cut_and_written_over) {
  open();
  ASSERT_TRUE(append(2, 2, {"first"}));
  ASSERT_TRUE(append(2, 3, {"second"}));
  wal.reset();
  auto& bytes = *disk.bytes(path(1));
  bytes[bytes.find("second") + 3] ^= 1;
  open();
  EXPECT_EQ(wal->terms().last().index, 2u);
  ASSERT_TRUE(append(3, 3, {"other"}));
  open();
  EXPECT_EQ(read(2, 4), (std::vector<std::string>{"first", "other"}));
}

TEST_F(WalFixture, without_its_first_segments_a_log_begins_later) {
  open();
  const std::string large(3000, 'x');
  for (std::uint64_t i = 2; i < 12; ++i) ASSERT_TRUE(append(2, i, {large}));
  ASSERT_GT(wal->segment_count(), 4u);
  wal.reset();
  auto damaged_disk = disk.clone();
  // What is before a gap is not needed: Log::start refuses a state that would need it.
  ASSERT_TRUE(damaged_disk.remove(path(2)));
  auto opened = Wal::open(damaged_disk, wal_options());
  ASSERT_TRUE(opened);
  EXPECT_GT((*opened)->terms().base().index, 2u);
}

TEST_F(WalFixture, a_recycled_segment_shows_nothing_of_its_earlier_life) {
  open();
  const std::string large(1000, 'x');
  std::uint64_t next = 2;
  for (int round = 0; round < 40; ++round) {
    ASSERT_TRUE(append(2, next, {large}));
    ASSERT_TRUE(wal->cut(next++));
    if (round % 5 == 4) {
      open();
      EXPECT_EQ(wal->terms().last().index, next - 1);
    }
  }
}

TEST_F(WalFixture, a_record_that_no_segment_could_hold_stops_the_log) {
  open();
  EXPECT_FALSE(wal->has_room(1, kSegment));
  EXPECT_EQ(append(2, 2, {std::string(kSegment, 'x')}).error().code, "record_too_large");
  EXPECT_TRUE(wal->failure());
}

/// A segment with records of every kind, cut behind the last one.
std::string golden_segment() {
  const SegmentHeader header{.sequence = 3,
                             .salt = 0x0123456789abcdef,
                             .segment_bytes = kSegment,
                             .node_id = 1,
                             .version = kFirstSegmentVersion};
  std::string out = encode_segment_header(header);
  const std::uint64_t self = 1;
  const auto conf = consensus::conf_state_of({&self, 1});
  const std::array<EntryView, 2> entries{EntryView{11, 4, EntryType::plain, "payload"},
                                         EntryView{12, 4, EntryType::plain, ""}};
  std::string record;
  encode_record({header, out.size()},
                {.number = 20,
                 .hard_state = {4, 1, 9},
                 .state = StateView{{10, 3}, conf},
                 .entries = entries},
                record);
  out += record;
  encode_record({header, out.size()},
                {.number = 21, .hard_state = {4, 1, 12}, .state = {}, .entries = {}}, record);
  return out + record;
}

/// The same in version 2, with a change of the configuration and a new beginning.
std::string golden_segment_v2() {
  const SegmentHeader header{
      .sequence = 3, .salt = 0x0123456789abcdef, .segment_bytes = kSegment, .node_id = 1};
  std::string out = encode_segment_header(header);
  Configured configured{
      .configuration = {.cluster_id = 5, .members = {{.id = 1, .name = "one", .voter = true}}},
      .index = 8,
      .joined = true};
  const EntryView entry{11, 4, EntryType::plain, "payload"};
  const auto conf = encode(configured);
  std::string record;
  const auto add = [&](const RecordContent& content) {
    encode_record({header, out.size()}, content, record);
    out += record;
  };
  add({.number = 20,
       .hard_state = {4, 1, 9},
       .state = StateView{{10, 3}, conf},
       .entries = {&entry, 1}});
  configured.configuration.members.push_back({.id = 2, .name = "two", .address = "b:1"});
  configured.index = 11;
  const auto changed = encode(configured);
  add({.number = 21,
       .hard_state = {4, 1, 11},
       .state = StateView{{11, 4}, changed},
       .entries = {}});
  configured.index = 90;
  const auto adopted = encode(configured);
  add({.number = 22,
       .hard_state = {6, 0, 100},
       .state = StateView{{100, 5}, adopted, true},
       .entries = {}});
  const EntryView last{101, 6, EntryType::plain, "behind it"};
  add({.number = 23, .hard_state = {6, 0, 100}, .state = {}, .entries = {&last, 1}});
  return out;
}

TEST(WalGolden, a_segment_of_version_2_still_reads) {
  const auto written = golden_segment_v2();
  if (jobbie::testing::writing_golden())
    jobbie::testing::write_golden("wal_v2.hex", "A segment of the log up to its last record.",
                                  {{"segment", written}});
  const auto golden = jobbie::testing::read_golden("wal_v2.hex");
  ASSERT_EQ(golden.size(), 1u);
  EXPECT_EQ(golden[0].second, written) << "the format has changed: it needs a new version";
  SimDisk disk(1);
  auto file = std::move(*disk.open(segment_path("w", {3, SegmentKind::active}), OpenMode::create));
  ASSERT_TRUE(file->write_at(0, golden[0].second));
  ASSERT_TRUE(file->write_at(kSegment - 1, std::string_view("\0", 1)));
  auto wal = Wal::open(disk, wal_options());
  ASSERT_TRUE(wal) << wal.error().message;
  EXPECT_EQ((*wal)->hard_state(), (HardState{6, 0, 100}));
  EXPECT_EQ((*wal)->terms().base(), (consensus::Position{100, 5}));
  EXPECT_EQ((*wal)->terms().last(), (consensus::Position{101, 6}));
  EXPECT_EQ((*wal)->configured().index, 90u);
  EXPECT_EQ((*wal)->configured().configuration.members.size(), 2u);
}

TEST_F(WalFixture, a_configuration_is_durable_with_its_record) {
  open();
  ASSERT_TRUE(append(2, 2, {"a"}));
  auto configured = wal->configured();
  EXPECT_EQ(configured.configuration.members, (std::vector<Member>{{.id = 1, .voter = true}}));
  configured.configuration.members.push_back({.id = 2, .name = "two"});
  configured.index = 2;
  ASSERT_TRUE(wal->configure({2, 1, 2}, configured));
  ASSERT_TRUE(append(2, 3, {"b"}, 2));
  open();
  EXPECT_EQ(wal->configured(), configured);
  EXPECT_EQ(wal->hard_state(), (HardState{2, 1, 2}));
  EXPECT_EQ(read(2, 4), (std::vector<std::string>{"a", "b"}));
  // Every segment tells it, also when those before it are gone.
  const std::string large(1000, 'x');
  for (std::uint64_t i = 4; i < 24; ++i) ASSERT_TRUE(append(2, i, {large}));
  ASSERT_TRUE(wal->cut(23));
  open();
  EXPECT_EQ(wal->configured(), configured);
}

TEST_F(WalFixture, a_tail_replaced_across_a_segment_that_is_cut_is_found_again) {
  open();
  const std::string large(1500, 'x');
  std::uint64_t next = 2;
  while (wal->segment_count() < 2) ASSERT_TRUE(append(2, next++, {large}));
  // The last entry of the first segment, and the one in the second, are replaced; then cut.
  const auto replaced = next - 2;
  ASSERT_TRUE(append(3, replaced, {"other"}));
  ASSERT_TRUE(append(3, replaced + 1, {"more"}, replaced));
  ASSERT_TRUE(wal->cut(replaced));
  ASSERT_EQ(wal->segment_count(), 1u);
  open();
  EXPECT_EQ(wal->terms().base(), (consensus::Position{replaced, 3}));
  EXPECT_EQ(read(replaced + 1, replaced + 2), (std::vector<std::string>{"more"}));
}

TEST_F(WalFixture, who_reads_on_reads_every_byte_about_once) {
  open();
  // Three records of many entries, read in small portions while the log grows.
  std::uint64_t next = 2;
  for (int record = 0; record < 3; ++record) {
    std::vector<std::string> payloads;
    for (int i = 0; i < 20; ++i) payloads.push_back(std::to_string(next + payloads.size()));
    ASSERT_TRUE(append(2, next, payloads));
    next += payloads.size();
  }
  const auto before = disk.bytes_read();
  for (std::uint64_t index = 2; index < next; ++index)
    EXPECT_EQ(read(index, next, 1), (std::vector<std::string>{std::to_string(index)}));
  EXPECT_LE(disk.bytes_read() - before, 2 * kSegment);
  ASSERT_TRUE(append(2, next, {"more"}));
  EXPECT_EQ(read(next, next + 1), (std::vector<std::string>{"more"}));
  // What was read is replaced: what stands there now is found.
  ASSERT_TRUE(append(3, 10, {"other", "tail"}));
  EXPECT_EQ(read(9, 12), (std::vector<std::string>{"9", "other", "tail"}));
  EXPECT_EQ(read(10, 12, 1), (std::vector<std::string>{"other"}));
  ASSERT_TRUE(append(4, 11, {"end"}));
  EXPECT_EQ(read(11, 12), (std::vector<std::string>{"end"}));
  // And across segments, also when those that were read are gone.
  const std::string large(1500, 'x');
  next = 12;
  while (wal->segment_count() < 4) ASSERT_TRUE(append(4, next++, {large}, 12));
  EXPECT_EQ(read(12, next, 2000), std::vector<std::string>(1, large));
  ASSERT_TRUE(wal->cut(13));
  EXPECT_EQ(read(14, next), std::vector<std::string>(next - 14, large));
}

TEST_F(WalFixture, a_reset_log_begins_behind_its_new_base) {
  open();
  const std::string large(1000, 'x');
  for (std::uint64_t i = 2; i < 24; ++i) ASSERT_TRUE(append(2, i, {large}));
  auto configured = wal->configured();
  configured.index = 90;
  ASSERT_TRUE(wal->reset({7, 0, 100}, {100, 6}, configured));
  EXPECT_EQ(wal->segment_count(), 1u);
  const auto looks_right = [&] {
    EXPECT_EQ(wal->terms().base(), (consensus::Position{100, 6}));
    EXPECT_EQ(wal->hard_state().term, 7u);
    EXPECT_EQ(wal->configured(), configured);
  };
  looks_right();
  open();
  looks_right();
  ASSERT_TRUE(append(7, 101, {"next", "one"}, 100));
  open();
  looks_right();
  EXPECT_EQ(read(101, 103), (std::vector<std::string>{"next", "one"}));
  // It may also go back, to a place where the old log had something else.
  ASSERT_TRUE(wal->reset({8, 0, 10}, {10, 8}, configured));
  ASSERT_TRUE(append(8, 11, {"again"}, 10));
  open();
  EXPECT_EQ(read(11, 12), (std::vector<std::string>{"again"}));
}

TEST(WalGolden, a_segment_of_version_1_still_reads) {
  const auto written = golden_segment();
  if (jobbie::testing::writing_golden())
    jobbie::testing::write_golden("wal_v1.hex", "A segment of the log up to its last record.",
                                  {{"segment", written}});
  const auto golden = jobbie::testing::read_golden("wal_v1.hex");
  ASSERT_EQ(golden.size(), 1u);
  EXPECT_EQ(golden[0].second, written) << "the format has changed: it needs a new version";

  // Read as a log that lost its first segments by being cut.
  SimDisk disk(1);
  const auto path = segment_path("w", {3, SegmentKind::active});
  auto file = std::move(*disk.open(path, OpenMode::create));
  ASSERT_TRUE(file->write_at(0, golden[0].second));
  ASSERT_TRUE(file->write_at(kSegment - 1, std::string_view("\0", 1)));
  auto wal = Wal::open(disk, wal_options());
  ASSERT_TRUE(wal) << wal.error().message;
  EXPECT_EQ((*wal)->hard_state(), (HardState{4, 1, 12}));
  EXPECT_EQ((*wal)->terms().base(), (consensus::Position{10, 3}));
  EXPECT_EQ((*wal)->terms().last(), (consensus::Position{12, 4}));
  std::vector<std::string> payloads;
  ASSERT_TRUE((*wal)->read({11, 13, UINT64_MAX},
                           [&](const EntryView& entry) { payloads.emplace_back(entry.data); }));
  EXPECT_EQ(payloads, (std::vector<std::string>{"payload", ""}));
  EXPECT_EQ((*wal)->configured().configuration.members,
            (std::vector<Member>{{.id = 1, .voter = true}}));
  EXPECT_TRUE((*wal)->configured().joined);

  // What is written now stands in a segment of the newest version.
  const EntryView more{13, 5, EntryType::plain, "more"};
  ASSERT_TRUE((*wal)->append({5, 1, 12}, {&more, 1}));
  EXPECT_EQ((*wal)->segment_count(), 2u);
  auto configured = (*wal)->configured();
  configured.configuration.members.push_back({.id = 2, .name = "two"});
  ASSERT_TRUE((*wal)->configure({5, 1, 13}, configured));
  wal->reset();
  wal = Wal::open(disk, wal_options());
  ASSERT_TRUE(wal) << wal.error().message;
  EXPECT_EQ((*wal)->terms().last(), (consensus::Position{13, 5}));
  EXPECT_EQ((*wal)->configured(), configured);
}

}  // namespace
}  // namespace jobbie::log
