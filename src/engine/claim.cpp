// Claim: the next jobs that a worker may have, in the one order that all its queues share.
#include <algorithm>

#include "base/glob.hpp"
#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

/// What the worker has: stated by the claim or registered before.
struct Capabilities {
  std::string_view worker;
  std::vector<std::string_view> roles;
  std::vector<std::string_view> tags;
};

bool has_all(const std::vector<Blob>& wanted, const std::vector<std::string_view>& had) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const Blob& text) {
    return std::find(had.begin(), had.end(), text.view()) != had.end();
  });
}

bool satisfies(const Capabilities& had, const model::Requirements& wanted) {
  return (wanted.target_worker.empty() || wanted.target_worker.view() == had.worker) &&
         has_all(wanted.roles, had.roles) && has_all(wanted.tags, had.tags);
}

/// A queue's best job for one worker.
struct Candidate {
  Slot queue = 0;
  Slot job = 0;
  ReadyKey key;
};

/// Finds candidates for one claim.
class Search {
 public:
  Search(Core& core, const Capabilities& had) : core_(core), had_(had) {}

  Candidate best_of(Slot queue_slot) {
    Queue& queue = *core_.queues[queue_slot];
    if (queue.counts[static_cast<std::size_t>(State::pending)] == 0 || !core_.has_room(queue))
      return {};
    if (!queue.ordered) return of_lane(queue_slot, queue.plain_lane);
    eligible_needs(queue);
    return queue.settings.fairness == model::Fairness::group ? by_group(queue) : by_priority(queue);
  }

 private:
  Candidate of_lane(Slot queue, Slot lane) const {
    if (lane == 0 || core_.lanes[lane].empty()) return {};
    return {queue, core_.lanes[lane].head(), core_.lanes[lane].head_key()};
  }
  Candidate of_bucket(const Queue& queue, Slot bucket) const {
    return of_lane(queue.slot, core_.buckets[bucket].lanes.top().item);
  }

  void eligible_needs(Queue& queue) {
    needs_.clear();
    if (!queue.no_need.order.empty()) needs_.push_back(&queue.no_need);
    add_range(queue, "");
    if (!had_.worker.empty()) add_range(queue, had_.worker);
  }
  void add_range(Queue& queue, std::string_view target) {
    const std::string prefix = std::string(target) + '\x01';
    for (auto it = queue.needs.lower_bound(prefix);
         it != queue.needs.end() && it->first.starts_with(prefix); ++it) {
      Need& need = *it->second;
      if (!need.order.empty() && satisfies(had_, need.requirements)) needs_.push_back(&need);
    }
  }

  [[nodiscard]] Candidate by_priority(const Queue& queue) const {
    Candidate best;
    for (const Need* need : needs_) {
      const auto found = of_bucket(queue, need->order.top().item);
      if (best.job == 0 || found.key < best.key) best = found;
    }
    return best;
  }

  [[nodiscard]] bool served_last(const Queue& queue, Slot bucket) const {
    if (!queue.last_served_group) return false;
    const Slot group = core_.buckets[bucket].group;
    const auto name = group == 0 ? std::string_view{} : core_.groups[group]->name.view();
    return queue.last_served_group->view() == name;
  }

  [[nodiscard]] Candidate by_group(const Queue& queue) const {
    if (needs_.empty()) return {};
    if (needs_.size() == 1) {
      const auto& order = needs_.front()->order;
      const Slot first = order.top().item;
      const auto second = order.second();
      return of_bucket(queue, served_last(queue, first) && second ? second->item : first);
    }
    return by_group_across_needs(queue);
  }

  /// A group's head is the best over all needs that the worker meets. Several needs in one queue
  /// under `fairness=group` are rare: this walks the groups.
  [[nodiscard]] Candidate by_group_across_needs(const Queue& queue) const {
    std::map<Slot, std::pair<Candidate, bool>> heads;  // group → head, served last
    for (const Need* need : needs_) {
      for (const auto& [group, bucket] : need->buckets) {
        const auto found = of_bucket(queue, bucket);
        auto& head = heads[group];
        if (head.first.job == 0 || found.key < head.first.key)
          head = {found, served_last(queue, bucket)};
      }
    }
    const std::pair<Candidate, bool>* best = nullptr;
    for (const auto& [group, head] : heads) {
      if (best == nullptr || (best->second && !head.second) ||
          (best->second == head.second && head.first.key.sequence < best->first.key.sequence))
        best = &head;
    }
    return best == nullptr ? Candidate{} : best->first;
  }

  Core& core_;
  const Capabilities& had_;
  std::vector<const Need*> needs_;
};

Capabilities capabilities(const command::Claim& c, const Worker* registered) {
  Capabilities had{.worker = c.worker.view(), .roles = {}, .tags = {}};
  const auto add = [](std::vector<std::string_view>& to, const std::vector<Blob>& from) {
    for (const Blob& text : from) to.push_back(text.view());
  };
  add(had.roles, c.roles);
  add(had.tags, c.tags);
  if (registered != nullptr) {
    add(had.roles, registered->record.spec.roles);
    add(had.tags, registered->record.spec.tags);
  }
  return had;
}

}  // namespace

const std::vector<Slot>& Core::queues_matching(std::string_view pattern) {
  constexpr std::size_t kMostPatterns = 256;
  if (globs.generation != queue_generation || globs.matches.size() > kMostPatterns) {
    globs.matches.clear();
    globs.generation = queue_generation;
  }
  const auto [entry, fresh] = globs.matches.try_emplace(std::string(pattern));
  if (fresh) {
    for (const auto& queue : queues)
      if (queue && base::glob_match(pattern, queue->name.view()))
        entry->second.push_back(queue->slot);
  }
  return entry->second;
}

void Core::collect_queues(const command::Claim& c, std::vector<Slot>& out) {
  const auto mark = ++claim_counter;
  const auto add = [&](Slot slot) {
    if (slot == 0 || queues[slot]->claim_mark == mark) return;
    queues[slot]->claim_mark = mark;
    out.push_back(slot);
  };
  for (const Blob& name : c.queues) {
    if (base::is_glob(name.view())) {
      for (const Slot slot : queues_matching(name.view())) add(slot);
    } else {
      add(find_queue(name.view()));
    }
  }
}

Reply Core::run(const command::Claim& c) {
  const Worker* worker = see_worker(c.worker, &c);
  wake_throttles();
  const Capabilities had = capabilities(c, worker);
  const Blob& name = worker != nullptr ? worker->record.spec.id : c.worker;

  std::vector<Slot> from;
  collect_queues(c, from);
  Search search(*this, had);
  std::vector<Candidate> candidates;
  for (const Slot queue : from)
    if (const auto found = search.best_of(queue); found.job != 0) candidates.push_back(found);

  command::Claimed claimed;
  std::size_t budget = options.timers_per_tick;
  while (claimed.jobs.size() < c.count && !candidates.empty()) {
    const auto best =
        std::min_element(candidates.begin(), candidates.end(),
                         [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
    const Slot slot = best->job;
    if (settle(slot) && jobs[slot].state == State::pending) {
      claimed.jobs.push_back(claim_job(slot, c, name));
    } else if (--budget == 0) {
      break;
    }
    *best = search.best_of(best->queue);
    if (best->job == 0) candidates.erase(best);
  }
  return claimed;
}

command::ClaimedJob Core::claim_job(Slot slot, const command::Claim& c, const Blob& worker) {
  Job& job = jobs[slot];
  Queue& queue = queue_of(job);
  ++job.attempt;
  job.lease = meta.next_lease++;
  job.lease_end = model::LeaseEnd::none;
  job.started_at = meta.now;
  job.heartbeaten = false;
  job.worker = worker;
  job.hostname = c.hostname;
  const Details* detail = job.details.get();
  job.lease_duration = c.lease != Duration{}                              ? c.lease
                       : detail != nullptr && detail->lease != Duration{} ? detail->lease
                       : queue.settings.lease != Duration{}               ? queue.settings.lease
                                                            : model::limits::kDefaultLease;
  if (job.unique && job.unique->spec.until == model::UniqueUntil::start) release_lock(slot);
  if (queue.settings.fairness == model::Fairness::group)
    queue.last_served_group = job.placement ? job.placement->group : Blob{};
  set_state(slot, State::active);
  job.lease_expires_at = meta.now + job.lease_duration;
  count_claim(slot);
  ++queue.totals.started;
  emit(EventType::started, job, worker);
  rearm(slot);
  touch(slot);

  command::ClaimedJob out{.job = job.id,
                          .queue = queue.name,
                          .payload = job.payload,
                          .priority = job.priority,
                          .attempt = job.attempt,
                          .max_retries = job.max_retries,
                          .lease = job.lease,
                          .lease_duration = job.lease_duration,
                          .lease_expires_at = job.lease_expires_at};
  if (job.placement) out.group = job.placement->group;
  if (detail != nullptr) {
    out.tags = detail->tags;
    out.checkpoint = detail->checkpoint;
    out.traceparent = detail->traceparent;
    out.max_runtime = detail->max_runtime;
    out.batch = detail->batch;
  }
  return out;
}

}  // namespace jobbie::engine
