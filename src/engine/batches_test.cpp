// Batches on their own: what is counted, and when one is done.
#include "engine/batches.hpp"

#include <gtest/gtest.h>

namespace jobbie::engine {
namespace {

base::BatchId id_of(std::uint64_t sequence) {
  return base::BatchId{base::Ulid::make(base::Instant{1'000}, sequence, 7)};
}

model::BatchRecord record_of(std::uint64_t sequence) {
  model::BatchRecord record;
  record.id = id_of(sequence);
  return record;
}

TEST(Batches, IsDoneWhenItsLastMemberEnds) {
  MemoryAccount memory;
  Batches batches(memory);
  batches.open(record_of(5));
  batches.join();
  batches.join();
  batches.count(id_of(5), true);
  batches.close();
  EXPECT_FALSE(batches.any_done());
  batches.count(id_of(5), false);
  ASSERT_TRUE(batches.any_done());
  EXPECT_GT(memory.bytes(), 0U);
  const auto done = batches.take_done();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].total, 2U);
  EXPECT_EQ(done[0].succeeded, 1U);
  EXPECT_EQ(done[0].failed, 1U);
  EXPECT_EQ(memory.bytes(), 0U);
  EXPECT_FALSE(batches.any_done());
}

TEST(Batches, AnOpenOneIsNotDoneThoughAllMembersEnded) {
  MemoryAccount memory;
  Batches batches(memory);
  batches.open(record_of(5));
  batches.join();
  batches.count(id_of(5), true);
  EXPECT_FALSE(batches.any_done());
  batches.close();
  EXPECT_TRUE(batches.any_done());
}

TEST(Batches, DrainsEachChangedOneOnceAndFinishedOnesFirst) {
  MemoryAccount memory;
  Batches batches(memory);
  batches.open(record_of(5));
  batches.join();
  batches.count(id_of(5), true);
  batches.close();
  for (auto& record : batches.take_done()) batches.finished(std::move(record));
  batches.open(record_of(6));
  batches.join();
  batches.close();
  ASSERT_NE(batches.find(id_of(5)), nullptr);
  command::Changes out;
  batches.drain(out);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(std::get<model::BatchRecord>(*command::item_in(out[0])).id, id_of(5));
  EXPECT_EQ(std::get<model::BatchRecord>(*command::item_in(out[1])).id, id_of(6));
  EXPECT_EQ(batches.find(id_of(5)), nullptr);
  out.clear();
  batches.drain(out);
  EXPECT_TRUE(out.empty());
}

TEST(Batches, RefusesToLoadOneTwice) {
  MemoryAccount memory;
  Batches batches(memory);
  EXPECT_TRUE(batches.restore(record_of(5)));
  const auto bytes = memory.bytes();
  EXPECT_FALSE(batches.restore(record_of(5)));
  EXPECT_EQ(memory.bytes(), bytes);
}

}  // namespace
}  // namespace jobbie::engine
