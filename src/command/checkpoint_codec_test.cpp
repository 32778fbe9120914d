// Checkpoints: round trips in chunks of every size, and damage of every kind.
#include "command/checkpoint_codec.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "command/codec.hpp"
#include "tests/support/random_command.hpp"

namespace jobbie::command {
namespace {

using testing::RandomCommand;

std::vector<Item> random_items(std::uint64_t seed, std::size_t count) {
  RandomCommand random(seed);
  std::vector<Item> items;
  for (std::size_t i = 0; i < count; ++i) items.push_back(random.item());
  return items;
}

std::string write(const std::vector<Item>& items) {
  std::string out;
  CheckpointWriter writer([&](std::string_view piece) { out += piece; });
  for (const Item& item : items) writer.add(item);
  writer.finish();
  return out;
}

struct Read {
  base::Result<void> result;
  std::vector<Item> items;
};

Read read(std::string_view bytes, std::size_t chunk) {
  Read read;
  CheckpointReader reader([&](Item item) {
    read.items.push_back(std::move(item));
    return base::Result<void>{};
  });
  for (std::size_t at = 0; at < bytes.size(); at += chunk) {
    read.result = reader.feed(bytes.substr(at, chunk));
    if (!read.result) return read;
  }
  read.result = reader.finish();
  return read;
}

TEST(Checkpoint, ComesBackInChunksOfAnySize) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto items = random_items(seed, seed % 7 * 10);
    const auto bytes = write(items);
    for (const std::size_t chunk : {1UL, 2UL, 3UL, 7UL, 64UL, 4096UL, bytes.size()}) {
      const auto got = read(bytes, chunk);
      ASSERT_TRUE(got.result.has_value()) << "seed " << seed << ": " << got.result.error().message;
      EXPECT_TRUE(got.items == items) << "seed " << seed << ", chunk " << chunk;
    }
  }
}

TEST(Checkpoint, FlushesAsItGoes) {
  std::size_t pieces = 0;
  CheckpointWriter writer([&](std::string_view) { ++pieces; });
  model::JobRecord job;
  job.spec.payload = base::Blob(std::string(100'000, 'x'));
  for (int i = 0; i < 9; ++i) writer.add(job);
  EXPECT_EQ(pieces, 3U);
  writer.finish();
  EXPECT_EQ(pieces, 4U);
}

TEST(Checkpoint, AnEmptyOneHasHeaderAndTrailer) {
  const auto bytes = write({});
  EXPECT_EQ(bytes.size(), 12 + 16U);
  EXPECT_TRUE(read(bytes, 5).result.has_value());
}

TEST(Checkpoint, EveryCutIsNoticed) {
  const auto bytes = write(random_items(5, 8));
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const auto got = read(std::string_view(bytes).substr(0, cut), 16);
    ASSERT_FALSE(got.result.has_value()) << cut;
    EXPECT_EQ(got.result.error().code, kTruncatedCheckpoint) << cut;
  }
}

TEST(Checkpoint, EveryFlippedBitIsNoticed) {
  const auto bytes = write(random_items(6, 6));
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(read(damaged, 4096).result.has_value()) << bit;
  }
}

TEST(Checkpoint, BytesAfterTheTrailerAreNoticed) {
  auto bytes = write(random_items(7, 3));
  bytes += '\0';
  EXPECT_EQ(read(bytes, bytes.size()).result.error().code, kCorruptCheckpoint);
  EXPECT_EQ(read(bytes, 1).result.error().code, kCorruptCheckpoint);
}

std::string frame(const std::string& bytes, std::size_t index) {
  std::size_t at = kCheckpointMagic.size() + 4;
  for (;; --index) {
    const auto size = base::ByteReader(std::string_view(bytes).substr(at, 4)).u32() + 8;
    if (index == 0) return bytes.substr(at, size);
    at += size;
  }
}

// Each frame is sound in itself; only the checksum over all of them can tell.
TEST(Checkpoint, FramesThatChangedPlacesAreNoticed) {
  const auto bytes = write({Item{model::GroupRecord{.name = base::Blob("a"), .paused = true}},
                            Item{model::GroupRecord{.name = base::Blob("b"), .paused = true}}});
  const auto first = frame(bytes, 0);
  const auto second = frame(bytes, 1);
  auto swapped = bytes;
  swapped.replace(12, first.size() + second.size(), second + first);
  EXPECT_EQ(read(swapped, 64).result.error().code, kCorruptCheckpoint);
  auto doubled = bytes;
  doubled.replace(12, first.size() + second.size(), first + first);
  EXPECT_EQ(read(doubled, 64).result.error().code, kCorruptCheckpoint);
  auto dropped = bytes;
  dropped.erase(12, first.size());
  EXPECT_EQ(read(dropped, 64).result.error().code, kCorruptCheckpoint);
}

TEST(Checkpoint, WrongMagicVersionAndLength) {
  auto bytes = write({});
  auto other = bytes;
  other[0] = 'j';
  EXPECT_EQ(read(other, 64).result.error().code, kCorruptCheckpoint);
  other = bytes;
  other[8] = 2;
  EXPECT_EQ(read(other, 64).result.error().code, kUnknownVersion);
  other = bytes.substr(0, 12);
  base::ByteWriter(other).u32((64U << 20) + 1);
  EXPECT_EQ(read(other, 64).result.error().code, kCorruptCheckpoint);
}

TEST(Checkpoint, AFaultStays) {
  const auto bytes = write(random_items(8, 3));
  CheckpointReader reader([](Item) { return base::Result<void>{}; });
  EXPECT_FALSE(reader.feed("not a checkpoint").has_value());
  EXPECT_FALSE(reader.feed(bytes).has_value());
  EXPECT_EQ(reader.finish().error().code, kCorruptCheckpoint);
}

TEST(Checkpoint, TheReceiverMayRefuse) {
  const auto bytes = write(random_items(9, 3));
  CheckpointReader reader([](Item) -> base::Result<void> {
    return std::unexpected(base::Error{.code = "contradiction", .message = "No."});
  });
  EXPECT_EQ(reader.feed(bytes).error().code, "contradiction");
  EXPECT_EQ(reader.items(), 1U);
}

}  // namespace
}  // namespace jobbie::command
