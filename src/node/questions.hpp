// Questions about jobs, batches, queues, groups, workers and schedules, answered from the engine
// and, for the rates of queues, from the figures.
#pragma once

#include <optional>

#include "call/call.hpp"
#include "engine/engine.hpp"
#include "stats/stats.hpp"

namespace jobbie::node {

/// On the node's thread. False: the engine does not know, and the database has to be asked. Each
/// answer is bounded by the page that was asked for. `now` is the log's time of this moment: the
/// engine's own is that of the last entry, which may be long ago.
[[nodiscard]] bool answer_from_engine(const engine::Engine& engine, const stats::Stats& stats,
                                      base::Instant now, call::Call& call);

/// Pages of queues, groups and workers: what to look through first. It refers to the call.
[[nodiscard]] std::optional<engine::NameScan> scan_for(const call::Call& call);
/// Answers with what a complete scan has found.
void answer_scan(const engine::Engine& engine, const stats::Stats& stats, base::Instant now,
                 engine::NameScan scan, call::Call& call);

}  // namespace jobbie::node
