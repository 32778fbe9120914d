// Leases in real time: what a worker was promised counts only while somebody leads.
#include <algorithm>

#include <fmt/format.h>

#include "tests/cluster_sim/history.hpp"
#include "tests/sim/describe.hpp"

namespace jobbie::cluster_sim {
namespace {

/// Log time follows a wall clock that is ahead at one and a half times the speed, small steps at
/// once, and clocks are not exact. The rest of a lease is what must have passed.
constexpr std::int64_t kShareOfLease = 55;  // percent
constexpr std::int64_t kSlackUs = 1'500'000;

}  // namespace

void History::read_leases(const command::Entry& entry, const engine::Outcome& outcome,
                          std::int64_t led_us) {
  for (std::size_t i = 0; i < outcome.replies.size() && i < entry.commands.size(); ++i) {
    if (const auto* claimed = std::get_if<command::Claimed>(&outcome.replies[i])) {
      counts_[Count::claims] += claimed->jobs.size();
      for (const auto& job : claimed->jobs) leases_[job.job] = {led_us, job.lease_duration};
    }
    const auto* beat = std::get_if<command::Heartbeat>(&entry.commands[i]);
    const auto* beaten = std::get_if<command::Beaten>(&outcome.replies[i]);
    if (beat == nullptr || beaten == nullptr) continue;
    for (std::size_t j = 0; j < beat->beats.size() && j < beaten->jobs.size(); ++j) {
      if (beaten->jobs[j] > command::BeatStatus::cancel) continue;
      const auto it = leases_.find(beat->beats[j].ref.job);
      if (it != leases_.end()) it->second.led_us = led_us;
    }
  }
}

/// I12: a lease does not end before its time, however often the leader changed meanwhile.
void History::read_events(const engine::Outcome& outcome, std::int64_t led_us) {
  using command::EventType;
  for (const auto& event : outcome.events) {
    if (event.type == EventType::enqueued) ++counts_[Count::jobs_enqueued];
    if (event.type == EventType::schedule_fired) ++counts_[Count::schedule_runs];
    if (event.type == EventType::batch_completed) ++counts_[Count::callbacks];
    if (event.type != EventType::lease_expired) continue;
    ++counts_[Count::leases_expired];
    const auto it = leases_.find(event.job);
    if (it == leases_.end()) continue;
    const std::int64_t passed = led_us - it->second.led_us;
    const std::int64_t promised = it->second.length.ms * 1000;
    if (passed < promised * kShareOfLease / 100 - kSlackUs)
      hold(fmt::format("{} loses its lease of {} ms after {} ms with a leader (I12)",
                       sim::show(event.job), it->second.length.ms, passed / 1000));
  }
}

}  // namespace jobbie::cluster_sim
