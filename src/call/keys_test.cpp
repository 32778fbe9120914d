// Grants of keys: found by secret, with what they allow.
#include "call/keys.hpp"

#include <gtest/gtest.h>

#include "base/digest.hpp"

namespace jobbie::call {
namespace {

using base::Blob;
using model::Scope;

model::KeyRecord key(std::uint64_t sequence, std::string_view secret, std::uint32_t scopes,
                     std::vector<Blob> queues) {
  return {.id = {base::Ulid::make({1'000}, sequence, 7)},
          .spec = {.name = Blob("k"),
                   .scopes = scopes,
                   .queues = std::move(queues),
                   .digest = Blob(base::bytes_of(base::sha256(secret))),
                   .last_four = Blob("0000")}};
}

std::string digest(std::string_view secret) {
  return std::string(base::bytes_of(base::sha256(secret)));
}

TEST(Keys, AreFoundBySecret) {
  const KeyRing ring(
      {key(1, "jbk_a", model::scope_bit(Scope::produce), {Blob("*")}),
       key(2, "jbk_b", model::scope_bit(Scope::work), {Blob("mail.*"), Blob("sms")})});
  const auto a = ring.find(digest("jbk_a"));
  const auto b = ring.find(digest("jbk_b"));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->key.sequence(), 1U);
  EXPECT_EQ(b->key.sequence(), 2U);
  EXPECT_EQ(ring.find(digest("jbk_c")), nullptr);
  EXPECT_EQ(ring.find(""), nullptr);
  EXPECT_TRUE(a->has(Scope::produce));
  EXPECT_FALSE(a->has(Scope::work));
  EXPECT_TRUE(a->all_queues);
  EXPECT_TRUE(b->allows("mail.welcome"));
  EXPECT_TRUE(b->allows("sms"));
  EXPECT_FALSE(b->allows("sms2"));
  EXPECT_TRUE(b->covers("mail.*"));
  EXPECT_TRUE(b->covers("mail.a?"));
  EXPECT_FALSE(b->covers("mail*"));
  EXPECT_FALSE(b->covers("*"));
  EXPECT_TRUE(b->meets("*"));
  EXPECT_TRUE(b->meets("sm?"));
  EXPECT_FALSE(b->meets("billing.*"));
  EXPECT_FALSE(b->meets("sms2"));
}

TEST(Keys, AdminStandsForAll) {
  const KeyRing ring({key(1, "jbk_a", model::scope_bit(Scope::admin), {Blob("*")})});
  for (const auto scope : {Scope::produce, Scope::work, Scope::manage, Scope::admin})
    EXPECT_TRUE(ring.find(digest("jbk_a"))->has(scope));
}

TEST(Keys, AViewFollowsTheBoard) {
  KeyBoard board;
  KeyView view;
  EXPECT_EQ(view.of(board).find(digest("jbk_a")), nullptr);
  board.publish(std::make_shared<const KeyRing>(
      std::vector{key(1, "jbk_a", model::kAllScopes, {Blob("*")})}));
  const auto grant = view.of(board).find(digest("jbk_a"));
  ASSERT_NE(grant, nullptr);
  EXPECT_TRUE(view.of(board).holds(*grant));
  // The same secret under another id is another key.
  board.publish(std::make_shared<const KeyRing>(
      std::vector{key(9, "jbk_a", model::kAllScopes, {Blob("*")})}));
  EXPECT_FALSE(view.of(board).holds(*grant));
  EXPECT_TRUE(grant->has(Scope::admin));  // who holds it may go on
}

}  // namespace
}  // namespace jobbie::call
