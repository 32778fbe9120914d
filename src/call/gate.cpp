// The judgement of calls.
//
// Every kind of command and of question is named here: a new one that is not does not compile.
#include "call/gate.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include "base/digest.hpp"
#include "model/limits.hpp"
#include "model/schedule_fields.hpp"

namespace jobbie::call {
namespace {

using model::Scope;

/// Longer ones are nobody's secret, and need not be hashed.
constexpr std::size_t kMaxSecretBytes = 256;

template <typename T, typename... Ts>
concept OneOf = (std::same_as<T, Ts> || ...);

// What kinds of commands there are for the gate.

template <typename T>
concept Producing = OneOf<T, command::Enqueue, command::EnqueueMany>;
template <typename T>
concept Working = OneOf<T, command::Claim, command::Ack, command::Fail, command::Heartbeat,
                        command::AppendLogs, command::RegisterWorker>;
template <typename T>
concept Managing =
    OneOf<T, command::Cancel, command::Retry, command::Requeue, command::Move, command::Delete,
          command::SetPriority, command::QueueCommand, command::SetConcurrency,
          command::SetThrottle, command::SetRetention, command::SetLease, command::SetFairness,
          command::GroupCommand, command::CreateSchedule, command::UpdateSchedule,
          command::ScheduleCommand, command::EndBulk>;
template <typename T>
concept Administering = OneOf<T, command::CreateKey, command::RevokeKey, command::PutWebhook,
                              command::RemoveWebhook, command::TestWebhook, command::RetryDelivery>;
/// Only the node makes these.
template <typename T>
concept OfTheNode =
    OneOf<T, command::UpdateZone, command::Tick, command::StartBulk, command::BulkStep,
          command::Restrict, command::RecordAction, command::SettleDelivery, command::Resume,
          command::SetLimits, command::ForgetQueues>;

/// It names one queue as `queue`.
template <typename T>
concept NamesOneQueue =
    OneOf<T, command::Move, command::QueueCommand, command::SetConcurrency, command::SetThrottle,
          command::SetRetention, command::SetLease, command::SetFairness>;
/// It names a job, a schedule, a worker or a bulk operation alone. A worker's queues are for people
/// to read.
template <typename T>
concept JudgedByEngine =
    OneOf<T, command::Ack, command::Fail, command::Heartbeat, command::AppendLogs, command::Cancel,
          command::Retry, command::Requeue, command::Delete, command::SetPriority,
          command::ScheduleCommand, command::RegisterWorker, command::RemoveWorker,
          command::EndBulk>;
template <typename T>
concept ReachesAcrossQueues = OfTheNode<T> || Administering<T> || OneOf<T, command::GroupCommand>;

/// Whether a restricted key is for all the queues that a command names.
class CommandCheck {
 public:
  explicit CommandCheck(const Grant& grant) : grant_(grant) {}

  bool operator()(const command::Enqueue& c) const { return allows(c.job.queue); }
  bool operator()(const command::EnqueueMany& c) const {
    if (c.batch && c.batch->callback_queue && !allows(c.batch->callback_queue)) return false;
    return std::all_of(c.jobs.begin(), c.jobs.end(),
                       [&](const model::JobSpec& job) { return allows(job.queue); });
  }
  bool operator()(const command::Claim& c) const {
    return std::all_of(c.queues.begin(), c.queues.end(),
                       [&](const base::Blob& pattern) { return grant_.covers(pattern.view()); });
  }
  bool operator()(const command::CreateSchedule& c) const { return allows(c.spec.job.queue); }
  bool operator()(const command::UpdateSchedule& c) const {
    const bool names_queue =
        c.fields == 0 || (c.fields & model::bit_of(model::ScheduleField::queue)) != 0;
    return !names_queue || allows(c.spec.job.queue);
  }
  bool operator()(const NamesOneQueue auto& c) const { return allows(c.queue); }
  bool operator()(const JudgedByEngine auto& /*c*/) const { return true; }
  bool operator()(const ReachesAcrossQueues auto& /*c*/) const { return false; }

 private:
  [[nodiscard]] bool allows(const base::Blob& queue) const { return grant_.allows(queue.view()); }

  const Grant& grant_;
};

// The same for questions.

/// About one thing, which is judged when the answer is written.
template <typename T>
concept JudgedByAnswer = OneOf<T, JobQuery, BatchQuery, WhyQuery, LogsQuery>;
/// Lists of which a restricted key gets its part, and the one thing that they may be asked for.
template <typename T>
concept Narrowed = OneOf<T, WorkersQuery, SchedulesQuery, BulksQuery>;
/// Nothing, and figures of the node itself: for every key.
template <typename T>
concept OfNoQueue = OneOf<T, std::monostate, StatusQuery, MetricsQuery>;
template <typename T>
concept AsksAcrossQueues =
    OneOf<T, GroupsQuery, BatchesQuery, SliceQuery, OutboxQuery, KeysQuery, AuditQuery,
          WebhooksQuery, DeliveriesQuery, BackupQuery, ClusterChange>;

class QueryCheck {
 public:
  explicit QueryCheck(const Grant& grant) : grant_(grant) {}

  /// A page is narrowed, one queue is named.
  bool operator()(const QueuesQuery& q) const { return q.only.empty() || grant_.allows(q.only); }
  bool operator()(const StatsQuery& q) const { return names_one(q.queue); }
  bool operator()(const ErrorsQuery& q) const { return names_one(q.queue); }
  /// A search must name queues that the key is for; a bulk operation too, and so none by ids.
  bool operator()(const SearchQuery& q) const { return covers(q.request.filter); }
  bool operator()(const BulkQuery& q) const {
    return q.jobs.empty() && covers(q.filter) && (q.queue.empty() || grant_.allows(q.queue.view()));
  }
  bool operator()(const JudgedByAnswer auto& /*q*/) const { return true; }
  bool operator()(const Narrowed auto& /*q*/) const { return true; }
  bool operator()(const OfNoQueue auto& /*q*/) const { return true; }
  bool operator()(const AsksAcrossQueues auto& /*q*/) const { return false; }

 private:
  [[nodiscard]] bool covers(const search::Filter& filter) const {
    return !filter.queue.empty() && grant_.covers(filter.queue);
  }
  [[nodiscard]] bool names_one(const base::Blob& queue) const {
    return !queue.empty() && grant_.allows(queue.view());
  }

  const Grant& grant_;
};

template <typename T>
inline constexpr bool kIsClassified = false;

template <typename T>
consteval Access access_of_command() {
  if constexpr (Producing<T>)
    return Access::scope(Scope::produce);
  else if constexpr (Working<T>)
    return Access::scope(Scope::work);
  else if constexpr (Managing<T>)
    return Access::scope(Scope::manage);
  else if constexpr (std::same_as<T, command::RemoveWorker>)
    // A worker that leaves says so with the key that it works with.
    return Access::scope_or(Scope::manage, Scope::work);
  else if constexpr (Administering<T>)
    return Access::scope(Scope::admin);
  else if constexpr (OfTheNode<T>)
    return Access::node_only();
  else
    static_assert(kIsClassified<T>, "say who may give this command");
}

template <typename T>
consteval Access access_of_query() {
  if constexpr (OneOf<T, BulkQuery>)
    return Access::scope(Scope::manage);
  else if constexpr (OneOf<T, KeysQuery, AuditQuery, WebhooksQuery, DeliveriesQuery, BackupQuery,
                           ClusterChange>)
    return Access::scope(Scope::admin);
  else if constexpr (OneOf<T, SliceQuery, OutboxQuery>)
    return Access::node_only();
  else if constexpr (JudgedByAnswer<T> || Narrowed<T> || OfNoQueue<T> ||
                     OneOf<T, QueuesQuery, StatsQuery, ErrorsQuery, SearchQuery, GroupsQuery,
                           BatchesQuery>)
    return Access::any_key();
  else
    static_assert(kIsClassified<T>, "say who may ask this");
}

template <typename... Ts>
consteval std::array<Access, sizeof...(Ts)> accesses(
    const std::variant<Ts...>* /*commands*/) requires
    std::same_as<std::variant<Ts...>, command::Command> {
  return {access_of_command<Ts>()...};
}
template <typename... Ts>
consteval std::array<Access, sizeof...(Ts)> accesses(
    const std::variant<Ts...>* /*queries*/) requires std::same_as<std::variant<Ts...>, Query> {
  return {access_of_query<Ts>()...};
}
/// By the index of the alternative.
constexpr auto kCommandAccess = accesses(static_cast<const command::Command*>(nullptr));
constexpr auto kQueryAccess = accesses(static_cast<const Query*>(nullptr));

Denial lacks(const Access& access) { return {Denied::no_scope, access.main_scope()}; }

std::optional<Denial> judge(const Grant& grant, const Call& call) {
  if (const Access& access = kQueryAccess[call.query.index()]; !access.opens_to(grant))
    return lacks(access);
  for (const auto& command : call.commands)
    if (const Access& access = kCommandAccess[command.index()]; !access.opens_to(grant))
      return lacks(access);
  if (grant.all_queues) return std::nullopt;
  const bool allowed =
      std::visit(QueryCheck(grant), call.query) &&
      std::all_of(call.commands.begin(), call.commands.end(), [&](const command::Command& command) {
        return std::visit(CommandCheck(grant), command);
      });
  if (allowed) return std::nullopt;
  return Denial{.why = Denied::no_queue};
}

/// What a call that names something in its body is about.
std::string_view name_in(const Call& call) {
  if (const auto* bulk = std::get_if<BulkQuery>(&call.query))
    return bulk->filter_text.empty() ? "jobs by id" : bulk->filter_text.view();
  if (call.commands.empty()) return {};
  const auto& command = call.commands.front();
  if (const auto* schedule = std::get_if<command::CreateSchedule>(&command))
    return schedule->spec.name.view();
  if (const auto* key = std::get_if<command::CreateKey>(&command)) return key->key.name.view();
  if (const auto* hook = std::get_if<command::PutWebhook>(&command)) return hook->spec.url.view();
  return {};
}

command::RecordAction describe(const Principal& principal, std::string_view action,
                               const Circumstances& circumstances, const Call& call) {
  const auto bounded = [](std::string_view text) {
    return base::Blob(text.substr(0, model::limits::kAuditText));
  };
  const Grant* grant = principal.grant.get();
  std::string name(action);
  if (const auto* bulk = std::get_if<BulkQuery>(&call.query))
    name.append(".").append(name_of(bulk->action));
  const auto target = circumstances.target.empty() ? name_in(call) : circumstances.target;
  return {.key = grant == nullptr ? base::Blob() : base::Blob(grant->key.text()),
          .name = bounded(grant == nullptr ? "anonymous" : std::string_view(grant->name)),
          .address = bounded(circumstances.address),
          .action = bounded(name),
          .target = bounded(target),
          .commands = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(call.commands.size()))};
}

}  // namespace

Access access_of(const command::Command& command) { return kCommandAccess[command.index()]; }
Access access_of(const Query& query) { return kQueryAccess[query.index()]; }

std::expected<Principal, Denial> Gate::enter(const Access& access, const Credentials& shown,
                                             KeyView& view) const {
  if (!require_keys_ || access.is_open()) return Principal::anonymous(shown.client);
  if (!shown.secret) return std::unexpected(Denial{.why = Denied::no_key});
  const bool plausible = !shown.secret->empty() && shown.secret->size() <= kMaxSecretBytes;
  auto grant = plausible && board_ != nullptr
                   ? view.of(*board_).find(base::bytes_of(base::sha256(*shown.secret)))
                   : nullptr;
  if (grant == nullptr) return std::unexpected(Denial{.why = Denied::unknown_key});
  if (!access.opens_to(*grant)) return std::unexpected(lacks(access));
  return Principal::holder_of(std::move(grant));
}

std::optional<Denial> Gate::authorise(const Principal& principal, const Action& action,
                                      const Circumstances& circumstances, Call& call) {
  const Grant* grant = principal.grant.get();
  if (grant != nullptr)
    if (const auto denial = judge(*grant, call)) return denial;
  if (!action.audit.empty() && is_change(call)) {
    // Who is let in by the other scope alone does not manage anything.
    const auto main = Access::scope(action.access.main_scope());
    if (grant == nullptr || main.opens_to(*grant))
      call.audit = describe(principal, action.audit, circumstances, call);
  }
  call.principal = principal;
  return std::nullopt;
}

std::optional<Denial> Gate::authorise_watch(const Principal& principal, std::string_view queues) {
  if (!principal.grant || queues.empty() || principal.grant->covers(queues)) return std::nullopt;
  return Denial{.why = Denied::no_queue};
}

bool is_change(const Call& call) {
  if (const auto* bulk = std::get_if<BulkQuery>(&call.query)) return !bulk->dry_run;
  return !call.commands.empty() || std::holds_alternative<ClusterChange>(call.query);
}

void hide_foreign_queues(const Principal& principal, std::vector<base::Blob>& patterns) {
  if (!principal.grant) return;
  std::erase_if(patterns,
                [&](const base::Blob& pattern) { return !principal.grant->meets(pattern.view()); });
}

bool may_see_all(const Principal& principal, const std::vector<base::Blob>& patterns) {
  return !principal.grant ||
         std::all_of(patterns.begin(), patterns.end(), [&](const base::Blob& pattern) {
           return principal.grant->covers(pattern.view());
         });
}

bool is_still_valid(const Principal& principal, const KeyRing& ring) {
  return !principal.grant || ring.holds(*principal.grant);
}

bool is_still_valid(const Principal& principal, const KeyBoard* board) {
  return !principal.grant || board == nullptr || board->current()->holds(*principal.grant);
}

Permissions permissions_of(const Principal& principal) {
  if (!principal.grant) return {.scopes = model::kAllScopes, .queues = {base::Blob("*")}};
  const Grant& grant = *principal.grant;
  return {.scopes = grant.has(Scope::admin) ? model::kAllScopes : grant.scopes,
          .queues = grant.queues};
}

}  // namespace jobbie::call
