// GET /metrics and /api/v1/metrics. Labels are queues, states and the like, never a job's id, and
// the number of queues that have samples of their own is bounded.
#include <algorithm>
#include <array>

#include "face/native/endpoints.hpp"
#include "face/native/exposition.hpp"
#include "face/parameters.hpp"

namespace jobbie::face::native {
namespace {

using CounterColumn = std::uint64_t jobbie::stats::Counters::*;

void write_counter(Exposition& out, const call::Metrics& metrics, std::string_view name,
                   std::string_view help, CounterColumn column) {
  out.family(name, "counter", help);
  for (const auto& [queue, counters] : metrics.counters)
    out.sample({{"queue", queue.view()}}, counters.*column);
}

void write_timing(Exposition& out, const call::Metrics& metrics, std::string_view name,
                  std::string_view help, jobbie::stats::Timing jobbie::stats::Counters::*column) {
  out.family(name, "histogram", help);
  for (const auto& [queue, counters] : metrics.counters)
    out.timing({{"queue", queue.view()}}, counters.*column, jobbie::stats::kJobBounds, 1'000);
}

void write_jobs(Exposition& out, const call::Metrics& metrics) {
  using jobbie::stats::Counters;
  write_counter(out, metrics, "jobbie_jobs_enqueued_total", "Jobs enqueued since the start.",
                &Counters::enqueued);
  write_counter(out, metrics, "jobbie_jobs_started_total", "Claims since the start.",
                &Counters::started);
  out.family("jobbie_jobs_finished_total", "counter", "Jobs that ended since the start.");
  for (const auto& [queue, counters] : metrics.counters) {
    out.sample({{"queue", queue.view()}, {"outcome", "completed"}}, counters.completed);
    out.sample({{"queue", queue.view()}, {"outcome", "dead"}}, counters.dead);
    out.sample({{"queue", queue.view()}, {"outcome", "cancelled"}}, counters.cancelled);
  }
  write_counter(out, metrics, "jobbie_attempts_failed_total", "Attempts that failed.",
                &Counters::failed);
  write_counter(out, metrics, "jobbie_leases_expired_total",
                "Leases that ran out without an ack, a fail or a heartbeat.",
                &Counters::leases_expired);
  write_timing(out, metrics, "jobbie_job_wait_seconds", "From claimable to claimed.",
               &Counters::wait);
  write_timing(out, metrics, "jobbie_job_run_seconds", "From claimed to settled.", &Counters::run);
}

void write_queues(Exposition& out, const call::Metrics& metrics) {
  out.gauge("jobbie_queues", "Queues that exist; the first 1000 have gauges of their own.",
            metrics.queue_count);
  out.family("jobbie_queue_jobs", "gauge", "Jobs in a queue by state, ended ones while kept.");
  for (const auto& queue : metrics.queues)
    for (std::size_t i = 0; i < model::kStates; ++i)
      out.sample(
          {{"queue", queue.name.view()}, {"state", model::to_string(static_cast<model::State>(i))}},
          queue.jobs[i]);
  out.family("jobbie_queue_oldest_pending_age_seconds", "gauge",
             "Age of the oldest pending job; zero while there is none.");
  for (const auto& queue : metrics.queues) {
    const auto age = queue.oldest_pending.ms == 0
                         ? base::Duration{}
                         : std::max(metrics.status.now - queue.oldest_pending, base::Duration{});
    out.sample({{"queue", queue.name.view()}}, static_cast<double>(age.ms) / 1000);
  }
}

void write_cluster(Exposition& out, const call::NodeStatus& status) {
  out.gauge("jobbie_leader", "Whether this node leads.", status.leader ? 1 : 0);
  out.gauge("jobbie_has_leader", "Whether this node knows of a leader.",
            status.leader_id != 0 ? 1 : 0);
  out.gauge("jobbie_log_term", "The term: it rises with every election.", status.term);
  out.gauge("jobbie_log_commit_index", "The last entry that a majority has.", status.commit_index);
  out.family("jobbie_node_connected", "gauge", "Whether a member of the cluster can be reached.");
  for (const auto& node : status.nodes)
    out.sample({{"node", node.name}}, std::uint64_t{node.connected ? 1U : 0U});
  out.family("jobbie_node_lag_entries", "gauge",
             "Entries that a member lacks; only the leader knows.");
  for (const auto& node : status.nodes)
    if (node.matched_index && status.leader)
      out.sample({{"node", node.name}},
                 status.commit_index - std::min(status.commit_index, *node.matched_index));
}

void write_node(Exposition& out, const call::Metrics& metrics) {
  const auto& status = metrics.status;
  out.gauge("jobbie_workers", "Workers heard of in the last five minutes.", metrics.workers);
  out.gauge("jobbie_live_jobs", "Jobs that have not ended.", status.live_jobs);
  out.gauge("jobbie_waiting_fetches", "Fetches that wait for a job.", status.waiting_fetches);
  write_cluster(out, status);
  out.gauge("jobbie_disk_full", "Whether writes are refused for want of space.",
            status.disk_full ? 1 : 0);
  out.gauge("jobbie_memory_limit_bytes", "Memory up to which new jobs are taken.",
            status.memory_limit);
  out.gauge("jobbie_memory_used_bytes", "Memory in use, as it is held against the limit.",
            status.memory_used);
  out.gauge("jobbie_memory_refusing", "Whether new jobs are refused for want of memory.",
            status.memory_full ? 1 : 0);
  out.family("jobbie_clock_offset_seconds", "gauge",
             "By how much the machine's clock is ahead of the log's time.");
  out.sample({}, static_cast<double>(status.clock_offset.ms) / 1000);
  out.family("jobbie_log_commit_seconds", "histogram", "Writes to the log, with their sync.");
  out.timing({}, metrics.log_syncs, jobbie::stats::kSyncBounds, 1'000'000);
  out.gauge("jobbie_log_bytes", "What the log takes on the disk.", metrics.log_bytes);
  out.gauge("jobbie_log_segments", "Files of the log.", metrics.log_segments);
  out.gauge("jobbie_log_applied_index", "The last entry applied.", status.applied_index);
  out.gauge("jobbie_store_written_index", "The last entry in the database.", status.stored_index);
  out.gauge("jobbie_store_durable_index", "The last entry synced in the database.",
            status.durable_index);
  out.gauge("jobbie_store_lag_rows", "Changes that the database does not have yet.",
            status.store_lag_rows);
  out.gauge("jobbie_store_lag_bytes", "Bytes of changes handed to the database, not written yet.",
            metrics.store_lag_bytes);
  out.family("process_start_time_seconds", "gauge", "When the process started serving.");
  out.sample({}, static_cast<double>(status.started_at.ms) / 1000);
}

void write_http(Exposition& out, const http::ServerCounts& counts) {
  static constexpr std::array<std::string_view, 5> kClasses = {"1xx", "2xx", "3xx", "4xx", "5xx"};
  out.family("jobbie_http_requests_total", "counter", "Requests answered, by class of status.");
  for (std::size_t i = 0; i < kClasses.size(); ++i)
    out.sample({{"code", kClasses[i]}}, counts.answers[i]);
  out.gauge("jobbie_http_connections", "Open connections.", counts.connections);
}

class MetricsAnswer final : public Exchange {
 public:
  explicit MetricsAnswer(const Input& input)
      : Exchange(input.inbox), version_(input.options.version), loop_(input.loop) {
    query = call::MetricsQuery{};
  }

 private:
  void render(Answer& out) const override {
    const auto* metrics = std::get_if<call::Metrics>(&answer);
    if (metrics == nullptr) return write(Problem{}, out);
    out.type = kExpositionType;
    Exposition text(out.body);
    text.family("jobbie_build_info", "gauge", "The program's version, as a label.");
    text.sample({{"version", version_}}, std::uint64_t{1});
    write_jobs(text, *metrics);
    write_queues(text, *metrics);
    write_node(text, *metrics);
    if (loop_ != nullptr) write_http(text, loop_->server_counts());
    write_process(text);
  }

  std::string version_;
  const http::Loop* loop_;
};

}  // namespace

Outcome metrics(const Input& input) {
  if (const auto parameters = Parameters::read(input.request.query, {}); !parameters)
    return std::unexpected(parameters.error());
  return std::make_unique<MetricsAnswer>(input);
}

}  // namespace jobbie::face::native
