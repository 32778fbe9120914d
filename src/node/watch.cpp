// What others watch: events for the stream and the figures, and questions about both.
#include <utility>

#include "node/driver.hpp"
#include "node/readers.hpp"

namespace jobbie::node {
namespace {

/// Failed jobs of each state that are looked at for the groups of errors.
constexpr std::size_t kFailuresExamined = 20'000;

}  // namespace

/// Entries that are replayed at the start are history: nobody watched, and nothing is counted.
void Driver::tell(std::vector<command::Event>&& events) {
  if (!log_clock_) return;
  for (const auto& event : events) stats_.note(event);
  shared_.feed.add(applied_index_, std::move(events));
}

bool Driver::answer_figures(call::Call& call) {
  if (const auto* query = std::get_if<call::StatsQuery>(&call.query))
    call.answer = stats_.curve(query->queue.view(), query->resolution, query->since, query->until,
                               log_clock_->now());
  else if (std::holds_alternative<call::MetricsQuery>(call.query))
    call.answer = metrics();
  else
    return false;
  return true;
}

call::Metrics Driver::metrics() {
  // The hash of the state is left out: once asked for, it costs something with every job.
  call::Metrics out{.status = status(false),
                    .queues = {},
                    .queue_count = engine_->queue_count(),
                    .workers = engine_->worker_count(),
                    .store_lag_bytes = store_->lag().bytes,
                    .log_bytes = log_->bytes(),
                    .log_segments = log_->segment_count(),
                    .log_syncs = log_syncs_,
                    .counters = stats_.counters()};
  out.status.nodes = nodes();
  for (const auto& view : engine_->first_queues(call::Metrics::kQueues))
    out.queues.push_back(
        {.name = view.record.name, .jobs = view.counts, .oldest_pending = view.oldest_pending});
  return out;
}

void Driver::note_health() {
  const auto leader = log_->leader_id();
  const bool led = serving_ || (leader != 0 && leader != log_->node_id() && membership_ &&
                                membership_->linked(leader) && !log_->removed());
  shared_.has_leader.store(led, std::memory_order_relaxed);
  shared_.log_has_room.store(!was_full_, std::memory_order_relaxed);
  shared_.store_is_well.store(told_trouble_.empty() && !is_unsafe(), std::memory_order_relaxed);
}

void Readers::answer_errors(const call::ErrorsQuery& query, call::Call& call) {
  stats::ErrorGrouping grouping;
  const auto more = store_.failures(
      query.queue.view(), kFailuresExamined,
      [&](store::Failure failure) {
        grouping.add({.job = failure.job,
                      .queue = std::move(failure.queue),
                      .dead = failure.state == model::State::dead,
                      .error = std::move(failure.error),
                      .at = failure.at});
      },
      is_given_up(call));
  if (more)
    call.answer = grouping.finish(!*more);
  else
    call.trouble = trouble_of(more.error(), call);
}

void Readers::answer_logs(const call::LogsQuery& query, call::Call& call) {
  const auto job = store_.job(query.job);
  auto page = store_.job_log(query.job, query.after, query.limit, is_given_up(call));
  if (!job || !page) {
    call.trouble = trouble_of(!job ? job.error() : page.error(), call);
    return;
  }
  call::JobLog log;
  log.found = job->has_value();
  if (log.found) {
    log.state = (*job)->state;
    log.queue = (*job)->spec.queue;
    log.page = *std::move(page);
  }
  call.answer = std::move(log);
}

void Readers::answer_audit(const call::AuditQuery& query, call::Call& call) {
  auto rows = store_.audit({.before = query.before,
                            .limit = query.limit + 1,
                            .key = query.key,
                            .action = query.action,
                            .target = query.target,
                            .since = query.since,
                            .until = query.until},
                           is_given_up(call));
  if (!rows) {
    call.trouble = trouble_of(rows.error(), call);
    return;
  }
  call::AuditPage page;
  page.more = rows->size() > query.limit;
  if (page.more) rows->pop_back();
  for (auto& [number, record] : *rows) page.rows.push_back({std::move(record), number});
  call.answer = std::move(page);
}

}  // namespace jobbie::node
