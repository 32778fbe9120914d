// The model's enqueue: idempotency, dependencies, unique keys, placing, batches (rule 2).
#include <algorithm>

#include "model/limits.hpp"
#include "tests/sim/model.hpp"

namespace jobbie::sim {

struct Model::Request {
  std::vector<const JobSpec*> specs;
  const command::BatchSpec* batch_spec = nullptr;
  base::BatchId batch;
  std::vector<std::size_t> taker;  ///< the position whose job stands for this one
  std::vector<JobId> came_to;      ///< nil until the job is made
  std::vector<State> states;
  bool alone = false;  ///< one job by itself, and not a list of one

  [[nodiscard]] bool is_new(std::size_t i) const { return taker[i] == i; }
};

namespace {

/// Takes the place of a position: the job that is there already stands for it.
constexpr std::size_t kOutside = static_cast<std::size_t>(-1);

/// Whether a walk along `edges` comes back to where it began. Small graphs: plain repeated removal
/// of nodes that nothing is left to wait for.
bool has_loop(const std::vector<std::vector<std::size_t>>& edges) {
  std::vector<bool> done(edges.size(), false);
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (done[i]) continue;
      if (std::ranges::all_of(edges[i], [&](std::size_t to) { return done[to]; })) {
        done[i] = true;
        progress = true;
      }
    }
  }
  return std::ranges::find(done, false) != done.end();
}

}  // namespace

Reply Model::on(const command::Enqueue& c) {
  if (auto known = recall(c.idempotency)) return *known;
  Request request{.specs = {&c.job}, .alone = true};
  if (auto refused = enqueue_all(request)) return *refused;
  const Reply reply = command::Enqueued{request.came_to[0], request.states[0], !request.is_new(0)};
  remember(c.idempotency, reply);
  return reply;
}

Reply Model::on(const command::EnqueueMany& c) {
  if (auto known = recall(c.idempotency)) return *known;
  Request request{.batch_spec = c.batch ? &*c.batch : nullptr};
  for (const JobSpec& spec : c.jobs) request.specs.push_back(&spec);
  if (auto refused = enqueue_all(request)) return *refused;
  command::EnqueuedMany reply{.batch = request.batch};
  for (std::size_t i = 0; i < c.jobs.size(); ++i)
    reply.jobs.push_back({request.came_to[i], request.states[i], !request.is_new(i)});
  remember(c.idempotency, reply);
  return reply;
}

/// 2.2
std::optional<Reply> Model::recall(const command::Idempotency& idempotency) const {
  if (idempotency.key.empty()) return std::nullopt;
  const std::string key(idempotency.key.view());
  const auto live = [&](const auto& found) {
    return found != remembered_.end() && found->second.expires_at > now_;
  };
  const auto it = remembered_.find({idempotency.scope, key});
  if (live(it)) {
    if (it->second.fingerprint == idempotency.fingerprint) return it->second.reply;
    return Refusal{Refused::idempotency_mismatch, "idempotency_key", ""};
  }
  const auto old = remembered_.find({{}, key});  // from before keys had scopes
  if (live(old) && old->second.fingerprint == idempotency.fingerprint) return old->second.reply;
  if (it != remembered_.end()) return std::nullopt;
  return room_for_key(idempotency.scope);
}

std::optional<Refusal> Model::room_for_key(base::KeyId scope) const {
  const auto own = std::ranges::count_if(remembered_, [&](const auto& entry) {
    return !scope.is_nil() && entry.first.first == scope;
  });
  if (caller_.is_nil() || static_cast<std::size_t>(own) < limits_.idempotency_keys_per_key)
    return std::nullopt;
  return Refusal{Refused::limit_reached, "idempotency_key", ""};
}

/// With the tick, the earliest first, as many as deadlines.
void Model::forget_remembered() {
  std::set<std::pair<Instant, ScopedKey>> due;
  for (const auto& [key, reply] : remembered_) {
    if (reply.expires_at <= now_) due.emplace(reply.expires_at, key);
  }
  std::size_t left = options_.timers_per_tick;
  for (const auto& [at, key] : due) {
    if (left-- == 0) return;
    remembered_.erase(key);
  }
}

/// 9.8
std::optional<Refusal> Model::room_for_request(const Request& request) const {
  std::vector<Blob> names;
  for (const JobSpec* spec : request.specs) names.push_back(spec->queue);
  if (auto refused = room_for_queues(names, "queue")) return refused;
  if (request.batch_spec == nullptr || request.batch_spec->callback_queue.empty())
    return std::nullopt;
  names.push_back(request.batch_spec->callback_queue);
  return room_for_queues(names, "callback_queue");
}

void Model::remember(const command::Idempotency& idempotency, const Reply& reply) {
  if (idempotency.key.empty()) return;
  remembered_[{idempotency.scope, std::string(idempotency.key.view())}] = {
      idempotency.fingerprint, now_ + model::limits::kIdempotencyPeriod, reply};
}

std::optional<Refusal> Model::enqueue_all(Request& request) {
  const std::size_t count = request.specs.size();
  if (auto refused = check_dependencies(request.specs)) return refused;
  if (request.alone) {
    if (auto refused = room_for_request(request)) return refused;
  }
  request.taker.assign(count, kOutside);
  request.came_to.assign(count, {});
  request.states.assign(count, State::pending);
  for (std::size_t i = 0; i < count; ++i) {  // 2.4
    const JobSpec& spec = *request.specs[i];
    request.taker[i] = i;
    if (spec.unique.key.empty()) continue;
    if (const JobRecord* job = touch_holder(spec.queue.view(), spec.unique.key.view())) {
      request.taker[i] = kOutside;
      request.came_to[i] = job->id;
      request.states[i] = job->state;
      continue;
    }
    for (std::size_t j = 0; j < i; ++j) {
      const JobSpec& other = *request.specs[j];
      if (request.is_new(j) && other.unique.key == spec.unique.key && other.queue == spec.queue)
        request.taker[i] = j;
    }
  }
  // As written, and as it came out: a position may have come to the very job that waits for it.
  if (has_cycle(request, false) || has_cycle(request, true))
    return Refusal{Refused::dependency_cycle, "depends_on", ""};
  if (!request.alone) {
    if (auto refused = room_for_request(request)) return refused;
  }

  if (request.batch_spec != nullptr) {
    const Blob& callback = request.batch_spec->callback_queue;
    if (!caller_.is_nil() && !callback.empty()) make_queue(callback.view());  // 9.8
    request.batch = {next_ulid()};  // 1.2: before its members
    const auto made = static_cast<std::uint64_t>(std::ranges::count_if(
        request.taker, [&, i = std::size_t{0}](std::size_t t) mutable { return t == i++; }));
    batches_[request.batch.sequence()] = {.id = request.batch,
                                          .total = made,
                                          .pending = made,
                                          .callback_queue = request.batch_spec->callback_queue,
                                          .callback_payload = request.batch_spec->callback_payload};
    if (made == 0) finishing_.push_back(request.batch.sequence());  // 2.7
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!request.is_new(i)) continue;
    JobRecord& job = create(*request.specs[i]);
    job.batch = request.batch;
    request.came_to[i] = job.id;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (request.is_new(i)) request.states[i] = place(*find_live(request.came_to[i]), request);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t taker = request.taker[i];
    if (taker == i || taker == kOutside) continue;
    request.came_to[i] = request.came_to[taker];
    request.states[i] = request.states[taker];
  }
  return std::nullopt;
}

/// 2.3, what concerns single ids; positions are in range because validation says so.
std::optional<Refusal> Model::check_dependencies(const std::vector<const JobSpec*>& jobs) {
  for (const JobSpec* spec : jobs) {
    for (const JobId id : spec->depends_on) {
      const JobRecord* job = touch(id);
      if (job == nullptr || !may_touch(job->spec.queue))
        return Refusal{Refused::unknown_dependency, "depends_on", ""};
    }
  }
  return std::nullopt;
}

/// 2.3: a loop among the positions as written, or among the jobs that they come to.
bool Model::has_cycle(const Request& request, bool resolved) {
  std::vector<std::vector<std::size_t>> edges(request.specs.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (resolved && !request.is_new(i)) continue;
    for (const std::uint32_t index : request.specs[i]->depends_on_index) {
      const std::size_t to = resolved ? request.taker[index] : index;
      if (to != kOutside) edges[i].push_back(to);
    }
  }
  return has_loop(edges);
}

/// A new job, not placed yet.
JobRecord& Model::create(const JobSpec& spec) {
  JobRecord job;
  job.id = {next_ulid()};
  job.spec = spec;
  if (spec.delay.ms != 0) {
    job.spec.scheduled_at = now_ + spec.delay;
    job.spec.delay = {};
  }
  if (spec.expire_after.ms != 0) job.expire_at = now_ + spec.expire_after;  // 2.6
  take_lock(job);
  arrive(job);
  ++make_queue(spec.queue.view()).record.totals.enqueued;
  return live_.insert_or_assign(job.id.sequence(), std::move(job)).first->second;
}

/// 2.5. The record may be gone afterwards; the state is what the reply says.
State Model::place(JobRecord& job, const Request& request) {
  // Positions mean something in their request only: the record keeps the ids that they came to.
  std::vector<JobId>& dependencies = job.spec.depends_on;
  for (const std::uint32_t index : job.spec.depends_on_index) {
    const std::size_t taker = request.taker[index];
    dependencies.push_back(request.came_to[taker == kOutside ? index : taker]);
  }
  job.spec.depends_on_index.clear();
  bool failed = false;
  for (const JobId id : dependencies) {
    if (find_live(id) != nullptr) {
      auto& waiting_on = job.waiting_on;
      if (std::ranges::find(waiting_on, id) == waiting_on.end()) waiting_on.push_back(id);
      continue;
    }
    // Not live and not kept: it ended a moment ago, in this request, and can only have been
    // cancelled.
    const JobRecord* ended = find_any(id);
    failed = failed || ended == nullptr || ended->state != State::completed;
  }
  const State first = failed && job.spec.on_failure == model::OnFailure::cancel ? State::cancelled
                      : !job.waiting_on.empty()                                 ? State::waiting
                      : job.spec.scheduled_at > now_                            ? State::scheduled
                                                                                : State::pending;
  count_transition(kNoState, static_cast<std::size_t>(first));
  job.state = first;
  if (first == State::scheduled) job.run_at = job.spec.scheduled_at;
  return first == State::cancelled ? end(job, State::cancelled, "dependency_failed") : first;
}

/// What callbacks and schedules enqueue: no dependencies, no time. Nothing: a unique duplicate.
JobRecord* Model::enqueue_plain(const JobSpec& spec) {
  const auto& key = spec.unique.key;
  if (!key.empty() && touch_holder(spec.queue.view(), key.view()) != nullptr) return nullptr;
  JobRecord& job = create(spec);
  count_transition(kNoState, static_cast<std::size_t>(State::pending));
  return &job;
}

}  // namespace jobbie::sim
