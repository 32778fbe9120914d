// Questions about jobs, batches, queues, groups, workers and schedules, answered from the engine
// and, for the rates of queues, from the figures.
#pragma once

#include "call/call.hpp"
#include "engine/engine.hpp"
#include "stats/stats.hpp"

namespace jobbie::node {

/// On the node's thread. False: the engine does not know, and the database has to be asked. Each
/// answer is bounded by the page that was asked for.
[[nodiscard]] bool answer_from_engine(const engine::Engine& engine, const stats::Stats& stats,
                                      call::Call& call);

}  // namespace jobbie::node
