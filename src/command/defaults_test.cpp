// The defaults of every struct that is encoded. They are part of the format: a field at its default
// is not written, so a changed default would change what bytes written before mean.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "command/fields.hpp"

namespace jobbie::command {
namespace {

// All fields in order, defaults included; nested structs in braces.
template <typename T>
std::string shown(const T& value);

std::string shown(const base::Blob& value) { return "'" + std::string(value.view()) + "'"; }
std::string shown(const std::string& value) { return "'" + value + "'"; }
std::string shown(base::Instant value) { return std::to_string(value.ms); }
std::string shown(base::Duration value) { return std::to_string(value.ms); }
template <typename Kind>
std::string shown(const base::Id<Kind>& value) {
  return value.is_nil() ? "nil" : value.text();
}
template <typename T>
std::string shown(const std::vector<T>& value) {
  return value.empty() ? "[]" : "[...]";
}
template <typename T>
std::string shown(const std::optional<T>& value) {
  return value ? "some" : "none";
}

template <typename T>
std::string shown(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<int>(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(value);
  } else {
    std::string out = "{";
    for_each_field<T>([&](std::size_t bit, auto field) {
      if (bit > 0) out += ' ';
      if constexpr (requires { value.*field; }) {
        out += shown(value.*field);
      } else {
        out += std::to_string(value.*field.member);
      }
    });
    return out + "}";
  }
}

template <typename Struct>
void expect(std::string_view defaults) {
  EXPECT_EQ(shown(Struct{}), defaults);
}

const std::string kJob =
    "{'' '' 2 3 '' {'' 1 0} '' 0 {3 5000 600000 0} 0 0 0 0 '' {[] [] ''} [] [] 0 0}";
const std::string kSchedule = "{'' '' {'UTC' 0 []} 1 0 " + kJob + "}";
const std::string kScheduleRecord = "{nil " + kSchedule + " 0 0 nil 0}";
const std::string kWorker = "{'' '' '' [] [] [] 0 0 0 0}";
const std::string kDelivery = "{nil nil '' nil '' 0 0 '' 0 0 0 0 '' 0}";
const std::string kSettings = "{0 0 none none none none {604800000 2592000000 2592000000} 0 0}";

TEST(Defaults, Model) {
  expect<model::RetryPolicy>("{3 5000 600000 0}");
  expect<model::UniqueSpec>("{'' 1 0}");
  expect<model::Requirements>("{[] [] ''}");
  expect<model::JobSpec>(kJob);
  expect<model::JobError>("{0 0 0 '' '' '' 0 0}");
  expect<model::JobRecord>(
      "{nil 2 " + kJob + " 0 0 0 0 0 0 0 0 0 0 '' '' 0 0 0 0 nil 0 nil 0 [] '' '' '' '' [] 0 0 0}");
  expect<model::ConcurrencyLimit>("{0 ''}");
  expect<model::Throttle>("{0 0 ''}");
  expect<model::Retention>("{604800000 2592000000 2592000000}");
  expect<model::QueueSettings>(kSettings);
  expect<model::QueueTotals>("{0 0 0 0 0 0 0}");
  expect<model::QueueRecord>("{'' 0 " + kSettings + " {0 0 0 0 0 0 0} none nil}");
  expect<model::TallyRecord>("{'' 5 0 0}");
  expect<model::WindowRecord>("{'' 0 '' []}");
  expect<model::GroupRecord>("{'' 0}");
  expect<model::BatchRecord>("{nil 0 0 0 0 '' '' nil 0}");
  expect<model::ZoneTransition>("{0 0}");
  expect<model::ZoneRules>("{'UTC' 0 []}");
  expect<model::ScheduleSpec>(kSchedule);
  expect<model::ScheduleRecord>(kScheduleRecord);
  expect<model::WorkerSpec>(kWorker);
  expect<model::WorkerRecord>("{" + kWorker + " 0 0 0 nil}");
  expect<model::IdempotencyRecord>("{'' 0 0 '' nil}");
  expect<model::TaskRecord>("{0 0 '' 0 0 0 nil}");
  expect<model::MetaRecord>("{0 1 1 1 1 0 100000 10000 1000000}");
  expect<model::BulkError>("{nil '' ''}");
  expect<model::BulkRecord>("{nil 0 '' 2 '' 0 0 0 0 0 0 [] 0 0 '' nil}");
  expect<model::KeySpec>("{'' 0 [] '' ''}");
  expect<model::KeyRecord>("{nil {'' 0 [] '' ''}}");
  expect<model::WebhookSpec>("{'' 0 '' '' 1}");
  expect<model::WebhookRecord>("{nil {'' 0 '' '' 1} 0 0 0}");
  expect<model::DeliveryRecord>(kDelivery);
}

TEST(Defaults, Commands) {
  expect<Idempotency>("{'' 0 nil}");
  expect<Enqueue>("{" + kJob + " {'' 0 nil}}");
  expect<BatchSpec>("{'' ''}");
  expect<EnqueueMany>("{[] none {'' 0 nil}}");
  expect<Claim>("{[] '' '' 1 0 [] [] 0}");
  expect<LeaseRef>("{nil 0 ''}");
  expect<Ack>("{{nil 0 ''} ''}");
  expect<Fail>("{{nil 0 ''} '' '' 0 none}");
  expect<Beat>("{{nil 0 ''} '' ''}");
  expect<Heartbeat>("{'' []}");
  expect<Cancel>("{nil}");
  expect<Retry>("{nil ''}");
  expect<Requeue>("{nil}");
  expect<Move>("{nil '' 1 0}");
  expect<Delete>("{nil}");
  expect<SetPriority>("{nil 2}");
  expect<QueueCommand>("{'' 0}");
  expect<SetConcurrency>("{'' none ''}");
  expect<SetThrottle>("{'' none 0 ''}");
  expect<SetRetention>("{'' none none none}");
  expect<SetLease>("{'' 0}");
  expect<SetFairness>("{'' 0}");
  expect<GroupCommand>("{'' 0 1}");
  expect<CreateSchedule>("{" + kSchedule + "}");
  expect<UpdateSchedule>("{nil " + kSchedule + " 0}");
  expect<ScheduleCommand>("{nil 0}");
  expect<UpdateZone>("{{'UTC' 0 []}}");
  expect<RegisterWorker>("{" + kWorker + "}");
  expect<RemoveWorker>("{''}");
  expect<Tick>("{}");
  expect<StartBulk>("{0 '' 2 '' 0}");
  expect<BulkStep>("{nil 0 '' 2 [] 0 0 0}");
  expect<EndBulk>("{nil ''}");
  expect<Restrict>("{[] 1 nil}");
  expect<RecordAction>("{'' '' '' '' '' 1}");
  expect<CreateKey>("{{'' 0 [] '' ''} 0}");
  expect<RevokeKey>("{nil}");
  expect<PutWebhook>("{nil {'' 0 '' '' 1} 0}");
  expect<RemoveWebhook>("{nil}");
  expect<TestWebhook>("{nil}");
  expect<RetryDelivery>("{" + kDelivery + "}");
  expect<SettleDelivery>("{nil 0 0 0 ''}");
  expect<Resume>("{0}");
  expect<SetLimits>("{100000 10000 1000000}");
  expect<ForgetQueues>("{[]}");
}

TEST(Defaults, Replies) {
  expect<Refusal>("{0 '' ''}");
  expect<Enqueued>("{nil 2 0}");
  expect<EnqueuedMany>("{[] nil}");
  expect<ClaimedJob>("{nil '' '' '' '' '' '' 2 0 0 0 0 0 0 nil}");
  expect<Claimed>("{[]}");
  expect<Settled>("{5 0 0 0}");
  expect<Beaten>("{[]}");
  expect<JobChanged>("{nil 2}");
  expect<Done>("{0}");
  expect<ScheduleReply>("{" + kScheduleRecord + " [] nil}");
  expect<BulkReply>("{{nil 0 '' 2 '' 0 0 0 0 0 0 [] 0 0 '' nil}}");
  expect<BulkStepped>("{0 0 0 []}");
  expect<KeyReply>("{{nil {'' 0 [] '' ''}}}");
  expect<WebhookReply>("{{nil {'' 0 '' '' 1} 0 0 0}}");
  expect<DeliveryReply>("{" + kDelivery + "}");
}

}  // namespace
}  // namespace jobbie::command
