// Loading: an engine from items, with every contradiction refused.
#include <algorithm>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "command/codec.hpp"
#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

base::Error contradiction(std::string message) {
  return {.code = "corrupt_checkpoint", .message = std::move(message)};
}

}  // namespace

/// Items wait here until all are in: a job needs its queue, a lane the queue's limits. Jobs do not
/// wait once they are all that is still to come.
struct Loader::Pending {
  Pending(EndedJobs& ended, const Options& options)
      : core(std::make_unique<Core>(ended, options)) {}

  std::unique_ptr<Core> core;
  bool has_meta = false;
  bool only_jobs_follow = false;
  std::vector<model::JobRecord> jobs;
  std::vector<Slot> slots;  ///< of jobs that are in the engine and in no list yet
  std::vector<model::TallyRecord> tallies;
  std::vector<model::WindowRecord> windows;
  std::vector<model::TaskRecord> tasks;
  std::vector<model::DeliveryRecord> deliveries;
  /// Windows with claims that no longer count: the store shall forget them, because a longer period
  /// that is set later would make them count again.
  std::vector<std::tuple<std::string, bool, std::string>> lapsed;

  base::Result<void> take(model::MetaRecord record);
  base::Result<void> take(model::QueueRecord record);
  base::Result<void> take(model::GroupRecord record);
  base::Result<void> take(model::BatchRecord record);
  base::Result<void> take(model::ScheduleRecord record);
  base::Result<void> take(model::WorkerRecord record);
  base::Result<void> take(model::IdempotencyRecord record);
  base::Result<void> take(model::KeyRecord record);
  base::Result<void> take(model::WebhookRecord record);
  base::Result<void> take(model::DeliveryRecord record) {
    return keep(deliveries, std::move(record));
  }
  base::Result<void> take(model::JobRecord record);
  base::Result<void> take(model::BulkRecord record);
  base::Result<void> take(model::TallyRecord record) { return keep(tallies, std::move(record)); }
  base::Result<void> take(model::WindowRecord record) { return keep(windows, std::move(record)); }
  base::Result<void> take(model::TaskRecord record) { return keep(tasks, std::move(record)); }

  template <typename T>
  static base::Result<void> keep(std::vector<T>& all, T record) {
    all.push_back(std::move(record));
    return {};
  }

  base::Result<void> place_tallies();
  base::Result<void> place_windows();
  base::Result<void> place_tasks();
  base::Result<void> place_deliveries();
  base::Result<void> place_all_but_jobs();
  base::Result<void> place_job(const model::JobRecord& record);
  base::Result<void> link_jobs();
  [[nodiscard]] std::string fault_in(const model::JobRecord& record) const;
  void link_groups();
};

base::Result<void> Loader::Pending::take(model::MetaRecord record) {
  if (has_meta) return std::unexpected(contradiction("two meta records"));
  has_meta = true;
  core->meta = record;
  return {};
}

base::Result<void> Loader::Pending::take(model::QueueRecord record) {
  if (record.name.empty() || core->find_queue(record.name.view()) != 0)
    return std::unexpected(contradiction("a queue occurs twice or has no name"));
  Queue& queue = *core->queues[core->make_queue(record.name)];
  queue.created_at = record.created_at;
  queue.settings = std::move(record.settings);
  queue.totals = record.totals;
  queue.last_served_group = std::move(record.last_served_group);
  core->set_owner(queue, record.owner);
  return {};
}

base::Result<void> Loader::Pending::take(model::GroupRecord record) {
  if (record.name.empty()) return std::unexpected(contradiction("a group has no name"));
  core->groups[core->make_group(record.name)]->paused = record.paused;
  return {};
}

base::Result<void> Loader::Pending::take(model::BatchRecord record) {
  core->expect_jobs_in(record.callback_queue);
  if (record.pending == 0 || !core->batches.restore(std::move(record)))
    return std::unexpected(contradiction("a batch occurs twice or is finished"));
  return {};
}

base::Result<void> Loader::Pending::take(model::ScheduleRecord record) {
  auto cron = model::CronExpr::parse(record.spec.cron.view());
  if (!cron) return std::unexpected(contradiction("schedule: " + cron.error().message));
  if (auto valid = record.spec.zone.validate(); !valid)
    return std::unexpected(contradiction("schedule: " + valid.error().message));
  core->expect_jobs_in(record.spec.job.queue);
  if (!core->schedules.restore(std::move(record), *std::move(cron)))
    return std::unexpected(contradiction("a schedule occurs twice"));
  return {};
}

base::Result<void> Loader::Pending::take(model::WorkerRecord record) {
  if (record.spec.id.empty() || core->workers.find(record.spec.id.view()) != nullptr)
    return std::unexpected(contradiction("a worker occurs twice or has no id"));
  core->workers.restore(std::move(record));
  return {};
}

base::Result<void> Loader::Pending::take(model::IdempotencyRecord record) {
  if (!command::decode_reply(record.reply.view()))
    return std::unexpected(contradiction("an idempotency key has an unreadable reply"));
  if (!core->idempotency.restore(std::move(record)))
    return std::unexpected(contradiction("an idempotency key occurs twice"));
  return {};
}

base::Result<void> Loader::Pending::take(model::BulkRecord record) {
  const auto sequence = record.id.sequence();
  if (sequence == 0 || !core->bulks.emplace(sequence, std::move(record)).second)
    return std::unexpected(contradiction("a bulk operation occurs twice or has no number"));
  return {};
}

base::Result<void> Loader::Pending::take(model::KeyRecord record) {
  if (!core->api_keys.restore(std::move(record)))
    return std::unexpected(contradiction("a key occurs twice"));
  return {};
}

base::Result<void> Loader::Pending::take(model::WebhookRecord record) {
  const auto sequence = record.id.sequence();
  if (!core->webhooks.emplace(sequence, std::move(record)).second)
    return std::unexpected(contradiction("a webhook occurs twice"));
  core->note_webhooks();
  return {};
}

base::Result<void> Loader::Pending::place_deliveries() {
  for (auto& record : deliveries) {
    if (core->find_webhook(record.webhook) == nullptr ||
        core->outbox.contains(record.id.sequence()) ||
        record.state != model::DeliveryState::pending)
      return std::unexpected(
          contradiction("a delivery occurs twice, has ended, or names no webhook"));
    core->place_delivery(std::move(record));
  }
  return {};
}

base::Result<void> Loader::Pending::place_tallies() {
  for (const auto& record : tallies) {
    const Slot slot = core->find_queue(record.queue.view());
    if (slot == 0 || !model::has_ended(record.state))
      return std::unexpected(contradiction("a tally names no queue or a live state"));
    Queue& queue = *core->queues[slot];
    queue.tallies[ended_index(record.state)][record.minute].count = record.count;
    queue.counts[static_cast<std::size_t>(record.state)] += record.count;
    core->plan_sweep(queue, record.state);
  }
  return {};
}

base::Result<void> Loader::Pending::place_windows() {
  for (const auto& record : windows) {
    const Slot slot = core->find_queue(record.queue.view());
    if (slot == 0) return std::unexpected(contradiction("a window names no queue"));
    Queue& queue = *core->queues[slot];
    const auto& throttle = record.keyed ? queue.settings.throttle_per : queue.settings.throttle;
    if (record.keyed && record.key.empty())
      return std::unexpected(contradiction("a window without a key"));
    // Claims that no longer count may linger where the record was written down.
    const auto counts = [&](const auto& claims) {
      return throttle && claims.first > core->meta.now - throttle->period;
    };
    if (!std::all_of(record.claims.begin(), record.claims.end(), counts))
      lapsed.emplace_back(record.queue.view(), record.keyed, record.key.view());
    if (record.claims.empty() || !counts(record.claims.back())) continue;
    Slot limiter = 0;
    if (record.keyed) {
      limiter = core->join_limiter(queue, true, std::string(record.key.view()));
      --core->limiters[limiter].members;
    }
    Window& window = record.keyed ? core->limiters[limiter].window : queue.window;
    Instant last{};
    for (const auto& [at, claims] : record.claims) {
      if (claims == 0 || (at <= last && last != Instant{}))
        return std::unexpected(contradiction("a window is out of order"));
      last = at;
      if (at > core->meta.now - throttle->period) window.restore(at, claims);
    }
    const bool full = window.total() >= throttle->rate;
    if (record.keyed) core->limiters[limiter].full = full;
    if (full || record.keyed)
      core->schedule_wake(window.frees_at(throttle->period), queue, limiter);
  }
  return {};
}

base::Result<void> Loader::Pending::place_tasks() {
  std::sort(tasks.begin(), tasks.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  for (auto& task : tasks) {
    const bool of_queue = task.kind <= model::TaskKind::relane_queue;
    const Slot slot = of_queue ? core->find_queue(task.subject.view()) : 0;
    if (of_queue && slot == 0) return std::unexpected(contradiction("a task names no queue"));
    if (of_queue) {
      Queue& queue = *core->queues[slot];
      ++queue.tasks;
      if (task.kind == model::TaskKind::clear_queue) queue.clear_bound = task.bound;
      if (task.kind == model::TaskKind::delete_queue) queue.destroy_bound = task.bound;
    }
    core->tasks.push_back(std::move(task));
  }
  return {};
}

std::string Loader::Pending::fault_in(const model::JobRecord& record) const {
  const auto sequence = record.id.sequence();
  if (sequence == 0 || sequence >= core->meta.next_sequence) return "its number was never given";
  if (core->index.find(sequence) != 0) return "it occurs twice";
  if (core->find_queue(record.spec.queue.view()) == 0) return "its queue does not exist";
  if (model::has_ended(record.state)) return "it has ended";
  if (record.lease >= core->meta.next_lease) return "its lease was never given";
  if (record.state == State::active && record.lease_expires_at == Instant{})
    return "it has no lease";
  if ((record.state == State::waiting) == record.waiting_on.empty()) return "it waits for nothing";
  if (record.holds_unique && record.spec.unique.key.empty()) return "it holds no key";
  if (record.arrival >= core->meta.next_arrival) return "its arrival was never given";
  return {};
}

base::Result<void> Loader::Pending::take(model::JobRecord record) {
  return only_jobs_follow ? place_job(record) : keep(jobs, std::move(record));
}

base::Result<void> Loader::Pending::place_all_but_jobs() {
  only_jobs_follow = true;
  if (!has_meta) return std::unexpected(contradiction("there is no meta record"));
  if (auto done = place_tallies(); !done) return done;
  if (auto done = place_windows(); !done) return done;
  if (auto done = place_deliveries(); !done) return done;
  return place_tasks();
}

base::Result<void> Loader::Pending::place_job(const model::JobRecord& record) {
  if (const auto fault = fault_in(record); !fault.empty())
    return std::unexpected(contradiction(fmt::format("job {}: {}", record.id.text(), fault)));
  const Slot slot = core->adopt(record);
  Job& job = core->jobs[slot];
  Queue& queue = core->queue_of(job);
  job.stored = true;
  ++core->live;
  ++queue.counts[static_cast<std::size_t>(job.state)];
  if (!record.spec.group.empty()) core->enrol_in_group(slot);
  core->assign_keys(slot);
  if (record.holds_unique) {
    if (core->locks.find(job.queue, job.unique->spec.key.view()) != 0)
      return std::unexpected(contradiction("two jobs hold one unique key"));
    core->locks.restore(slot, queue, record.unique_until);
  }
  for (const JobId dependency : record.waiting_on) core->wait_for(slot, dependency);
  core->weigh_parts(job);
  if (job.state == State::active) {
    core->count_active(slot, true);
    core->workers.begin_holding(job, nullptr);
  }
  core->rearm(slot);
  slots.push_back(slot);
  return {};
}

/// Puts the jobs into the lists that have an order: those of their queues and groups by arrival,
/// lanes by sequence, where each joins the end. They come in that order or nearly so.
base::Result<void> Loader::Pending::link_jobs() {
  const auto sort_by = [this](auto key) {
    const auto less = [&](Slot a, Slot b) { return key(core->jobs[a]) < key(core->jobs[b]); };
    if (!std::is_sorted(slots.begin(), slots.end(), less))
      std::sort(slots.begin(), slots.end(), less);
  };
  sort_by([](const Job& job) { return job.arrival; });
  const auto same = [this](Slot a, Slot b) {
    return core->jobs[a].arrival == core->jobs[b].arrival;
  };
  if (std::adjacent_find(slots.begin(), slots.end(), same) != slots.end())
    return std::unexpected(contradiction("two jobs arrived at once"));
  for (const Slot slot : slots) core->link_to_queue(slot);
  sort_by([](const Job& job) { return job.sequence(); });
  for (const Slot slot : slots)
    if (core->jobs[slot].state == State::pending) core->enter_lane(slot);
  link_groups();
  return {};
}

void Loader::Pending::link_groups() {
  std::erase_if(slots, [&](Slot slot) { return core->jobs[slot].group_slot() == 0; });
  std::sort(slots.begin(), slots.end(), [&](Slot a, Slot b) {
    return core->jobs[a].placement->group_arrival < core->jobs[b].placement->group_arrival;
  });
  for (const Slot slot : slots) core->link_to_group(slot);
}

Loader::Loader(EndedJobs& ended, const Options& options)
    : pending_(std::make_unique<Pending>(ended, options)) {}
Loader::~Loader() = default;

base::Result<void> Loader::add(command::Item item) {
  if (pending_->only_jobs_follow && !std::holds_alternative<model::JobRecord>(item))
    return std::unexpected(contradiction("something else follows the jobs"));
  return std::visit([&](auto& record) { return pending_->take(std::move(record)); }, item);
}

base::Result<void> Loader::only_jobs_follow() { return pending_->place_all_but_jobs(); }

base::Result<Engine> Loader::finish() {
  Pending& pending = *pending_;
  if (!pending.only_jobs_follow) {
    if (auto done = only_jobs_follow(); !done) return std::unexpected(std::move(done).error());
  }
  for (const auto& record : pending.jobs)
    if (auto done = pending.place_job(record); !done)
      return std::unexpected(std::move(done).error());
  if (auto done = pending.link_jobs(); !done) return std::unexpected(std::move(done).error());
  Core& core = *pending.core;
  core.wake_throttled_queues();
  core.forget_changes();
  core.changed_windows.insert(pending.lapsed.begin(), pending.lapsed.end());
  Engine engine(core.ended_port, core.options);
  engine.core_ = std::move(pending.core);
  return engine;
}

}  // namespace jobbie::engine
