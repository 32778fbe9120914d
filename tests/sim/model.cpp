// The model's frame: one command after the other, numbers, arrivals, and what is asked of it.
#include "tests/sim/model.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "command/validate.hpp"

namespace jobbie::sim {

std::vector<Reply> Model::apply(const Entry& entry) {
  before_ = now_;
  now_ = std::max(now_, entry.now);  // 1.1
  random_ = entry.random;
  entry_work_ = work_left_ = entry.work;
  ++entries_;
  touched_.clear();
  restricted_ = 0;
  std::vector<Reply> replies;
  replies.reserve(entry.commands.size());
  for (const Command& command : entry.commands) replies.push_back(run(command));
  return replies;
}

Reply Model::run(const Command& command) {
  group_retry_ = 0;
  group_retried_ = 0;
  Reply reply;
  caller_ = restricted_ > 0 ? restricting_ : base::KeyId{};
  if (auto refused = command::validate(command)) {
    reply = std::move(*refused);
  } else if (auto forbidden = forbid(command)) {
    reply = std::move(*forbidden);
  } else {
    reply = std::visit([this](const auto& c) { return on(c); }, command);
  }
  caller_ = {};
  if (restricted_ > 0) --restricted_;
  finish_batches();  // 7: at the end of the command's own work,
  run_tasks();       // 1.5: after refused commands too
  finish_batches();  // and once more after the slice
  if (group_retry_ != 0) reply = command::Done{group_retried_};  // 9.5
  return reply;
}

base::Ulid Model::next_ulid() {
  const Seq sequence = next_sequence_++;
  const std::uint64_t bits = base::mix64(random_ ^ (sequence * 0x9e3779b97f4a7c15ULL));
  return base::Ulid::make(now_, sequence, static_cast<std::uint32_t>(bits));
}

void Model::set_state(JobRecord& job, State to) {
  if (job.state != to)
    count_transition(static_cast<std::size_t>(job.state), static_cast<std::size_t>(to));
  job.state = to;
  note(job);
}

void Model::arrive(JobRecord& job) {
  job.arrival = next_arrival_++;
  if (!job.spec.group.empty()) job.group_arrival = next_arrival_++;
  note(job);
}

QueueState& Model::make_queue(std::string_view name) {
  if (const auto it = queues_.find(name); it != queues_.end()) return it->second;
  QueueState& queue = queues_[std::string(name)];
  queue.record.name = Blob(name);
  queue.record.created_at = now_;
  queue.record.owner = caller_;
  return queue;
}

QueueState& Model::queue_of(const JobRecord& job) { return make_queue(job.spec.queue.view()); }

const QueueState& Model::queue_of(const JobRecord& job) const {
  return queues_.find(job.spec.queue.view())->second;
}

JobRecord* Model::find_live(JobId id) {
  const auto it = live_.find(id.sequence());
  return it != live_.end() && it->second.id == id ? &it->second : nullptr;
}

JobRecord* Model::find_any(JobId id) {
  if (JobRecord* job = find_live(id)) return job;
  const auto it = ended_.find(id.sequence());
  return it != ended_.end() && it->second.id == id ? &it->second : nullptr;
}

const JobRecord* Model::find(JobId id) const {
  for (const Jobs* jobs : {&live_, &ended_}) {
    const auto it = jobs->find(id.sequence());
    if (it != jobs->end() && it->second.id == id) return &it->second;
  }
  return nullptr;
}

bool Model::has_queue_task(std::string_view queue) const {
  return std::ranges::any_of(tasks_, [&](const model::TaskRecord& task) {
    const bool of_queue = task.kind == model::TaskKind::clear_queue ||
                          task.kind == model::TaskKind::delete_queue ||
                          task.kind == model::TaskKind::relane_queue;
    return of_queue && is(task.subject, queue);
  });
}

Instant Model::kept_until(const JobRecord& job) const {
  const std::int64_t minute = job.ended_at.ms / 60'000;
  const auto& retention = queue_of(job).record.settings.retention;
  return Instant{(minute + 1) * 60'000} + retention.of(job.state);  // 9.3
}

Instant Model::next_deadline() const {
  if (!tasks_.empty()) return now_;
  Instant next = base::kNever;
  for (const auto& [seq, job] : live_) {
    if (const auto due = deadlines_of(job).earliest()) next = std::min(next, due->at);
  }
  for (const auto& [seq, schedule] : schedules_) {
    if (schedule.record.next_run.ms != 0) next = std::min(next, schedule.record.next_run);
  }
  for (const auto& [seq, job] : ended_) next = std::min(next, kept_until(job));
  return next;
}

std::uint32_t Model::active_of_worker(std::string_view worker) const {
  const auto held = std::ranges::count_if(live_, [&](const auto& entry) {
    return entry.second.state == State::active && is(entry.second.worker, worker);
  });
  return static_cast<std::uint32_t>(held);
}

}  // namespace jobbie::sim
