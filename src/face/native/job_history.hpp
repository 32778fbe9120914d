// The attempts and the timeline of a job, as far as its record tells. Private to the folder.
#pragma once

#include "base/json_writer.hpp"
#include "model/job.hpp"

namespace jobbie::face::native {

/// Writes `attempts`, `timeline` and `timeline_is_partial`. A record keeps the start of the latest
/// attempt and the end of each failed one; what it does not keep is null, and the last member says
/// so.
void write_history(base::json::Writer& json, const model::JobRecord& job);

}  // namespace jobbie::face::native
