// The codec: round trips of random values, exact sizes, and input that is not what it should be.
#include "command/codec.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "model/limits.hpp"
#include "tests/support/golden_entries.hpp"
#include "tests/support/golden_items.hpp"
#include "tests/support/random_command.hpp"

namespace jobbie::command {
namespace {

namespace golden = testing::golden;
using base::Blob;
using testing::RandomCommand;

constexpr std::uint64_t kSeeds = 3000;

template <typename T>
std::string encoded(const T& value) {
  std::string out;
  encode(value, out);
  return out;
}

std::string entry_of(Command command) {
  return encoded(Entry{.now = {1}, .random = 2, .commands = {std::move(command)}});
}

template <typename T, typename Decode>
void expect_round_trip(const T& value, Decode decode, std::uint64_t seed) {
  const auto bytes = encoded(value);
  const auto decoded = decode(bytes);
  ASSERT_TRUE(decoded.has_value()) << "seed " << seed << ": " << decoded.error().message;
  EXPECT_TRUE(*decoded == value) << "seed " << seed;
  EXPECT_EQ(encoded(*decoded), bytes) << "seed " << seed;
}

TEST(Codec, RandomValuesComeBackEqual) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    RandomCommand random(seed);
    expect_round_trip(random.entry(), decode_entry, seed);
    expect_round_trip(random.reply(), decode_reply, seed);
    expect_round_trip(random.item(), decode_item, seed);
  }
}

TEST(Codec, AppendsToWhatIsThere) {
  std::string out = "before";
  encode(Reply{Done{.affected = 1}}, out);
  EXPECT_EQ(out, "before" + encoded(Reply{Done{.affected = 1}}));
}

TEST(Codec, PlainCommandsAreSmall) {
  const auto nothing = encoded(Entry{.now = {1'760'000'000'000}}).size();
  const auto size = [&](Command command) {
    return encoded(Entry{.now = {1'760'000'000'000}, .commands = {std::move(command)}}).size() -
           nothing;
  };
  const model::JobSpec job{.queue = Blob("q"), .payload = Blob("{}")};
  // Tag, mask of the command, mask of the job; length and bytes of queue and payload.
  EXPECT_EQ(size(Enqueue{.job = job}), 3 + 2 + 3U);
  EXPECT_EQ(size(Claim{.queues = {Blob("q")}}), 2 + 1 + 2U);
  EXPECT_EQ(size(Ack{.ref = {.job = golden::job_id(1), .lease = 9}}), 3 + 16 + 1U);
  EXPECT_EQ(size(Tick{}), 2U);
}

// Every cut and every changed byte: an error or a value, never a crash, and the value is sound.
template <typename T, typename Decode>
void expect_total(const T& value, Decode decode) {
  const auto bytes = encoded(value);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut)
    EXPECT_FALSE(decode(std::string_view(bytes).substr(0, cut)).has_value()) << cut;
  EXPECT_FALSE(decode(bytes + '\0').has_value());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int change : {1, 2, 0x40, 0x80, 0xff}) {
      auto damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      const auto decoded = decode(damaged);
      if (!decoded) continue;
      const auto again = decode(encoded(*decoded));
      ASSERT_TRUE(again.has_value()) << at;
      EXPECT_TRUE(*again == *decoded) << at;
    }
  }
}

TEST(Codec, DamageNeverCrashes) {
  for (const auto& [name, entry] : golden::entries()) {
    if (entry.commands.size() <= 1) expect_total(entry, decode_entry);
  }
  for (const auto& [name, item] : golden::items()) expect_total(item, decode_item);
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    expect_total(RandomCommand(seed).reply(), decode_reply);
}

struct Malformed {
  std::string_view what;
  std::string bytes;
  std::string_view code;
  std::size_t position;
};

std::string bytes_of(std::initializer_list<int> bytes) {
  std::string out;
  for (const int byte : bytes) out.push_back(static_cast<char>(byte));
  return out;
}

// A reply has the shortest frame: version, tag, mask, fields.
TEST(Codec, MalformedReplies) {
  const Malformed cases[] = {
      {"nothing", "", kCorruptReply, 0},
      {"version alone", bytes_of({1}), kCorruptReply, 1},
      {"version 0", bytes_of({0, 7, 0}), kUnknownVersion, 0},
      {"version 2", bytes_of({2, 7, 0}), kUnknownVersion, 0},
      {"unknown tag", bytes_of({1, 200, 0}), kCorruptReply, 1},
      {"unknown field", bytes_of({1, 7, 2, 0}), kCorruptReply, 2},
      {"unknown field far up", bytes_of({1, 7, 0x80, 0x80, 0x80, 0x80, 0x10}), kCorruptReply, 2},
      {"missing field", bytes_of({1, 7, 1}), kCorruptReply, 3},
      {"enum out of range", bytes_of({1, 0, 1, 200}), kCorruptReply, 3},
      {"state out of range", bytes_of({1, 4, 1, 8}), kCorruptReply, 3},
      {"32 bits out of range", bytes_of({1, 4, 4, 0xff, 0xff, 0xff, 0xff, 0x1f}), kCorruptReply, 3},
      {"number too long",
       bytes_of({1, 7, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}), kCorruptReply,
       3},
      {"length beyond the end", bytes_of({1, 0, 2, 5, 'a'}), kCorruptReply, 3},
      {"huge length", bytes_of({1, 0, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}),
       kCorruptReply, 3},
      {"huge count", bytes_of({1, 3, 1, 0xff, 0xff, 0xff, 0xff, 0x7f}), kCorruptReply, 3},
      {"left over", bytes_of({1, 7, 1, 5, 0}), kCorruptReply, 4},
  };
  for (const auto& test : cases) {
    const auto decoded = decode_reply(test.bytes);
    ASSERT_FALSE(decoded.has_value()) << test.what;
    EXPECT_EQ(decoded.error().code, test.code) << test.what;
    EXPECT_EQ(decoded.error().position, test.position) << test.what;
    EXPECT_FALSE(decoded.error().message.empty()) << test.what;
  }
}

TEST(Codec, MalformedEntriesAndItemsHaveTheirOwnCodes) {
  EXPECT_EQ(decode_entry(bytes_of({1, 0})).error().code, kCorruptEntry);
  EXPECT_EQ(decode_item(bytes_of({1, 99})).error().code, kCorruptItem);
  EXPECT_EQ(decode_entry(bytes_of({9})).error().code, kUnknownVersion);
  EXPECT_EQ(decode_item(bytes_of({9})).error().code, kUnknownVersion);
}

// A bit that says "opposite of the default" leaves no room for a boolean that is neither 0 nor 1.
TEST(Codec, BooleansAreTheirBit) {
  const auto plain = entry_of(Move{.job = golden::job_id(1), .queue = Blob("q")});
  const auto set = entry_of(Move{.job = golden::job_id(1),
                                 .queue = Blob("q"),
                                 .reset_attempts = false,
                                 .keep_priority = true});
  EXPECT_EQ(plain.size(), set.size());
}

TEST(Codec, PresentAndEmptyDiffer) {
  const auto none = encoded(Item{model::QueueRecord{.name = Blob("q")}});
  const auto empty =
      encoded(Item{model::QueueRecord{.name = Blob("q"), .last_served_group = Blob()}});
  EXPECT_NE(none, empty);
  const auto decoded = decode_item(empty);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_TRUE(std::get<model::QueueRecord>(*decoded).last_served_group.has_value());
  const auto retry_now = entry_of(Fail{.retry_in = base::Duration{0}});
  EXPECT_NE(retry_now, entry_of(Fail{}));
}

// A megabyte of one-byte jobs would be a third of a gigabyte of empty JobSpecs.
TEST(Codec, ForgedCountsCannotFillTheMemory) {
  std::string forged = encoded(Entry{.commands = {EnqueueMany{}}});
  forged.back() = 1;  // the mask: jobs follow
  constexpr std::size_t kJobs = 1'000'000;
  base::ByteWriter(forged).var(kJobs);
  forged.append(kJobs, '\0');
  const auto decoded = decode_entry(forged);
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code, kCorruptEntry);
}

TEST(Codec, TheLargestRequestDecodes) {
  EnqueueMany many;
  many.jobs.assign(model::limits::kJobsPerRequest, {.queue = Blob("q"), .payload = Blob("1")});
  Entry entry{.commands = {many, many, many}};
  expect_round_trip(entry, decode_entry, 0);
}

}  // namespace
}  // namespace jobbie::command
