// Every route with every set of scopes, with keys for all queues, for those that are asked for and
// for others. The walk follows the table of routes, so a new row is walked without an edit here;
// one that needs a body to be asked for at all gets it in kDetails, and until then the walk fails.
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <gtest/gtest.h>

#include "call/gate.hpp"
#include "face/native/bulk.hpp"
#include "face/native/native_test_support.hpp"
#include "face/native/routes.hpp"
#include "face/native/watch.hpp"
#include "face/secret.hpp"

namespace jobbie::face {
namespace {

using base::Blob;
using model::Scope;
using native::Reach;
using native::Route;

constexpr std::uint32_t kScopeSets = 1U << model::kScopeNames.size();

/// Which queues a key is for, beside the one that every request here names: `mail.a`.
enum class KeyFor : std::uint8_t { all, these, others };
constexpr std::array kKeysFor = {KeyFor::all, KeyFor::these, KeyFor::others};
constexpr std::array<std::string_view, 3> kKeyQueues = {"*", "mail.*", "other.*"};

/// What a request at a route has beside its path.
struct Details {
  std::string_view query;
  std::string_view body;
};
const std::map<std::string_view, Details> kDetails = {
    {"POST /api/v1/enqueue", {{}, R"({"queue":"mail.a"})"}},
    {"POST /api/v1/enqueue/batch", {{}, R"({"jobs":[{"queue":"mail.a"}]})"}},
    {"POST /api/v1/fetch", {{}, R"({"queues":["mail.a"]})"}},
    {"POST /api/v1/ack", {{}, R"({"jobs":[{"job_id":"job_01JZ0000000000000000000001"}]})"}},
    {"POST /api/v1/fail", {{}, R"({"jobs":[{"job_id":"job_01JZ0000000000000000000001"}]})"}},
    {"POST /api/v1/heartbeat", {{}, R"({"jobs":{"job_01JZ0000000000000000000001":{}}})"}},
    {"POST /api/v1/jobs/{id}/logs", {{}, R"({"lines":[{"message":"a"}]})"}},
    {"POST /api/v1/jobs/{id}/move", {{}, R"({"queue":"mail.a"})"}},
    {"POST /api/v1/jobs/{id}/priority", {{}, R"({"priority":"high"})"}},
    {"POST /api/v1/jobs/search", {{}, R"({"queue":"mail.a"})"}},
    {"POST /api/v1/jobs/bulk", {{}, R"({"filter":{"queue":"mail.a"},"action":"retry"})"}},
    {"GET /api/v1/jobs", {"queue=mail.a", {}}},
    {"DELETE /api/v1/queues/{queue}", {"confirm=true", {}}},
    {"GET /api/v1/dead", {"queue=mail.a", {}}},
    {"GET /api/v1/stats", {"queue=mail.a", {}}},
    {"GET /api/v1/errors", {"queue=mail.a", {}}},
    {"POST /api/v1/queues/{queue}/concurrency", {{}, R"({"max":3})"}},
    {"POST /api/v1/queues/{queue}/throttle", {{}, R"({"rate":3,"period":"1m"})"}},
    {"POST /api/v1/queues/{queue}/retention", {{}, R"({"dead":"2d"})"}},
    {"POST /api/v1/queues/{queue}/lease", {{}, R"({"duration":30})"}},
    {"POST /api/v1/queues/{queue}/fairness", {{}, R"({"fairness":"group"})"}},
    {"POST /api/v1/schedules", {{}, R"({"name":"s","queue":"mail.a","cron":"* * * * *"})"}},
    {"PUT /api/v1/schedules/{id}", {{}, R"({"name":"s","queue":"mail.a","cron":"* * * * *"})"}},
    {"PATCH /api/v1/schedules/{id}", {{}, R"({"queue":"mail.a"})"}},
    {"POST /api/v1/schedules/preview", {{}, R"({"cron":"* * * * *"})"}},
    {"POST /api/v1/workers", {{}, R"({"worker_id":"w"})"}},
    {"POST /api/v1/cluster/nodes", {{}, R"({"address":"h:1"})"}},
    {"POST /api/v1/keys", {{}, R"({"name":"k","scopes":["work"],"queues":["*"]})"}},
    {"POST /api/v1/webhooks", {{}, R"({"url":"http://h/"})"}},
    {"PUT /api/v1/webhooks/{id}", {{}, R"({"url":"http://h/"})"}},
};

/// What stands for a variable part, by the part before it.
const std::map<std::string_view, std::string_view> kNames = {
    {"ack", "job_01JZ0000000000000000000001"},
    {"fail", "job_01JZ0000000000000000000001"},
    {"jobs", "job_01JZ0000000000000000000001"},
    {"batches", "batch_01JZ0000000000000000000001"},
    {"schedules", "sched_01JZ0000000000000000000001"},
    {"bulk", "bulk_01JZ0000000000000000000001"},
    {"keys", "key_01JZ0000000000000000000001"},
    {"webhooks", "hook_01JZ0000000000000000000001"},
    {"deliveries", "dlv_01JZ0000000000000000000001"},
    {"errors", "0123456789abcdef"},
    {"queues", "mail.a"},
};

std::string name_of(const Route& route) {
  return std::string(http::method_name(route.method)) + " " + std::string(route.pattern);
}

std::string path_of(const Route& route) {
  std::string path;
  std::string_view before;
  std::string_view left = route.pattern.substr(1);
  while (true) {
    const auto part = left.substr(0, left.find('/'));
    const auto name = kNames.find(before);
    const auto filled = name != kNames.end() ? name->second : std::string_view("x1");
    path.append("/").append(part.starts_with('{') ? filled : part);
    if (part.size() == left.size()) return path;
    before = part;
    left.remove_prefix(part.size() + 1);
  }
}

std::string secret_of(std::uint32_t scopes, KeyFor queues) {
  return "jbk_" + std::to_string(scopes) + "_" + std::to_string(static_cast<int>(queues));
}

/// A service with every key of the walk.
class WalkedService final : public call::Service {
 public:
  WalkedService() {
    std::vector<model::KeyRecord> keys;
    for (std::uint32_t scopes = 0; scopes < kScopeSets; ++scopes) {
      for (const auto queues : kKeysFor) {
        const Blob pattern(kKeyQueues.at(static_cast<std::size_t>(queues)));
        model::KeyRecord key{.id = {base::Ulid::make({1}, keys.size() + 1, 1)},
                             .spec = {.name = Blob("k"), .scopes = scopes, .queues = {pattern}}};
        keep_secret(secret_of(scopes, queues), key.spec);
        keys.push_back(std::move(key));
      }
    }
    board.publish(std::make_shared<const call::KeyRing>(keys));
  }
  void submit(std::unique_ptr<call::Call> /*call*/) override {}
  [[nodiscard]] bool ready() const override { return true; }
  [[nodiscard]] const call::KeyBoard* keys() override { return &board; }
  call::KeyBoard board;
};

/// What the face did with a request.
struct Seen {
  Prepared prepared;
  [[nodiscard]] int status() const { return went_on() ? 0 : prepared.answer.status; }
  /// To the node, or to a stream.
  [[nodiscard]] bool went_on() const {
    return prepared.exchange || prepared.watch || prepared.follow || prepared.progress;
  }
  [[nodiscard]] bool accepted() const { return went_on() || prepared.answer.status == 200; }
  /// Null: it was answered at once, or refused.
  [[nodiscard]] const call::Principal* principal() const {
    if (prepared.exchange) return &prepared.exchange->principal;
    if (prepared.watch) return &prepared.watch->principal;
    if (prepared.follow) return &prepared.follow->principal;
    return prepared.progress ? &prepared.progress->principal : nullptr;
  }
};

class GateWalk : public ::testing::Test {
 protected:
  Seen ask(const Route& route, const std::string& secret) {
    const auto found = kDetails.find(name_of(route));
    const auto [query, body] = found != kDetails.end() ? found->second : Details{};
    const auto path = path_of(route);
    const auto bearer = "Bearer " + secret;
    const http::Header header{.name = "authorization", .value = bearer};
    const http::Request request{.method = route.method,
                                .method_text = http::method_name(route.method),
                                .target = path,
                                .path = path,
                                .query = query,
                                .body = body,
                                .headers = {&header, secret.empty() ? 0U : 1U},
                                .remote = "10.1.2.3:4567"};
    return {face_.prepare(request, inbox_)};
  }
  Seen ask(const Route& route, std::uint32_t scopes, KeyFor queues) {
    return ask(route, secret_of(scopes, queues));
  }

  WalkedService service_;
  NoInbox inbox_;
  Native face_{service_, {.require_keys = true}};
};

TEST_F(GateWalk, EveryRouteCanBeAskedFor) {
  for (const auto& route : native::routes()) {
    const auto seen = ask(route, model::kAllScopes, KeyFor::all);
    EXPECT_EQ(seen.prepared.route, &route) << name_of(route);
    EXPECT_TRUE(seen.accepted()) << "kDetails lacks what " << name_of(route)
                                 << " needs: " << seen.prepared.answer.body;
  }
}

TEST_F(GateWalk, NobodyWithoutAKeyGetsIn) {
  for (const auto& route : native::routes()) {
    const bool open = route.action.access.is_open();
    for (const auto* secret : {"", "jbk_nobodys"}) {
      const auto seen = ask(route, secret);
      EXPECT_EQ(seen.status(), open ? 200 : 401) << name_of(route);
    }
  }
}

/// What is open to all is a decision of its own, and a short list.
TEST_F(GateWalk, FewRoutesAreOpen) {
  std::vector<std::string> open;
  for (const auto& route : native::routes())
    if (route.action.access.is_open()) open.push_back(name_of(route));
  EXPECT_EQ(open, (std::vector<std::string>{"GET /healthz", "GET /readyz", "GET /"}));
}

/// Commands and questions are classified by the gate, routes by their rows: one of the two alone
/// cannot be wrong unseen.
TEST_F(GateWalk, ARouteAsksForWhatItsCallAsksFor) {
  for (const auto& route : native::routes()) {
    const auto seen = ask(route, model::kAllScopes, KeyFor::all);
    if (!seen.prepared.exchange) continue;
    const auto& call = *seen.prepared.exchange;
    if (call.commands.empty())
      EXPECT_EQ(call::access_of(call.query), route.action.access) << name_of(route);
    for (const auto& command : call.commands)
      EXPECT_EQ(call::access_of(command), route.action.access) << name_of(route);
  }
}

TEST_F(GateWalk, ScopesDecide) {
  for (const auto& route : native::routes()) {
    const auto& access = route.action.access;
    for (std::uint32_t scopes = 0; scopes < kScopeSets; ++scopes) {
      const auto has = [&](Scope scope) { return (scopes & model::scope_bit(scope)) != 0; };
      const bool leaves = route.handler == native::worker_remove && has(Scope::work);
      const bool expected =
          !access.asks_for_scope() || has(access.main_scope()) || has(Scope::admin) || leaves;
      const auto seen = ask(route, scopes, KeyFor::all);
      EXPECT_EQ(seen.accepted(), expected) << name_of(route) << " with scopes " << scopes;
      if (!expected) EXPECT_EQ(seen.status(), 403) << name_of(route);
    }
  }
}

TEST_F(GateWalk, AKeyForSomeQueuesGetsWhatTheRowSays) {
  for (const auto& route : native::routes()) {
    for (const auto queues : {KeyFor::these, KeyFor::others}) {
      const auto seen = ask(route, model::kAllScopes, queues);
      const bool refused =
          route.reach == Reach::across || (route.reach == Reach::named && queues == KeyFor::others);
      SCOPED_TRACE(name_of(route) + (queues == KeyFor::these ? " these" : " others"));
      EXPECT_EQ(seen.accepted(), !refused) << seen.prepared.answer.body;
      if (refused) EXPECT_EQ(seen.status(), 403);
      // Whoever judges later can: the grant goes with it.
      const bool judged_later = route.reach == Reach::engine || route.reach == Reach::answer ||
                                route.reach == Reach::narrowed;
      if (!judged_later) continue;
      ASSERT_NE(seen.principal(), nullptr);
      EXPECT_TRUE(call::is_restricted(*seen.principal()));
    }
  }
}

/// The set of scopes does not widen the queues, nor the queues the scopes.
TEST_F(GateWalk, ScopesAndQueuesAreBothAskedFor) {
  for (const auto& route : native::routes()) {
    for (std::uint32_t scopes = 0; scopes < kScopeSets; ++scopes) {
      for (const auto queues : {KeyFor::these, KeyFor::others}) {
        const bool expected = ask(route, scopes, KeyFor::all).accepted() &&
                              ask(route, model::kAllScopes, queues).accepted();
        EXPECT_EQ(ask(route, scopes, queues).accepted(), expected)
            << name_of(route) << " with scopes " << scopes;
      }
    }
  }
}

/// An answer of the node about something in `queue`.
struct FoundIn {
  Blob queue;
  call::Answer operator()(const call::JobQuery& /*q*/) const {
    model::JobRecord job;
    job.spec.queue = queue;
    return std::optional(job);
  }
  call::Answer operator()(const call::BatchQuery& /*q*/) const {
    model::BatchRecord batch;
    batch.callback_queue = queue;
    return std::optional(batch);
  }
  call::Answer operator()(const call::WhyQuery& /*q*/) const {
    return call::Why{.found = true, .state = {}, .reasons = {}, .queue = queue};
  }
  call::Answer operator()(const call::LogsQuery& /*q*/) const {
    return call::JobLog{.found = true, .state = {}, .page = {}, .queue = queue};
  }
  call::Answer operator()(const call::SchedulesQuery& /*q*/) const {
    call::SchedulePage page;
    page.rows.resize(1);
    page.rows[0].spec.cron = Blob("* * * * *");
    page.rows[0].spec.job.queue = queue;
    return page;
  }
  template <typename Other>
  call::Answer operator()(const Other& /*q*/) const {
    ADD_FAILURE() << "say what the node answers to this";
    return {};
  }
};

TEST_F(GateWalk, WhatIsFoundInAnotherQueueIsNotThere) {
  for (const auto& route : native::routes()) {
    if (route.reach != Reach::answer) continue;
    for (const auto queues : kKeysFor) {
      auto seen = ask(route, model::kAllScopes, queues);
      ASSERT_TRUE(seen.prepared.exchange) << name_of(route);
      auto& exchange = *seen.prepared.exchange;
      exchange.answer = std::visit(FoundIn{Blob("mail.a")}, exchange.query);
      Answer out;
      exchange.write_answer(out);
      EXPECT_EQ(out.status, queues == KeyFor::others ? 404 : 200) << name_of(route) << out.body;
    }
  }
}

TEST_F(GateWalk, WhatIsManagedIsAudited) {
  for (const auto& route : native::routes()) {
    const auto seen = ask(route, model::kAllScopes, KeyFor::all);
    if (!seen.prepared.exchange) {
      EXPECT_TRUE(route.action.audit.empty()) << name_of(route);
      continue;
    }
    const auto& audit = seen.prepared.exchange->audit;
    ASSERT_EQ(audit.has_value(), !route.action.audit.empty()) << name_of(route);
    if (audit) EXPECT_TRUE(audit->action.view().starts_with(route.action.audit)) << name_of(route);
  }
}

TEST_F(GateWalk, AWorkerThatLeavesManagesNothing) {
  for (const auto& route : native::routes()) {
    if (route.handler != native::worker_remove) continue;
    const auto leaving = ask(route, model::scope_bit(Scope::work), KeyFor::all);
    ASSERT_TRUE(leaving.prepared.exchange);
    EXPECT_FALSE(leaving.prepared.exchange->audit);
    const auto removing = ask(route, model::scope_bit(Scope::manage), KeyFor::all);
    ASSERT_TRUE(removing.prepared.exchange);
    EXPECT_TRUE(removing.prepared.exchange->audit);
  }
}

TEST_F(GateWalk, EveryRouteIsThereOnceWithAHandler) {
  std::map<std::string, int> times;
  for (const auto& route : native::routes()) {
    EXPECT_EQ(++times[name_of(route)], 1) << name_of(route);
    EXPECT_NE(route.handler, nullptr) << name_of(route);
  }
}

}  // namespace
}  // namespace jobbie::face
