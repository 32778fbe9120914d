// Why a job is not running, in the words of the rules that hold it.
#include "engine/why.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/glob.hpp"
#include "engine/core.hpp"

namespace jobbie::engine {
namespace {

/// Jobs and lanes that "behind how many" looks at.
constexpr std::size_t kMostCounted = 10'000;
/// Names of queues of workers that are compared to see whether any would take the job.
constexpr std::size_t kMostCompared = 20'000;

/// Whether each of `needed` is in one of the two.
bool has_all(const std::vector<Blob>& registered, const std::vector<Blob>& stated,
             const std::vector<Blob>& needed) {
  const auto has = [](const std::vector<Blob>& had, const Blob& one) {
    return std::find(had.begin(), had.end(), one) != had.end();
  };
  return std::all_of(needed.begin(), needed.end(),
                     [&](const Blob& one) { return has(registered, one) || has(stated, one); });
}

bool listens(const Worker& worker, std::string_view queue, const model::Requirements& wanted) {
  const auto& spec = worker.record.spec;
  bool names_it = false;
  for (const Blob& pattern : spec.queues)
    names_it = names_it || base::glob_match(pattern.view(), queue);
  return names_it && (wanted.target_worker.empty() || wanted.target_worker == spec.id) &&
         has_all(spec.roles, worker.stated_roles, wanted.roles) &&
         has_all(spec.tags, worker.stated_tags, wanted.tags);
}

std::string describe(const model::Requirements& wanted) {
  std::string out = "no worker that asked lately has all of";
  for (const Blob& role : wanted.roles) out += fmt::format(" role:{}", role.view());
  for (const Blob& tag : wanted.tags) out += fmt::format(" tag:{}", tag.view());
  if (!wanted.target_worker.empty()) out += fmt::format(" worker:{}", wanted.target_worker.view());
  return out;
}

}  // namespace

const char* to_string(WhyCode code) {
  static constexpr std::array kNames = {"paused",       "throttled", "concurrency", "waiting_for",
                                        "backoff",      "scheduled", "no_worker",   "behind",
                                        "group_paused", "requires",  "clearing"};
  const auto i = static_cast<std::size_t>(code);
  return i < kNames.size() ? kNames[i] : "unknown";
}

void Core::why_limits(const Job& job, std::vector<WhyReason>& reasons) const {
  const Queue& queue = queue_of(job);
  const auto& settings = queue.settings;
  const auto active = queue.counts[static_cast<std::size_t>(State::active)];
  if (settings.concurrency && active >= settings.concurrency->max)
    reasons.push_back({.code = WhyCode::concurrency,
                       .detail = fmt::format("{} of {} jobs of the queue are active", active,
                                             settings.concurrency->max)});
  if (settings.throttle && queue.window.total() >= settings.throttle->rate &&
      queue.window.frees_at(settings.throttle->period) > meta.now)
    reasons.push_back({.code = WhyCode::throttled,
                       .detail = "the queue's rate limit is used up",
                       .until = queue.window.frees_at(settings.throttle->period)});
  if (!job.placement) return;
  if (const Slot key = job.placement->concurrency_key; key != 0 && limiters[key].full)
    reasons.push_back(
        {.code = WhyCode::concurrency,
         .detail = fmt::format("{} jobs with {} = {} are active", limiters[key].active,
                               settings.concurrency_per->per.view(), limiters[key].key.view())});
  if (const Slot key = job.placement->throttle_key; key != 0 && limiters[key].full)
    reasons.push_back(
        {.code = WhyCode::throttled,
         .detail = fmt::format("the rate limit of {} = {} is used up",
                               settings.throttle_per->per.view(), limiters[key].key.view()),
         .until = limiters[key].window.frees_at(settings.throttle_per->period)});
}

void Core::why_order(Slot slot, std::vector<WhyReason>& reasons) const {
  static const model::Requirements kNone;
  const Job& job = jobs[slot];
  const auto& wanted = job.placement ? job.placement->requirements : kNone;
  bool heard = false;
  std::size_t compared = 0;
  for (const auto& [id, worker] : workers.entries()) {
    // Beyond that nobody knows, and nothing is said about it.
    heard = heard || compared >= kMostCompared;
    if (heard) break;
    if (!worker.known || worker.record.last_seen + model::limits::kWorkerSilence <= meta.now)
      continue;
    compared += 1 + worker.record.spec.queues.size();
    heard = listens(worker, queue_of(job).name.view(), wanted);
  }
  if (!heard && !wanted.none())
    reasons.push_back({.code = WhyCode::requires_, .detail = describe(wanted)});
  else if (!heard)
    reasons.push_back({.code = WhyCode::no_worker,
                       .detail = "no worker has asked for this queue in the last five minutes"});
  const Queue& queue = queue_of(job);
  std::size_t looks = kMostCounted;
  std::size_t ahead = lanes[job.lane()].ahead_of(slot, looks);
  for (const auto& [key, lane] : queue.lanes) {
    if (looks == 0) break;
    --looks;
    if (lane != job.lane()) ahead += lanes[lane].ahead_of(slot, looks);
  }
  if (queue.plain_lane != 0 && queue.plain_lane != job.lane())
    ahead += lanes[queue.plain_lane].ahead_of(slot, looks);
  if (ahead == 0) return;
  reasons.push_back({.code = WhyCode::behind,
                     .detail = fmt::format("{} jobs of the queue come first", ahead),
                     .ahead = ahead,
                     .ahead_is_at_least = looks == 0});
}

Why Core::why(JobId id) const {
  const Slot slot = index.find(id.sequence());
  if (slot == 0 || jobs[slot].id != id) return {};
  const Job& job = jobs[slot];
  Why why{.found = true, .state = job.state, .reasons = {}, .queue = queue_of(job).name};
  auto& reasons = why.reasons;
  if (job.state == State::scheduled)
    reasons.push_back(
        {.code = WhyCode::scheduled, .detail = "its time has not come", .until = job.run_at});
  if (job.state == State::retrying)
    reasons.push_back({.code = WhyCode::backoff,
                       .detail = fmt::format("attempt {} failed", job.attempt),
                       .until = job.run_at});
  if (job.state == State::waiting)
    reasons.push_back({.code = WhyCode::waiting_for,
                       .detail = fmt::format("{} jobs it depends on have not ended",
                                             job.placement->waiting_on.size()),
                       .jobs = job.placement->waiting_on});
  if (job.state != State::active && !model::has_ended(job.state)) {
    const Queue& queue = queue_of(job);
    if (queue.settings.paused)
      reasons.push_back(
          {.code = WhyCode::paused,
           .detail = queue.settings.draining ? "the queue is draining" : "the queue is paused"});
    if (queue.tasks != 0)
      reasons.push_back({.code = WhyCode::clearing, .detail = "the queue is being worked over"});
    if (job.group_slot() != 0 && groups[job.group_slot()]->paused)
      reasons.push_back({.code = WhyCode::group_paused, .detail = "its group is paused"});
  }
  if (job.state == State::pending) {
    why_limits(job, reasons);
    why_order(slot, reasons);
  }
  return why;
}

}  // namespace jobbie::engine
