// Messages come back as they were, and nothing that is cut or changed is taken for one.
#include "cluster/messages.hpp"

#include <gtest/gtest.h>

#include "call/desk.hpp"

namespace jobbie::cluster {
namespace {

class Nowhere final : public call::Inbox {
 public:
  void deliver(std::vector<std::unique_ptr<call::Call>> /*calls*/) override {}
};

command::Enqueue job(std::string_view queue) {
  command::Enqueue enqueue;
  enqueue.job.queue = base::Blob(queue);
  enqueue.job.payload = base::Blob(R"({"a":1})");
  return enqueue;
}

TEST(Messages, AForwardedCallKeepsItsCommandsItsKeyAndItsNote) {
  Nowhere inbox;
  call::PlainCall call(inbox);
  call.commands = {job("q"), job("r")};
  call::Grant grant;
  grant.digest = "digest";
  call.grant = std::make_shared<const call::Grant>(grant);
  call.audit = command::RecordAction{.name = base::Blob("me")};
  const auto bytes = encode_forward(7, call, base::seconds(3));
  const auto back = decode_forward(bytes);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->number, 7U);
  EXPECT_EQ(back->wait, base::seconds(3));
  EXPECT_EQ(back->key_digest, "digest");
  EXPECT_EQ(back->commands, call.commands);
  EXPECT_EQ(back->audit, call.audit);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    EXPECT_FALSE(decode_forward(std::string_view(bytes).substr(0, i))) << i;
}

TEST(Messages, RepliesAndTroubleComeBack) {
  Nowhere inbox;
  call::PlainCall call(inbox);
  call.replies = {command::Done{.affected = 3}, command::Claimed{}};
  call.trouble = call::Trouble::disk_full;
  const auto bytes = encode_reply(9, 100, call);
  const auto back = decode_reply(bytes);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->number, 9U);
  EXPECT_EQ(back->index, 100U);
  EXPECT_EQ(back->trouble, call::Trouble::disk_full);
  EXPECT_EQ(back->replies, call.replies);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    EXPECT_FALSE(decode_reply(std::string_view(bytes).substr(0, i))) << i;
}

TEST(Messages, MembersWelcomesAndChanges) {
  const log::Member member{.id = 5, .name = "n", .address = "h:1", .http = "h:2", .voter = false};
  EXPECT_EQ(*decode_member(encode_member(member)), member);
  log::Member voter = member;
  voter.voter = true;
  const Welcome welcome{.index = 12, .configuration = {.cluster_id = 3, .members = {voter}}};
  const auto back = decode_welcome(encode(welcome));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->index, 12U);
  EXPECT_EQ(back->configuration, welcome.configuration);
  const auto change =
      decode_manage(encode_manage(4, {.action = call::ClusterAction::remove, .target = "n"}));
  ASSERT_TRUE(change);
  EXPECT_EQ(change->first, 4U);
  EXPECT_EQ(change->second.action, call::ClusterAction::remove);
  EXPECT_EQ(change->second.target, "n");
  const auto managed = decode_managed(encode(Managed{6, {"code", "message"}}));
  ASSERT_TRUE(managed);
  EXPECT_EQ(managed->number, 6U);
  EXPECT_EQ(managed->answer.code, "code");
  EXPECT_EQ(*decode_number(encode_number(1'000'000)), 1'000'000U);
}

TEST(Messages, RubbishIsRefused) {
  for (const std::string bytes : {"", "\x02", "\x01", "rubbish that is long enough for anything"}) {
    EXPECT_FALSE(decode_forward(bytes));
    EXPECT_FALSE(decode_reply(bytes));
    EXPECT_FALSE(decode_member(bytes));
    EXPECT_FALSE(decode_welcome(bytes));
    EXPECT_FALSE(decode_manage(bytes));
    EXPECT_FALSE(decode_managed(bytes));
  }
}

}  // namespace
}  // namespace jobbie::cluster
