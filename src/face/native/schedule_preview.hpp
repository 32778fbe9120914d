// When a schedule will run. Private to the folder.
#pragma once

#include "base/json_writer.hpp"
#include "base/time.hpp"
#include "model/records.hpp"

namespace jobbie::face::native {

/// Writes `next_runs`, up to five; none of a paused schedule.
void write_next_runs(base::json::Writer& json, const model::ScheduleRecord& schedule,
                     base::Instant now);

}  // namespace jobbie::face::native
