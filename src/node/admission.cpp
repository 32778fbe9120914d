// Memory: what is refused while there is little, and who is told.
#include <algorithm>
#include <utility>
#include <variant>

#include "base/byte_size.hpp"
#include "node/driver.hpp"

namespace jobbie::node {
namespace {

/// What a job takes beside its texts, about: in the engine, and on its way to the database.
constexpr std::size_t kBytesAJob = 512;
/// A heartbeat with more than this to keep waits when things are critical; leases are then at risk,
/// but so is the process.
constexpr std::size_t kLargeBeats = std::size_t{64} << 10;

/// How many jobs a command adds to those that live; nothing: what it does leaves nothing behind.
struct JobsAdded {
  std::size_t operator()(const command::Enqueue&) const { return 1; }
  std::size_t operator()(const command::EnqueueMany& c) const { return c.jobs.size(); }
  std::size_t operator()(const command::Retry&) const { return 1; }
  std::size_t operator()(const command::Requeue&) const { return 1; }
  std::size_t operator()(const command::CreateSchedule&) const { return 1; }
  std::size_t operator()(const command::UpdateSchedule&) const { return 1; }
  std::size_t operator()(const command::ScheduleCommand& c) const {
    return c.action == command::ScheduleAction::run_now ? 1 : 0;
  }
  std::size_t operator()(const command::GroupCommand& c) const {
    return c.action == command::GroupAction::retry_failed ? 1 : 0;
  }
  std::size_t operator()(const command::StartBulk& c) const { return revives(c.action) ? 1 : 0; }
  std::size_t operator()(const command::BulkStep& c) const {
    return revives(c.action) ? c.jobs.size() : 0;
  }
  template <typename Other>
  std::size_t operator()(const Other&) const {
    return 0;
  }

 private:
  static bool revives(model::BulkAction action) {
    return action == model::BulkAction::retry || action == model::BulkAction::requeue;
  }
};

bool beats(const call::Call& call) {
  return std::any_of(call.commands.begin(), call.commands.end(), [](const auto& command) {
    return std::holds_alternative<command::Heartbeat>(command);
  });
}

}  // namespace

void Driver::look_at_memory(std::size_t coming) {
  memory_.look(now_us_, engine_->memory(), coming);
  shared_.memory_room.store(memory_.is_refusing() ? 0 : memory_.room(), std::memory_order_relaxed);
}

/// Whether the call would keep more than there is memory for. What ends jobs, or lets them go on,
/// is never refused for that: it makes room, or has its place already.
bool Driver::lacks_memory(const call::Call& call, std::size_t bytes) {
  std::size_t jobs = 0;
  for (const auto& command : call.commands) jobs += std::visit(JobsAdded{}, command);
  if (jobs == 0) return memory_.is_critical() && bytes > kLargeBeats && beats(call);
  const auto growth = bytes + jobs * kBytesAJob;
  look_at_memory(growth);
  if (memory_.refuses(growth)) return true;
  memory_.took(growth);
  return false;
}

/// A line in the journal when new jobs begin to be refused, and when they are taken again.
void Driver::report_memory() {
  const bool full = memory_.is_refusing();
  if (full == told_memory_) return;
  told_memory_ = full;
  if (options_.journal == nullptr) return;
  options_.journal->write(full ? base::Level::error : base::Level::info,
                          full ? "memory_full" : "memory_has_room",
                          {{"used_bytes", memory_.used()},
                           {"limit_bytes", memory_.limit()},
                           {"state_bytes", engine_->memory()},
                           {"live_jobs", std::uint64_t{engine_->live_jobs()}}});
}

}  // namespace jobbie::node
