// Keys and restrictions on their own.
#include "engine/restriction.hpp"

#include <gtest/gtest.h>

#include "engine/keys.hpp"

namespace jobbie::engine {
namespace {

base::KeyId id_of(std::uint64_t sequence) {
  return base::KeyId{base::Ulid::make(base::Instant{1'000}, sequence, 7)};
}

model::KeyRecord key_of(std::uint64_t sequence, std::string_view name, model::Scope scope) {
  model::KeyRecord key;
  key.id = id_of(sequence);
  key.spec.name = base::Blob(name);
  key.spec.scopes = model::scope_bit(scope);
  return key;
}

TEST(Restriction, HoldsForAsManyCommandsAsItSays) {
  command::Restrict c;
  c.key = id_of(1);
  c.queues = {base::Blob("mail.*")};
  c.commands = 1;
  Restriction restriction;
  EXPECT_TRUE(restriction.key().is_nil());
  restriction.begin(c);
  restriction.command_done();
  ASSERT_TRUE(restriction.is_active());
  EXPECT_EQ(restriction.key(), id_of(1));
  EXPECT_TRUE(restriction.allows("mail.bulk"));
  EXPECT_FALSE(restriction.allows("img"));
  restriction.command_done();
  EXPECT_FALSE(restriction.is_active());
  EXPECT_TRUE(restriction.key().is_nil());
}

TEST(Restriction, CoversAWorkerOnlyWithAllItsQueues) {
  command::Restrict c;
  c.queues = {base::Blob("mail.*")};
  Restriction restriction;
  restriction.begin(c);
  model::WorkerSpec worker;
  worker.queues = {base::Blob("mail.bulk")};
  EXPECT_TRUE(restriction.covers(worker));
  worker.queues.emplace_back("img");
  EXPECT_FALSE(restriction.covers(worker));
}

TEST(KeyRecords, TheLastAdminIsKnown) {
  Keys keys;
  ChangeLog changes;
  keys.add(key_of(1, "root", model::Scope::admin));
  EXPECT_TRUE(keys.is_last_admin(*keys.find_named("root")));
  keys.add(key_of(2, "second", model::Scope::admin));
  EXPECT_FALSE(keys.is_last_admin(*keys.find_named("root")));
  const auto revision = keys.revision();
  keys.remove(id_of(2), changes);
  EXPECT_GT(keys.revision(), revision);
  EXPECT_EQ(keys.find(id_of(2)), nullptr);
  EXPECT_TRUE(keys.is_last_admin(*keys.find_named("root")));
  command::Changes out;
  keys.drain(out);
  EXPECT_EQ(out.size(), 1U);  // the removed one is told of as a removal
  EXPECT_EQ(changes.take_removals().size(), 1U);
}

}  // namespace
}  // namespace jobbie::engine
