// Golden files: what a release has written must decode to the same values for ever, and encode to
// the same bytes.
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "command/checkpoint_codec.hpp"
#include "command/codec.hpp"
#include "command/fields.hpp"
#include "tests/support/golden_entries.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/golden_items.hpp"
#include "tests/support/golden_replies.hpp"

namespace jobbie::command {
namespace {

namespace golden = testing::golden;

template <typename T, typename Decode>
void compare(const std::string& file, std::string_view comment, const golden::Named<T>& values,
             Decode decode) {
  testing::GoldenRecords encoded;
  for (const auto& [name, value] : values) {
    std::string bytes;
    encode(value, bytes);
    encoded.emplace_back(name, bytes);
  }
  if (testing::writing_golden()) testing::write_golden(file, comment, encoded);

  const auto records = testing::read_golden(file);
  ASSERT_EQ(records.size(), values.size())
      << file << " lacks a record, or was not found in " << testing::golden_folder();
  for (std::size_t i = 0; i < values.size(); ++i) {
    SCOPED_TRACE(file + ": " + records[i].first);
    EXPECT_EQ(records[i].first, values[i].first);
    EXPECT_EQ(testing::to_hex(records[i].second), testing::to_hex(encoded[i].second));
    const auto decoded = decode(records[i].second);
    ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
    EXPECT_TRUE(*decoded == values[i].second);
  }
}

TEST(Golden, Entries) {
  compare("entry_v1.hex", "Log entries, format version 1.", golden::entries(), decode_entry);
}

TEST(Golden, Replies) {
  compare("reply_v1.hex", "Replies, format version 1.", golden::replies(), decode_reply);
}

TEST(Golden, Items) {
  compare("item_v1.hex", "Items of checkpoints, format version 1.", golden::all_items(),
          decode_item);
}

TEST(Golden, Checkpoint) {
  constexpr const char* kFile = "checkpoint_v1.hex";
  const auto items = golden::items();
  std::string written;
  CheckpointWriter writer([&](std::string_view piece) { written += piece; });
  for (const auto& [name, item] : items) writer.add(item);
  writer.finish();
  if (testing::writing_golden())
    testing::write_golden(kFile, "A checkpoint, version 1, of the items of item_v1.hex.",
                          {{"checkpoint", written}});

  const auto records = testing::read_golden(kFile);
  ASSERT_EQ(records.size(), 1U) << testing::golden_folder();
  EXPECT_EQ(testing::to_hex(records[0].second), testing::to_hex(written));
  std::vector<Item> read;
  CheckpointReader reader([&](Item item) {
    read.push_back(std::move(item));
    return base::Result<void>{};
  });
  ASSERT_TRUE(reader.feed(records[0].second).has_value());
  ASSERT_TRUE(reader.finish().has_value());
  ASSERT_EQ(read.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) EXPECT_TRUE(read[i] == items[i].second) << i;
}

// Every alternative occurs with every field set. Otherwise a field would lack its golden bytes.
template <typename Struct>
bool is_full(const Struct& value) {
  bool full = true;
  const Struct fresh{};
  for_each_field<Struct>([&](std::size_t, auto field) {
    if constexpr (requires { value.*field; }) {
      full = full && value.*field != fresh.*field;
      if constexpr (Listed<std::remove_cvref_t<decltype(value.*field)>>)
        full = full && is_full(value.*field);
    } else {
      full = full && value.*field.member != fresh.*field.member;
    }
  });
  return full;
}

template <typename Variant>
std::set<std::size_t> full_alternatives(const std::vector<Variant>& values) {
  std::set<std::size_t> found;
  for (const Variant& value : values)
    std::visit(
        [&](const auto& alternative) {
          if (is_full(alternative)) found.insert(value.index());
        },
        value);
  return found;
}

TEST(Golden, EveryFieldOfEveryAlternativeIsCovered) {
  std::vector<Command> commands;
  for (const auto& [name, entry] : golden::entries())
    commands.insert(commands.end(), entry.commands.begin(), entry.commands.end());
  // A schedule's job cannot have a time, so the schedules' jobs are plain; full jobs occur
  // elsewhere.
  const std::set<std::size_t> plain_job = {Command(CreateSchedule{}).index(),
                                           Command(UpdateSchedule{}).index()};
  EXPECT_EQ(full_alternatives(commands).size() + plain_job.size(), std::variant_size_v<Command>);

  std::vector<Reply> replies;
  for (const auto& [name, reply] : golden::replies()) replies.push_back(reply);
  EXPECT_EQ(full_alternatives(replies).size() + 1, std::variant_size_v<Reply>);

  std::vector<Item> items;
  for (const auto& [name, item] : golden::all_items()) items.push_back(item);
  EXPECT_EQ(full_alternatives(items).size() + 1, std::variant_size_v<Item>);
}

}  // namespace
}  // namespace jobbie::command
