// Compares the zone rules that schedules were made with to those that the system has now.
//
// Rules are a value inside a schedule, so that replicas with other tzdata agree. When the system's
// tzdata changes, or the years that the rules cover run out, somebody must put newer ones into the
// log: the leader, by the commands that come from here.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "command/command.hpp"
#include "engine/engine.hpp"
#include "model/zone_rules.hpp"

namespace jobbie::node {

/// Of the node's thread. Looks at all schedules at first and every kEvery from then on, a few in
/// each step, because there may be many and each zone is a file to be read.
class ZoneWatch {
 public:
  static constexpr std::size_t kSchedulesPerStep = 50;
  static constexpr base::Duration kEvery = base::hours(1);
  /// As far as the search for a run looks.
  static constexpr base::Duration kHorizon = base::days(366 * 40);
  /// What is read for a new schedule too: ten years are left before rules have to be read again.
  static constexpr base::Duration kBefore = base::days(366);
  static constexpr base::Duration kAfter = base::days(366 * 50);

  using Load = std::function<base::Result<model::ZoneRules>(
      std::string_view name, base::Instant from, base::Instant until)>;
  explicit ZoneWatch(Load load) : load_(std::move(load)) {}

  /// What is to be proposed now, nothing most of the time. `now` is log time.
  [[nodiscard]] std::vector<command::UpdateZone> step(const engine::Engine& engine,
                                                      base::Instant now);

  /// Looks at everything again with the next step: for a leader that has just begun.
  void begin_again();

 private:
  [[nodiscard]] const model::ZoneRules* system_rules(const std::string& name, base::Instant now);

  Load load_;
  base::Instant next_look_;
  base::ScheduleId seen_;  ///< those up to here have been looked at in this round
  /// Of this round; nothing: the system has no such zone, and the old rules go on.
  std::map<std::string, std::optional<model::ZoneRules>> loaded_;
  std::set<std::string> proposed_;  ///< in this round
};

/// Whether both say the same about every instant from `now` up to `until`.
[[nodiscard]] bool agree(const model::ZoneRules& a, const model::ZoneRules& b, base::Instant now,
                         base::Instant until);

}  // namespace jobbie::node
