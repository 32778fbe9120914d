// Idempotency keys on their own: replaced, expired in order, drained once.
#include "engine/idempotency.hpp"

#include <gtest/gtest.h>

namespace jobbie::engine {
namespace {

model::IdempotencyRecord record_of(std::string_view key, std::int64_t expires_ms) {
  model::IdempotencyRecord record;
  record.key = Blob(key);
  record.expires_at = Instant{expires_ms};
  return record;
}

TEST(Idempotency, ALaterRecordTakesTheEarlierOnesPlace) {
  Idempotency idempotency(1);
  ChangeLog changes;
  idempotency.remember(record_of("a", 10), changes);
  const auto digest = idempotency.digest();
  EXPECT_EQ(changes.take_removals().size(), 0U);
  idempotency.remember(record_of("a", 20), changes);
  EXPECT_EQ(changes.take_removals().size(), 1U);
  EXPECT_EQ(idempotency.size(), 1U);
  EXPECT_NE(idempotency.digest(), digest);
  EXPECT_EQ(idempotency.next_expiry(), Instant{20});
  EXPECT_TRUE(idempotency.is_intact());
}

TEST(Idempotency, ExpiresTheEarliestUpToTheBudget) {
  Idempotency idempotency(1);
  ChangeLog changes;
  for (const auto& [key, at] : {std::pair("c", 30), {"a", 10}, {"b", 20}})
    idempotency.remember(record_of(key, at), changes);
  idempotency.expire(Instant{25}, 1, changes);
  EXPECT_EQ(idempotency.find({{}, "a"}), nullptr);
  EXPECT_EQ(idempotency.size(), 2U);
  idempotency.expire(Instant{25}, 9, changes);
  EXPECT_EQ(idempotency.size(), 1U);
  EXPECT_NE(idempotency.find({{}, "c"}), nullptr);
  idempotency.expire(Instant{30}, 9, changes);
  EXPECT_EQ(idempotency.digest(), 0U);
  EXPECT_EQ(idempotency.next_expiry(), base::kNever);
}

TEST(Idempotency, OnlyWhatIsNewIsDrained) {
  Idempotency idempotency(1);
  ChangeLog changes;
  EXPECT_TRUE(idempotency.restore(record_of("loaded", 10)));
  EXPECT_FALSE(idempotency.restore(record_of("loaded", 20)));
  idempotency.remember(record_of("new", 10), changes);
  command::Changes out;
  idempotency.drain(out);
  EXPECT_EQ(out.size(), 1U);
  idempotency.drain(out);
  EXPECT_EQ(out.size(), 1U);
}

}  // namespace
}  // namespace jobbie::engine
