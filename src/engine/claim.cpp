// Claim: the next jobs that a worker may have, in the one order that all its queues share.
#include <algorithm>
#include <utility>

#include "base/glob.hpp"
#include "engine/core.hpp"
#include "engine/footprint.hpp"

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
    return {core_.lanes[lane].head_key(), queue, core_.lanes[lane].head()};
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

/// Candidates by key, the first one in front.
class Contest {
 public:
  explicit Contest(std::vector<Candidate>& all) : all_(all) {
    std::make_heap(all_.begin(), all_.end(), behind);
  }
  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] const Candidate& front() const { return all_.front(); }

  /// With nothing ready a queue is out.
  void push(const Candidate& candidate) {
    if (candidate.key == kNothingReady) return;
    all_.push_back(candidate);
    std::push_heap(all_.begin(), all_.end(), behind);
  }
  void pop() {
    std::pop_heap(all_.begin(), all_.end(), behind);
    all_.pop_back();
  }
  /// The front queue's candidate is now this one.
  void replace_front(const Candidate& candidate) {
    if (candidate.key == all_.front().key) {
      all_.front() = candidate;
      return;
    }
    pop();
    push(candidate);
  }

 private:
  static bool behind(const Candidate& a, const Candidate& b) { return b.key < a.key; }

  std::vector<Candidate>& all_;
};

/// What a job brings along that its producer or worker may make as large as they like.
std::size_t bytes_of(const command::ClaimedJob& job) {
  return job.payload.size() + job.checkpoint.size() + job.tags.size();
}

}  // namespace

QueueSetView Core::queues_of(const command::Claim& c, bool all) {
  if (c.queues.size() == 1 && base::is_glob(c.queues.front().view()))
    return queue_patterns.matches(c.queues.front().view());
  claimed_queues.clear();
  for (const Blob& name : c.queues) {
    if (base::is_glob(name.view())) {
      const QueueSet& more = queue_patterns.matches(name.view());
      if (more.size() > claimed_queues.size()) claimed_queues.resize(more.size());
      for (std::size_t i = 0; i < more.size(); ++i) claimed_queues[i] |= more[i];
    } else if (all) {
      if (const Slot slot = find_queue(name.view()); slot != 0) insert(claimed_queues, slot);
    }
  }
  return claimed_queues;
}

bool Core::has_nothing_for(const command::Claim& c) {
  for (const Blob& name : c.queues) {
    if (base::is_glob(name.view())) {
      if (heads.any_pending(queue_patterns.matches(name.view()))) return false;
    } else if (heads.is_pending(find_queue(name.view()))) {  // slot 0 never has anything
      return false;
    }
  }
  return true;
}

bool Core::knows_globs(const command::Claim& c, std::size_t& budget) {
  return std::all_of(c.queues.begin(), c.queues.end(), [&](const Blob& name) {
    return !base::is_glob(name.view()) || queue_patterns.look(name.view(), budget);
  });
}

Slot Core::first_queue(const command::Claim& c) {
  Slot first = 0;
  bool any_glob = false;
  for (const Blob& name : c.queues) {
    if (base::is_glob(name.view())) {
      any_glob = true;
      continue;
    }
    const Slot slot = find_queue(name.view());
    if (heads.bound(slot) < heads.bound(first)) first = slot;  // slot 0 never has anything
  }
  return any_glob ? heads.first_of(queues_of(c, false), first) : first;
}

QueueSetView Core::collect_candidates(const command::Claim& c) {
  candidates.clear();
  if (c.queues.size() == 1 && !base::is_glob(c.queues.front().view())) {
    const Slot queue = find_queue(c.queues.front().view());
    if (heads.bound(queue) != kNothingReady) candidates.push_back({heads.bound(queue), queue, 0});
    return {};
  }
  const QueueSetView set = queues_of(c, true);
  for (std::size_t block = 0; block < set.size(); ++block) {
    if (set[block] == 0) continue;
    const auto smallest = heads.smallest_in(block);
    if (smallest != kNothingReady) candidates.push_back({smallest, 0, static_cast<Slot>(block)});
  }
  return set;
}

Reply Core::run(const command::Claim& c) {
  const Worker* worker = see_worker(c.worker, &c);
  wake_throttles();
  const Capabilities had = capabilities(c, worker);
  Search search(*this, had);
  command::Claimed claimed;
  if (c.count == 1) {
    // Most claims: one job from the queue that is first anyway, and no candidates to be listed.
    const Slot queue = first_queue(c);
    if (queue == 0) return claimed;
    const auto [key, same_queue, slot] = search.best_of(queue);
    if (slot != 0 && key == heads.bound(queue) && next_due(jobs[slot]).at > meta.now) {
      claim_job(slot, c, worker, claimed.jobs.emplace_back());
      return claimed;
    }
  }

  const QueueSetView set = collect_candidates(c);
  Contest contest(candidates);
  std::size_t budget = options.timers_per_tick;
  std::uint64_t bytes = 0;
  while (!contest.empty()) {
    const auto [key, queue, slot] = contest.front();
    if (queue == 0) {
      contest.pop();
      for_each_queue(slot, set[slot], [&](Slot member) {
        contest.push({heads.bound(member), member, 0});
      });
      continue;
    }
    if (slot == 0) {
      contest.replace_front(search.best_of(queue));
      continue;
    }
    if (settle(slot) && jobs[slot].state == State::pending) {
      if (claimed.jobs.empty() && c.count > 1)
        claimed.jobs.reserve(std::min<std::size_t>(
            c.count, queues[queue]->counts[static_cast<std::size_t>(State::pending)]));
      claim_job(slot, c, worker, claimed.jobs.emplace_back());
      if (!options.plants(Plant::bytes_not_counted)) bytes += bytes_of(claimed.jobs.back());
      if (claimed.jobs.size() == c.count || (c.max_bytes != 0 && bytes >= c.max_bytes)) break;
    } else if (--budget == 0) {
      break;
    }
    contest.replace_front({heads.bound(queue), queue, 0});
  }
  return claimed;
}

void Core::claim_job(Slot slot, const command::Claim& c, const Worker* worker,
                     command::ClaimedJob& out) {
  Job& job = jobs[slot];
  Queue& queue = queue_of(job);
  ++job.attempt;
  job.lease = meta.next_lease++;
  job.lease_end = model::LeaseEnd::none;
  job.started_at = meta.now;
  job.heartbeaten = false;
  // Records share the worker's own copy of its name.
  job.worker = worker != nullptr ? worker->record.spec.id : c.worker;
  job.hostname = c.hostname;
  account.weigh(job.text_bytes, texts_footprint(job));
  const Details* detail = job.details.get();
  job.lease_duration = c.lease != Duration{}                              ? c.lease
                       : detail != nullptr && detail->lease != Duration{} ? detail->lease
                       : queue.settings.lease != Duration{}               ? queue.settings.lease
                                                            : model::limits::kDefaultLease;
  if (job.unique && job.unique->spec.until == model::UniqueUntil::start) release_lock(slot);
  if (queue.settings.fairness == model::Fairness::group)
    queue.last_served_group = job.placement ? job.placement->group : Blob{};
  set_state(slot, State::active);
  workers.begin_holding(job, worker);
  job.lease_expires_at = meta.now + job.lease_duration;
  count_claim(slot);
  ++queue.totals.started;
  emit(EventType::started, job, job.worker);
  rearm(slot);
  touch(slot);

  out.job = job.id;
  out.queue = queue.name;
  out.payload = job.payload;
  out.priority = job.priority;
  out.attempt = job.attempt;
  out.max_retries = job.max_retries;
  out.lease = job.lease;
  out.lease_duration = job.lease_duration;
  out.lease_expires_at = job.lease_expires_at;
  if (job.placement) out.group = job.placement->group;
  if (detail != nullptr) {
    out.tags = detail->tags;
    out.checkpoint = detail->checkpoint;
    out.traceparent = detail->traceparent;
    out.max_runtime = detail->max_runtime;
    out.batch = detail->batch;
  }
}

}  // namespace jobbie::engine
