// The checks after an entry that need both the model and the engine.
#include "tests/sim/auditor.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tests/sim/compare.hpp"
#include "tests/sim/describe.hpp"

namespace jobbie::sim {
namespace {

/// Ticks in a row that the engine may ask for when nothing is due by the rule book.
constexpr int kIdleTicks = 20;
constexpr base::Duration kWorkerNews = base::seconds(5);

/// The job that a single ack, fail or beat means.
std::optional<JobId> job_of_call(const Entry& entry) {
  if (entry.commands.size() != 1) return std::nullopt;
  const Command& command = entry.commands.front();
  if (const auto* ack = std::get_if<command::Ack>(&command)) return ack->ref.job;
  if (const auto* fail = std::get_if<command::Fail>(&command)) return fail->ref.job;
  if (const auto* heartbeat = std::get_if<command::Heartbeat>(&command)) {
    if (heartbeat->beats.size() == 1) return heartbeat->beats.front().ref.job;
  }
  return std::nullopt;
}

bool was_refused(const Reply& reply) {
  if (std::holds_alternative<Refusal>(reply)) return true;
  if (const auto* settled = std::get_if<command::Settled>(&reply)) return settled->repeated;
  const auto* beaten = std::get_if<command::Beaten>(&reply);
  return beaten != nullptr && !beaten->jobs.empty() &&
         beaten->jobs.front() >= command::BeatStatus::lost;
}

bool has_tick(const Entry& entry) {
  return std::ranges::any_of(entry.commands, [](const Command& command) {
    return std::holds_alternative<command::Tick>(command);
  });
}

/// Whether a task or a finished batch made the job pending after the claim. A task that touches an
/// active job whose lease has passed ends that lease: it counts only behind the last job started.
bool came_back_after(const engine::Outcome& outcome, JobId id) {
  using command::EventType;
  bool lease_ended = false;
  for (const command::Event& event : outcome.events) {
    if (event.type == EventType::started) lease_ended = false;
    if (event.job != id) continue;
    if (event.type == EventType::retried || event.type == EventType::promoted ||
        event.type == EventType::enqueued)
      return true;
    if (event.type == EventType::lease_expired) lease_ended = true;
  }
  return lease_ended;
}

}  // namespace

/// Where the record stands, in the engine's memory or in the store, is of no matter.
std::optional<JobRecord> Auditor::look_up(JobId id, const engine::Engine& engine) const {
  if (auto job = engine.job(id)) return job;
  const JobRecord* ended = store_.ended(id);
  return ended != nullptr ? std::optional(*ended) : std::nullopt;
}

void Auditor::before(const Entry& entry, const engine::Engine& engine) {
  idle_ = entry.commands.size() == 1 && model_.tasks().empty() &&
          engine.is_idle_claim(entry.commands.front(), engine.now() - kWorkerNews);
  if (idle_)
    idle_worker_ = engine.worker(std::get<command::Claim>(entry.commands[0]).worker.view());
  witness_id_ = job_of_call(entry);
  if (!witness_id_) return;
  const JobRecord* job = model_.find(*witness_id_);
  const auto due = job != nullptr ? deadlines_of(*job).earliest() : std::nullopt;
  // Tasks and passed deadlines may change the job whatever the call says.
  if (!model_.tasks().empty() || (due && due->at <= std::max(model_.now(), entry.now))) {
    witness_id_.reset();
    return;
  }
  witness_ = {look_up(*witness_id_, engine), engine.queues()};
}

std::string Auditor::after(const Entry& entry, const std::vector<Reply>& expected,
                           const engine::Outcome& outcome, const engine::Engine& engine) {
  if (history_only_) return ledger_.read(entry, outcome, engine);
  if (auto text = compare_replies(entry, expected, outcome); !text.empty()) return text;
  if (auto text = compare_touched(model_, engine, store_); !text.empty()) return text;
  if (auto text = compare_queues(model_, engine); !text.empty()) return text;
  if (auto text = check_witness(outcome, engine); !text.empty()) return text;
  if (auto text = ledger_.read(entry, outcome, engine); !text.empty()) return text;
  if (auto text = check_idle(entry, outcome, engine); !text.empty()) return text;
  if (auto text = check_deadline(entry, engine); !text.empty()) return text;
  if (auto text = check_order(entry, outcome); !text.empty()) return text;
  return check_ready(entry, outcome, engine);
}

std::string Auditor::full(const engine::Engine& engine, bool drained) {
  if (!history_only_) {
    if (auto text = compare_everything(model_, engine, store_, drained); !text.empty()) return text;
  }
  if (auto text = check_shape(engine); !text.empty()) return text;
  if (auto text = ledger_.check_all(engine); !text.empty()) return text;
  if (auto text = engine.audit(); !text.empty()) return "engine.audit(): " + text;
  return drained ? store_.difference(engine) : std::string{};
}

std::string Auditor::compare_replies(const Entry& entry, const std::vector<Reply>& expected,
                                     const engine::Outcome& outcome) {
  if (expected.size() != outcome.replies.size())
    return fmt::format("{} replies for {} commands", outcome.replies.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!same(expected[i], outcome.replies[i]))
      return fmt::format("command {}: {}\n    expected {}\n    got      {}", i,
                         show(entry.commands[i]), show(expected[i]), show(outcome.replies[i]));
  }
  return {};
}

/// I8: a refused or repeated call changes nothing.
std::string Auditor::check_witness(const engine::Outcome& outcome, const engine::Engine& engine) {
  if (!witness_id_ || !was_refused(outcome.replies.front())) return {};
  if (look_up(*witness_id_, engine) != witness_.job)
    return fmt::format("a refused call changed {} (I8)", show(*witness_id_));
  if (engine.queues() != witness_.queues) return "a refused call changed a queue (I8)";
  return {};
}

/// A claim that a waiting worker need not make finds nothing, tells nothing, and brings no news of
/// the worker but the time.
std::string Auditor::check_idle(const Entry& entry, const engine::Outcome& outcome,
                                const engine::Engine& engine) {
  if (!idle_) return {};
  ++coverage_.idle_claims;
  const auto* claimed = std::get_if<command::Claimed>(&outcome.replies.front());
  if (claimed == nullptr || !claimed->jobs.empty() || !outcome.events.empty())
    return "a claim told as idle did something";
  auto worker = engine.worker(std::get<command::Claim>(entry.commands[0]).worker.view());
  if (worker && idle_worker_) worker->last_seen = idle_worker_->last_seen;
  return worker == idle_worker_ ? "" : "a claim told as idle changed its worker";
}

/// A tick is asked for no later than something is due; and once all is done, not at once again.
std::string Auditor::check_deadline(const Entry& entry, const engine::Engine& engine) {
  const Instant latest = model_.next_deadline();
  const Instant asked = engine.next_deadline();
  if (asked > std::max(latest, model_.now()))
    return fmt::format("next deadline is {}, the engine asks for {}", latest.ms, asked.ms);
  const bool ticked =
      !entry.commands.empty() && std::holds_alternative<command::Tick>(entry.commands.back());
  if (!ticked) return {};
  // A few keys and workers may be left to forget, a bounded number a tick; but that must come to an
  // end.
  idle_ticks_ = latest > model_.now() && asked <= model_.now() ? idle_ticks_ + 1 : 0;
  if (idle_ticks_ > kIdleTicks)
    return fmt::format("nothing is due until {}, yet after a tick the engine asks for {} at {}",
                       latest.ms, asked.ms, model_.now().ms);
  return {};
}

/// I21, where it can be read off directly: one plain queue, by priority, without keyed limits.
std::string Auditor::check_order(const Entry& entry, const engine::Outcome& outcome) const {
  if (entry.commands.size() != 1) return {};
  const auto* claim = std::get_if<command::Claim>(&entry.commands.front());
  const auto* claimed = std::get_if<command::Claimed>(&outcome.replies.front());
  if (claim == nullptr || claimed == nullptr || claimed->jobs.empty()) return {};
  const Blob& name = claimed->jobs.front().queue;
  const auto& settings = model_.queues().at(std::string(name.view())).record.settings;
  if (claim->queues.size() != 1 || claim->queues.front() != name || settings.concurrency_per ||
      settings.throttle_per || settings.fairness != model::Fairness::priority)
    return {};
  std::pair<std::int32_t, Seq> last{INT32_MIN, 0};
  for (const auto& job : claimed->jobs) {
    const std::pair<std::int32_t, Seq> place{job.priority, job.job.sequence()};
    if (place < last) return fmt::format("{} claimed out of order (I21)", show(job.job));
    last = place;
  }
  for (const auto& [seq, job] : model_.live()) {
    if (job.state == State::pending && job.spec.queue == name && job.spec.requires_.none() &&
        !model_.paused_groups().contains(std::string(job.spec.group.view())) &&
        std::pair(job.spec.priority, seq) < last && !came_back_after(outcome, job.id))
      return fmt::format("#{} was passed over (I21)", seq);
  }
  return {};
}

/// What became claimable must be told, or a waiting worker would sleep on. Where a throttle opens
/// by time alone, the next tick tells it.
std::string Auditor::check_ready(const Entry& entry, const engine::Outcome& outcome,
                                 const engine::Engine& engine) {
  const bool ticked = has_tick(entry);
  Instant opens = base::kNever;
  std::set<Seq> claimable;
  for (const auto& [seq, job] : model_.live()) {
    const Instant at = model_.claimable_at(job);
    if (at > model_.now()) {
      opens = std::min(opens, at);
      continue;
    }
    const auto& queue = job.spec.queue;
    const bool told = std::ranges::find(outcome.ready, queue) != outcome.ready.end();
    if (told || known_claimable_.contains(seq)) {
      claimable.insert(seq);
      coverage_.ready_hints += known_claimable_.contains(seq) ? 0U : 1U;
      continue;
    }
    const auto& settings = model_.queues().at(std::string(queue.view())).record.settings;
    if (!ticked && (settings.throttle || settings.throttle_per)) continue;
    return fmt::format("#{} became claimable, but '{}' is not told as ready", seq, queue.view());
  }
  known_claimable_ = std::move(claimable);
  if (engine.next_deadline() > opens)
    return fmt::format("a throttle opens at {}, the engine asks for a tick at {}", opens.ms,
                       engine.next_deadline().ms);
  return {};
}

}  // namespace jobbie::sim
