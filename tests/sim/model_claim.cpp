// The model's claim: who may have what, in which order, within which limits (rule 4).
#include <algorithm>
#include <iterator>

#include "base/glob.hpp"
#include "base/json.hpp"
#include "model/limits.hpp"
#include "tests/sim/model.hpp"

namespace jobbie::sim {
namespace {

bool contains_all(const std::vector<Blob>& has, const std::vector<Blob>& wanted) {
  return std::ranges::all_of(
      wanted, [&](const Blob& one) { return std::ranges::find(has, one) != has.end(); });
}

bool before(const JobRecord& a, const JobRecord& b) {
  return std::pair(a.spec.priority, a.id.sequence()) < std::pair(b.spec.priority, b.id.sequence());
}

/// 4.6: the claims in (now - period, now].
std::uint64_t counted(const ClaimTimes& claims, Instant now, Duration period) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(claims, [&](Instant at) { return at > now - period; }));
}

/// When a throttle lets the next claim through, if none comes in between.
Instant opens_at(const ClaimTimes& claims, Instant now, const model::Throttle& throttle) {
  ClaimTimes counting;
  std::ranges::copy_if(claims, std::back_inserter(counting),
                       [&](Instant at) { return at > now - throttle.period; });
  if (counting.size() < throttle.rate) return now;
  std::ranges::sort(counting);
  return counting[counting.size() - throttle.rate] + throttle.period;
}

void add_claim(ClaimTimes& claims, Instant now, Duration period) {
  std::erase_if(claims, [&](Instant at) { return at <= now - period; });
  claims.push_back(now);
}

}  // namespace

std::optional<std::string> limit_key(const JobRecord& job, const Blob& per) {
  if (is(per, "group")) {
    if (job.spec.group.empty()) return std::nullopt;
    return std::string(job.spec.group.view());
  }
  const auto tag = base::json::member(job.spec.tags.view(), per.view().substr(sizeof("tags.") - 1));
  if (!tag) return std::nullopt;
  return base::json::canonical(*tag);
}

Reply Model::on(const command::Claim& c) {
  if (!c.worker.empty()) see_worker(c);
  const Capabilities worker = capabilities_of(c);
  command::Claimed reply;
  std::size_t dropped = 0;
  std::uint64_t bytes = 0;
  while (reply.jobs.size() < c.count) {
    if (c.max_bytes != 0 && bytes >= c.max_bytes) break;  // 4.3
    JobRecord* job = candidate(c, worker);
    if (job == nullptr) break;
    const JobId id = job->id;
    job = touch(id);  // 4.4
    if (job == nullptr || job->state != State::pending) {
      ++reached_.dropped;
      if (++dropped == options_.timers_per_tick) break;
      continue;
    }
    reply.jobs.push_back(start(*job, c));
    const auto& given = reply.jobs.back();
    bytes += given.payload.size() + given.checkpoint.size() + given.tags.size();
  }
  return reply;
}

Model::Capabilities Model::capabilities_of(const command::Claim& c) const {
  Capabilities has{std::string(c.worker.view()), c.roles, c.tags};
  const auto it = workers_.find(has.worker);
  if (it != workers_.end()) {
    const auto& spec = it->second.spec;
    has.roles.insert(has.roles.end(), spec.roles.begin(), spec.roles.end());
    has.tags.insert(has.tags.end(), spec.tags.begin(), spec.tags.end());
  }
  return has;
}

bool Model::suits(const JobRecord& job, const Capabilities& worker) {
  const auto& wanted = job.spec.requires_;
  if (!wanted.target_worker.empty() && !is(wanted.target_worker, worker.worker)) return false;
  return contains_all(worker.roles, wanted.roles) && contains_all(worker.tags, wanted.tags);
}

/// 4.1, what concerns the whole queue, but for its throttle.
bool Model::queue_runs(const QueueState& queue) const {
  const auto& settings = queue.record.settings;
  if (settings.paused || has_queue_task(queue.record.name.view())) return false;
  if (!settings.concurrency) return true;
  const auto active = std::ranges::count_if(live_, [&](const auto& entry) {
    return entry.second.state == State::active && entry.second.spec.queue == queue.record.name;
  });
  return static_cast<std::uint64_t>(active) < settings.concurrency->max;
}

/// 4.1, what concerns the job's group and the key of its concurrency.
bool Model::key_runs(const QueueState& queue, const JobRecord& job) const {
  if (!job.spec.group.empty() && paused_groups_.contains(job.spec.group.view())) return false;
  const auto& limit = queue.record.settings.concurrency_per;
  if (!limit) return true;
  const auto key = limit_key(job, limit->per);
  if (!key) return true;
  const auto active = std::ranges::count_if(live_, [&](const auto& entry) {
    const JobRecord& other = entry.second;
    return other.state == State::active && other.spec.queue == job.spec.queue &&
           limit_key(other, limit->per) == key;
  });
  return static_cast<std::uint64_t>(active) < limit->max;
}

/// The throttle of the job's key has room.
bool Model::key_in_time(const QueueState& queue, const JobRecord& job) const {
  const auto& limit = queue.record.settings.throttle_per;
  if (!limit) return true;
  const auto key = limit_key(job, limit->per);
  const auto it = key ? queue.keyed_claims.find(*key) : queue.keyed_claims.end();
  return it == queue.keyed_claims.end() || counted(it->second, now_, limit->period) < limit->rate;
}

/// 4.2
JobRecord* Model::candidate_in(const QueueState& queue, const Capabilities& worker) {
  const auto& throttle = queue.record.settings.throttle;
  if (throttle && counted(queue.claims, now_, throttle->period) >= throttle->rate) return nullptr;
  if (!queue_runs(queue)) return nullptr;
  const bool by_group = queue.record.settings.fairness == model::Fairness::group;
  std::map<std::string_view, JobRecord*> heads;  // by group; a single one for fairness=priority
  for (auto& [seq, job] : live_) {
    if (job.state != State::pending || job.spec.queue != queue.record.name) continue;
    JobRecord*& head = heads[by_group ? job.spec.group.view() : std::string_view{}];
    if (head != nullptr && before(*head, job)) continue;
    if (suits(job, worker) && key_runs(queue, job) && key_in_time(queue, job)) head = &job;
  }
  std::erase_if(heads, [](const auto& entry) { return entry.second == nullptr; });
  const auto& last = queue.record.last_served_group;
  if (by_group && last && heads.size() > 1) heads.erase(last->view());
  JobRecord* best = nullptr;
  for (const auto& [group, head] : heads) {
    if (best == nullptr || head->id.sequence() < best->id.sequence()) best = head;
  }
  return best;
}

/// 4.3
JobRecord* Model::candidate(const command::Claim& c, const Capabilities& worker) {
  JobRecord* best = nullptr;
  for (const auto& [name, queue] : queues_) {
    const bool asked = std::ranges::any_of(
        c.queues, [&](const Blob& pattern) { return base::glob_match(pattern.view(), name); });
    if (!asked) continue;
    JobRecord* job = candidate_in(queue, worker);
    if (job != nullptr && (best == nullptr || before(*job, *best))) best = job;
  }
  return best;
}

/// 4.5
command::ClaimedJob Model::start(JobRecord& job, const command::Claim& c) {
  QueueState& queue = queue_of(job);
  const auto& settings = queue.record.settings;
  set_state(job, State::active);
  ++job.attempt;
  job.lease = next_lease_++;
  job.lease_end = model::LeaseEnd::none;
  job.lease_duration = c.lease.ms != 0          ? c.lease
                       : job.spec.lease.ms != 0 ? job.spec.lease
                       : settings.lease.ms != 0 ? settings.lease
                                                : model::limits::kDefaultLease;
  job.lease_expires_at = now_ + job.lease_duration;
  job.started_at = now_;
  job.worker = c.worker;
  job.hostname = c.hostname;
  job.heartbeaten = false;
  if (job.spec.unique.until == model::UniqueUntil::start) release_lock(job);
  ++queue.record.totals.started;
  if (settings.fairness == model::Fairness::group) queue.record.last_served_group = job.spec.group;
  if (settings.throttle) add_claim(queue.claims, now_, settings.throttle->period);
  if (settings.throttle_per) {
    if (const auto key = limit_key(job, settings.throttle_per->per))
      add_claim(queue.keyed_claims[*key], now_, settings.throttle_per->period);
  }
  return {.job = job.id,
          .queue = job.spec.queue,
          .payload = job.spec.payload,
          .tags = job.spec.tags,
          .checkpoint = job.checkpoint,
          .group = job.spec.group,
          .traceparent = job.spec.traceparent,
          .priority = job.spec.priority,
          .attempt = job.attempt,
          .max_retries = job.spec.max_retries,
          .lease = job.lease,
          .lease_duration = job.lease_duration,
          .lease_expires_at = job.lease_expires_at,
          .max_runtime = job.spec.max_runtime,
          .batch = job.batch};
}

Instant Model::claimable_at(const JobRecord& job) const {
  if (job.state != State::pending) return base::kNever;
  const QueueState& queue = queue_of(job);
  if (!queue_runs(queue) || !key_runs(queue, job)) return base::kNever;
  const auto& settings = queue.record.settings;
  Instant at = now_;
  if (settings.throttle) at = std::max(at, opens_at(queue.claims, now_, *settings.throttle));
  if (settings.throttle_per) {
    const auto key = limit_key(job, settings.throttle_per->per);
    const auto it = key ? queue.keyed_claims.find(*key) : queue.keyed_claims.end();
    if (it != queue.keyed_claims.end())
      at = std::max(at, opens_at(it->second, now_, *settings.throttle_per));
  }
  return job.expire_at.ms != 0 && job.expire_at <= at ? base::kNever : at;
}

/// 9.6
void Model::see_worker(const command::Claim& c) {
  auto& worker = workers_[std::string(c.worker.view())];
  if (worker.spec.id.empty()) {
    worker.spec.id = c.worker;
    worker.started_at = now_;
  }
  if (!c.hostname.empty()) worker.spec.hostname = c.hostname;
  worker.spec.queues = c.queues;
  worker.last_seen = now_;
  if (!caller_.is_nil()) worker.owner = caller_;
}

}  // namespace jobbie::sim
