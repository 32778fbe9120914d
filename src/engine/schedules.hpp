// Schedules: each with the instant at which it runs next, found by number, by name and by time.
//
// A schedule stands under its name exactly once, and in the order of times exactly if it has a next
// run. Whatever changes a schedule goes through here, so that it is weighed and listed as changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "command/item.hpp"
#include "engine/change_log.hpp"
#include "engine/memory_account.hpp"
#include "engine/queue_state.hpp"
#include "model/cron.hpp"
#include "model/records.hpp"

namespace jobbie::engine {

class Schedules {
 public:
  Schedules(MemoryAccount& memory, std::uint64_t hash_seed)
      : memory_(memory), names_(0, TextHash{hash_seed}) {}
  Schedules(const Schedules&) = delete;
  Schedules& operator=(const Schedules&) = delete;

  /// Null: there is no such schedule.
  [[nodiscard]] const Schedule* find(ScheduleId id) const;
  /// The sequence of the schedule of that name; 0: there is none.
  [[nodiscard]] std::uint64_t named(std::string_view name) const;
  [[nodiscard]] std::size_t size() const { return schedules_.size(); }
  /// By sequence.
  [[nodiscard]] const std::map<std::uint64_t, Schedule>& all() const { return schedules_; }
  /// The schedule that is due first, if that is not after `now`; null: none is.
  [[nodiscard]] const Schedule* first_due(Instant now) const;
  /// When the first one is due; base::kNever: none is.
  [[nodiscard]] Instant next_run() const;

  /// Adds a schedule whose name and number must be free. It is not planned yet.
  const Schedule& add(model::ScheduleRecord record, model::CronExpr cron);
  /// The same for one that was loaded, with its next run; whether name and number were free.
  [[nodiscard]] bool restore(model::ScheduleRecord record, model::CronExpr cron);
  /// Another spec, under a name that is its own or free. It keeps its next run.
  void replace(ScheduleId id, model::ScheduleSpec spec, model::CronExpr cron);
  /// It is to be planned anew afterwards.
  void set_paused(ScheduleId id, bool paused);
  /// Plans the first run strictly after `after`; none while it is paused.
  void plan(ScheduleId id, Instant after);
  /// It has enqueued a job.
  void count_run(ScheduleId id, JobId job);
  void set_last_run(ScheduleId id, Instant nominal);
  /// Gives the schedules of that zone its new rules, and plans those anew whose run is not due; how
  /// many there are.
  std::size_t set_zone(const model::ZoneRules& zone, Instant now);
  void remove(ScheduleId id, ChangeLog& changes);

  void drain(command::Changes& out);
  void shrink();

 private:
  Schedule& at(ScheduleId id);
  void plan(Schedule& schedule, Instant after);
  void changed(Schedule& schedule);

  MemoryAccount& memory_;
  std::map<std::uint64_t, Schedule> schedules_;  ///< by sequence
  TextMap<std::uint64_t> names_;
  std::set<std::pair<Instant, std::uint64_t>> times_;
  std::vector<std::uint64_t> changed_;
};

}  // namespace jobbie::engine
