// The full comparison: the engine's dump, item by item, against the model.
#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

#include "tests/sim/compare.hpp"
#include "tests/sim/describe.hpp"

namespace jobbie::sim {
namespace {

/// The dump, taken apart.
struct Dump {
  model::MetaRecord meta;
  std::map<Seq, JobRecord> jobs;
  std::vector<model::TallyRecord> tallies;
  std::vector<model::WindowRecord> windows;
  std::vector<model::GroupRecord> groups;
  std::vector<model::ScheduleRecord> schedules;
  std::vector<model::WorkerRecord> workers;
  std::map<ScopedKey, model::IdempotencyRecord> idempotency;
  std::map<std::uint64_t, model::TaskRecord> tasks;
  std::map<Seq, model::BatchRecord> batches;
  std::map<Seq, model::BulkRecord> bulks;
  std::map<Seq, model::KeyRecord> keys;
  std::map<Seq, model::WebhookRecord> webhooks;
  std::map<Seq, model::DeliveryRecord> outbox;

  void operator()(const model::MetaRecord& r) { meta = r; }
  void operator()(const model::QueueRecord&) {}  // compared through the views
  void operator()(const model::TallyRecord& r) { tallies.push_back(r); }
  void operator()(const model::WindowRecord& r) { windows.push_back(r); }
  void operator()(const model::GroupRecord& r) { groups.push_back(r); }
  void operator()(const JobRecord& r) { jobs.emplace(r.id.sequence(), r); }
  void operator()(const model::BatchRecord& r) { batches.emplace(r.id.sequence(), r); }
  void operator()(const model::ScheduleRecord& r) { schedules.push_back(r); }
  void operator()(const model::WorkerRecord& r) { workers.push_back(r); }
  void operator()(const model::IdempotencyRecord& r) {
    idempotency.emplace(ScopedKey{r.scope, r.key.view()}, r);
  }
  void operator()(const model::TaskRecord& r) { tasks.emplace(r.number, r); }
  void operator()(const model::BulkRecord& r) { bulks.emplace(r.id.sequence(), r); }
  void operator()(const model::KeyRecord& r) { keys.emplace(r.id.sequence(), r); }
  void operator()(const model::WebhookRecord& r) { webhooks.emplace(r.id.sequence(), r); }
  void operator()(const model::DeliveryRecord& r) { outbox.emplace(r.id.sequence(), r); }
};

Dump take_dump(const engine::Engine& engine) {
  Dump dump;
  engine.dump([&](const command::Item& item) { std::visit(dump, item); });
  return dump;
}

std::string compare_meta(const Model& model, const Dump& dump) {
  const auto& meta = dump.meta;
  if (meta.max_queues != model.limits().queues ||
      meta.max_queues_per_key != model.limits().queues_per_key ||
      meta.max_idempotency_keys_per_key != model.limits().idempotency_keys_per_key)
    return "limits differ";
  if (meta.now == model.now() && meta.next_sequence == model.next_sequence() &&
      meta.next_lease == model.next_lease() && meta.entries == model.entries())
    return {};
  return fmt::format("meta: expected now {} sequence {} lease {} entries {}, got {}",
                     model.now().ms, model.next_sequence(), model.next_lease(), model.entries(),
                     show(meta));
}

std::string compare_jobs(const Model& model, const Dump& dump) {
  for (const auto& [seq, job] : dump.jobs) {
    const JobRecord* expected = model.find(job.id);
    if (expected == nullptr) return fmt::format("nobody knows {} (I2)", show(job));
    if (!same(*expected, job))
      return fmt::format("{}: {} (expected/got)", show(job.id), differing_fields(*expected, job));
  }
  for (const auto& [seq, job] : model.live()) {
    if (!dump.jobs.contains(seq)) return fmt::format("{} is lost (I1)", show(job));
  }
  return {};
}

/// The order in the lists of queues and groups; the numbers themselves are the engine's own
/// business.
template <typename Member, typename List>
std::string compare_order(const Model& model, const Dump& dump, Member arrival, List list) {
  const auto ordered = [&](const auto& jobs) {
    std::map<std::string, std::map<std::uint64_t, Seq>> lists;
    for (const auto& [seq, job] : jobs) {
      if (model::has_ended(job.state) || list(job).empty()) continue;
      lists[std::string(list(job).view())][job.*arrival] = seq;
    }
    return lists;
  };
  const auto expected = ordered(model.live());
  const auto got = ordered(dump.jobs);
  for (const auto& [name, jobs] : expected) {
    const auto it = got.find(name);
    if (it == got.end() || it->second.size() != jobs.size())
      return fmt::format("list '{}': {} jobs expected", name, jobs.size());
    auto other = it->second.begin();
    for (const auto& [number, seq] : jobs) {
      if (other->second != seq)
        return fmt::format("list '{}': #{} expected, #{} there", name, seq, other->second);
      ++other;
    }
  }
  return {};
}

std::string compare_tallies(const Model& model, const Dump& dump) {
  using Key = std::tuple<std::string, State, std::int64_t>;
  std::map<Key, std::uint64_t> expected;
  for (const auto& [seq, job] : model.ended())
    ++expected[{std::string(job.spec.queue.view()), job.state, job.ended_at.ms / 60'000}];
  std::map<Key, std::uint64_t> got;
  for (const auto& tally : dump.tallies)
    got[{std::string(tally.queue.view()), tally.state, tally.minute}] = tally.count;
  if (expected == got) return {};
  std::string text = "tallies differ: expected";
  for (const auto& [k, count] : expected)
    text += fmt::format(" {}/{}/{}={}", std::get<0>(k), model::to_string(std::get<1>(k)),
                        std::get<2>(k), count);
  text += "; got";
  for (const auto& [k, count] : got)
    text += fmt::format(" {}/{}/{}={}", std::get<0>(k), model::to_string(std::get<1>(k)),
                        std::get<2>(k), count);
  return text;
}

/// Only claims that still count: when old ones are dropped is nobody's business.
std::string compare_windows(const Model& model, const Dump& dump) {
  using Key = std::tuple<std::string, bool, std::string>;
  std::map<Key, std::map<Instant, std::uint32_t>> expected;
  std::map<Key, std::map<Instant, std::uint32_t>> got;
  for (const auto& [name, queue] : model.queues()) {
    const auto& settings = queue.record.settings;
    if (settings.throttle) {
      for (const Instant at : queue.claims) {
        if (at > model.now() - settings.throttle->period) ++expected[{name, false, {}}][at];
      }
    }
    if (!settings.throttle_per) continue;
    for (const auto& [key, claims] : queue.keyed_claims) {
      for (const Instant at : claims) {
        if (at > model.now() - settings.throttle_per->period) ++expected[{name, true, key}][at];
      }
    }
  }
  for (const auto& window : dump.windows) {
    const std::string name(window.queue.view());
    const auto it = model.queues().find(name);
    if (it == model.queues().end()) return fmt::format("window of no queue: {}", show(window));
    const auto& settings = it->second.record.settings;
    const auto& throttle = window.keyed ? settings.throttle_per : settings.throttle;
    if (!throttle) return fmt::format("window without a throttle: {}", show(window));
    for (const auto& [at, count] : window.claims) {
      if (at > model.now() - throttle->period)
        got[{name, window.keyed, std::string(window.key.view())}][at] = count;
    }
  }
  if (expected == got) return {};
  std::string text = fmt::format("throttle windows differ at {}: got", model.now().ms);
  for (const auto& window : dump.windows) text += " [" + show(window) + "]";
  text += "; expected";
  for (const auto& [key, claims] : expected) {
    text += fmt::format(" [{} {} '{}':", std::get<0>(key), std::get<1>(key), std::get<2>(key));
    for (const auto& [at, count] : claims) text += fmt::format(" {}@{}", count, at.ms);
    text += "]";
  }
  return text;
}

std::string compare_schedules(const Model& model, const Dump& dump) {
  std::map<Seq, model::ScheduleRecord> got;
  for (const auto& schedule : dump.schedules) got.emplace(schedule.id.sequence(), schedule);
  if (got.size() != model.schedules().size()) return "number of schedules differs";
  for (const auto& [seq, schedule] : model.schedules()) {
    const auto it = got.find(seq);
    if (it == got.end()) return fmt::format("schedule #{} is lost", seq);
    if (schedule.record != it->second)
      return fmt::format("expected {}, got {}", show(schedule.record), show(it->second));
  }
  return {};
}

std::string compare_workers(const Model& model, const engine::Engine& engine) {
  for (const auto& worker : engine.workers()) {
    const auto it = model.workers().find(std::string(worker.spec.id.view()));
    if (it == model.workers().end()) return fmt::format("nobody knows {}", show(worker));
    const std::uint32_t active = model.active_of_worker(worker.spec.id.view());
    if (worker.active != active) return fmt::format("{} holds {} jobs", show(worker), active);
    if (worker.spec != it->second.spec || worker.last_seen != it->second.last_seen ||
        worker.started_at != it->second.started_at || worker.owner != it->second.owner)
      return fmt::format("expected {}, got {}", show(it->second), show(worker));
  }
  if (engine.workers().size() != model.workers().size()) return "number of workers differs";
  return {};
}

std::string compare_groups(const Model& model, const engine::Engine& engine, const Dump& dump) {
  std::set<std::string, std::less<>> paused;
  for (const auto& group : dump.groups) {
    if (group.paused) paused.emplace(group.name.view());
  }
  if (paused != model.paused_groups()) return "paused groups differ";
  std::map<std::string, std::array<std::uint64_t, model::kStates>> expected;
  for (const auto& [seq, job] : model.live()) {
    if (!job.spec.group.empty())
      ++expected[std::string(job.spec.group.view())][static_cast<std::size_t>(job.state)];
  }
  for (const auto& name : paused) expected.try_emplace(name);
  for (const auto& view : engine.groups()) {
    const auto it = expected.find(std::string(view.name.view()));
    const bool empty = std::ranges::all_of(view.counts, [](auto count) { return count == 0; });
    if (it == expected.end()) {
      if (!empty || view.paused) return fmt::format("group '{}' is not empty", view.name.view());
      continue;
    }
    if (it->second != view.counts || view.paused != paused.contains(it->first))
      return fmt::format("counters of group '{}' differ (I16)", view.name.view());
    expected.erase(it);
  }
  if (!expected.empty()) return fmt::format("group '{}' is not shown", expected.begin()->first);
  return {};
}

std::string compare_tasks(const Model& model, const Dump& dump) {
  std::vector<std::string> expected;
  std::vector<std::string> got;
  const auto line = [](const model::TaskRecord& task) {
    return fmt::format("kind {} of '{}' job {}", static_cast<int>(task.kind), task.subject.view(),
                       show(task.job));
  };
  for (const auto& task : model.tasks()) expected.push_back(line(task));
  for (const auto& [number, task] : dump.tasks) got.push_back(line(task));
  if (expected == got) return {};
  std::string text = "tasks differ: expected";
  for (const auto& one : expected) text += " (" + one + ")";
  text += "; got";
  for (const auto& one : got) text += " (" + one + ")";
  return text;
}

/// What is kept by number and compared as it is, but for the words of a bulk operation's errors.
template <typename Record>
std::string compare_records(const char* what, const std::map<Seq, Record>& expected,
                            const std::map<Seq, Record>& got) {
  for (const auto& [seq, record] : expected) {
    const auto it = got.find(seq);
    if (it == got.end()) return fmt::format("lost: {}", show(record));
    bool equal = false;
    if constexpr (std::is_same_v<Record, model::BulkRecord>)
      equal = same(record, it->second);
    else
      equal = record == it->second;
    if (!equal) return fmt::format("expected {}, got {}", show(record), show(it->second));
  }
  if (expected.size() != got.size())
    return fmt::format("{} {} expected, {} there", expected.size(), what, got.size());
  return {};
}

/// What is due now, and when the next is: by webhook, the earliest first, at most `each`.
std::string compare_due(const Model& model, const engine::Engine& engine, std::size_t each) {
  std::vector<base::DeliveryId> expected;
  Instant next = base::kNever;
  for (const auto& [seq, webhook] : model.webhooks()) {
    std::map<std::pair<Instant, Seq>, base::DeliveryId> waiting;
    for (const auto& [number, delivery] : model.outbox()) {
      if (delivery.webhook == webhook.id && (webhook.spec.active || is(delivery.event, "test")))
        waiting.emplace(std::pair(delivery.next_attempt_at, number), delivery.id);
    }
    std::size_t taken = 0;
    for (const auto& [key, id] : waiting) {
      if (key.first <= model.now() && taken < each) {
        expected.push_back(id);
        ++taken;
      } else {
        next = std::min(next, key.first);
      }
    }
  }
  const auto outbox = engine.due_deliveries(model.now(), each);
  const bool equal = std::ranges::equal(expected, outbox.due, {}, {},
                                        [](const auto& entry) { return entry.delivery.id; });
  if (equal && outbox.next == next) return {};
  return fmt::format("{} deliveries due and the next at {} expected; got {} and {}",
                     expected.size(), next.ms, outbox.due.size(), outbox.next.ms);
}

std::string compare_remembered(const Model& model, const Dump& dump) {
  for (const auto& [key, expected] : model.remembered()) {
    if (expected.expires_at <= model.now()) continue;
    const auto it = dump.idempotency.find(key);
    if (it == dump.idempotency.end())
      return fmt::format("idempotency key '{}' is forgotten", key.second);
    if (it->second.fingerprint != expected.fingerprint ||
        it->second.expires_at != expected.expires_at)
      return fmt::format("idempotency key '{}': until {} expected, got {}", key.second,
                         expected.expires_at.ms, show(it->second));
  }
  return {};
}

std::string compare_batches(const Model& model, const Dump& dump, const Store& store,
                            bool drained) {
  for (const auto& [seq, expected] : model.batches()) {
    const bool finished = expected.finished_at.ms != 0;
    if (finished && !drained) continue;
    const auto it = dump.batches.find(seq);
    const model::BatchRecord* got = finished                   ? store.batch(expected.id)
                                    : it != dump.batches.end() ? &it->second
                                                               : nullptr;
    if (got == nullptr) return fmt::format("{} is lost", show(expected));
    if (*got != expected) return fmt::format("expected {}, got {}", show(expected), show(*got));
  }
  return {};
}

std::string compare_ended(const Model& model, const Store& store) {
  for (const auto& [seq, expected] : model.ended()) {
    const JobRecord* got = store.ended(expected.id);
    if (got == nullptr) return fmt::format("ended {} is not stored (I1, I17)", show(expected));
    if (!same(expected, *got))
      return fmt::format("ended {}: {} (expected/stored)", show(expected.id),
                         differing_fields(expected, *got));
  }
  if (store.ended_count() != model.ended().size())
    return fmt::format("{} ended jobs expected, {} stored (I2, I17)", model.ended().size(),
                       store.ended_count());
  return {};
}

}  // namespace

std::string compare_everything(const Model& model, const engine::Engine& engine, const Store& store,
                               bool drained) {
  const Dump dump = take_dump(engine);
  const auto queue = [](const JobRecord& job) -> const Blob& { return job.spec.queue; };
  const auto group = [](const JobRecord& job) -> const Blob& { return job.spec.group; };
  for (auto text : {compare_meta(model, dump), compare_jobs(model, dump),
                    compare_order(model, dump, &JobRecord::arrival, queue),
                    compare_order(model, dump, &JobRecord::group_arrival, group),
                    compare_tallies(model, dump), compare_windows(model, dump),
                    compare_schedules(model, dump), compare_workers(model, engine),
                    compare_groups(model, engine, dump), compare_tasks(model, dump),
                    compare_remembered(model, dump), compare_batches(model, dump, store, drained),
                    compare_records("bulk operations", model.bulks(), dump.bulks),
                    compare_records("keys", model.keys(), dump.keys),
                    compare_records("webhooks", model.webhooks(), dump.webhooks),
                    compare_records("deliveries", model.outbox(), dump.outbox),
                    compare_due(model, engine, 2)}) {
    if (!text.empty()) return text;
  }
  if (engine.live_jobs() != model.live().size()) return "live_jobs() differs";
  return drained ? compare_ended(model, store) : std::string{};
}

std::string check_shape(const engine::Engine& engine) {
  const Dump dump = take_dump(engine);
  std::map<std::pair<std::string, std::string>, Seq> holders;
  for (const auto& [seq, job] : dump.jobs) {
    const bool active = job.state == State::active;
    const bool timed = job.state == State::scheduled || job.state == State::retrying;
    const auto& unique = job.spec.unique;
    if (model::has_ended(job.state)) return fmt::format("the dump holds ended {}", show(job));
    if (active != (job.lease_expires_at.ms != 0) || timed != (job.run_at.ms != 0) ||
        (job.state == State::waiting) == job.waiting_on.empty() || job.ended_at.ms != 0)
      return fmt::format("fields do not fit the state of {}", show(job));
    if (job.attempt > allowed_attempts(job))
      return fmt::format("{} was delivered too often (I11)", show(job));
    if (!active && job.cancel_requested)
      return fmt::format("{} is idle and asked to stop", show(job));
    const bool must_hold =
        !unique.key.empty() && unique.until == model::UniqueUntil::end && unique.period.ms == 0;
    if (must_hold && !job.holds_unique)
      return fmt::format("{} should hold its key (I15)", show(job));
    if (!job.holds_unique) continue;
    if (unique.key.empty()) return fmt::format("{} holds no key (I15)", show(job));
    const auto [it, first] = holders.try_emplace(
        {std::string(job.spec.queue.view()), std::string(unique.key.view())}, seq);
    if (!first) return fmt::format("#{} and #{} hold one key (I15)", it->second, seq);
  }
  return {};
}

}  // namespace jobbie::sim
